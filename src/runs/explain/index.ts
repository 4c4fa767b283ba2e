export { type ComparedCall, type ComparedFigure, type Comparison, compareRuns } from './compare.ts';
export { findDefinitions } from './definitions.ts';
export { isWait, type RunCall, type RunFacts, toolCalls } from './facts.ts';
export {
  explainRun,
  findGateReason,
  formatDecision,
  formatPerson,
  type SentencePart,
  sentenceText,
} from './sentence.ts';
