export { textOfValue } from './plain-text.ts';
export { idsIn, readSteps } from './steps.ts';
export type { ReadStep, StepOutcome, TraceStep } from './types.ts';
