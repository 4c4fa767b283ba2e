export { checkAnswer, isContradiction, RULES, type TraceFinding, type TraceReading } from './find.ts';
export type { FindingKind, Rule, TraceInput } from './types.ts';
