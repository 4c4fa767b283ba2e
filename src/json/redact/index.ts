export { nameKind } from './names.ts';
export { redactLargeValue, redactText, redactValue } from './redact.ts';
