/**
 * Holds an answer against the tool calls of its run and the documents it was given. It may import `base`, `json` and
 * `signals`; what scores is a chunk of its own, loaded with the first answer (`scorer.ts`).
 */
export { computeEvidence, meaningOfFinding } from './fields.ts';
export { FUNCTION_WORDS, isNegation, toVerbStem } from './language/index.ts';
export { scoreEvidence } from './scorer.ts';
export type { TraceStep } from './trace/index.ts';
export type { EvidenceFinding, EvidenceInput, EvidenceScores } from './types.ts';
export { daysIn, type Figure, figuresIn, NUMBER_WORDS, timesIn } from './values/index.ts';
export { warmEvidence } from './warm.ts';
