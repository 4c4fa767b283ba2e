export { type ComparedCall, type ComparedFigure, type Comparison, compareRuns } from './compare.ts';
export { definitionsOf } from './definitions.ts';
export { isWait, type RunCall, type RunFacts, toolCalls } from './facts.ts';
export {
  decisionOf,
  explainRun,
  gateReasonOf,
  personOf,
  type SentencePart,
  sentenceText,
} from './sentence.ts';
