export { type Gate, gateOf, type ReasonCode } from './codes.ts';
export { plainText, withoutQuotations } from './plain-text.ts';
export { type ScanFinding, scanText } from './scanner.ts';
