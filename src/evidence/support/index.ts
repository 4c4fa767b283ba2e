export { sentenceEnds } from './sentence-ends.ts';
export { computeSupport, type Support, type SupportFinding } from './support.ts';
