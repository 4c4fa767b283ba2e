export { type ComparedCall, type ComparedFigure, type Comparison, compareRuns } from './compare.ts';
export { definitionsOf } from './definitions.ts';
export { isPartOfCall, isWait, type RunCall, type RunFacts, toolCalls } from './facts.ts';
export { explainRun, type SentencePart, sentenceText } from './sentence.ts';
