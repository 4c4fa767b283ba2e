export { type Gate, gateOf, REASONS, type ReasonCode } from './codes.ts';
export { plainText, withoutQuotations } from './plain-text.ts';
export { type ScanFinding, scanText } from './scanner.ts';
