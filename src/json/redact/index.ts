export { redactLargeValue, redactText, redactValue } from './redact.ts';
