export { sentenceEnds } from './sentence-ends.ts';
export { computeSupport, type Support } from './support.ts';
