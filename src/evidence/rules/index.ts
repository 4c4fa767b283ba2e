export { checkAnswer, isContradiction, RULES, type TraceFinding, type TraceReading } from './find.ts';
export type { ClaimKind, FindingKind, NotFoundKind, Rule } from './types.ts';
