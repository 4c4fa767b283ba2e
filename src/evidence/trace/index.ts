export { idsIn, readSteps } from './steps.ts';
export type { ReadStep, StepOutcome, TraceStep } from './types.ts';
