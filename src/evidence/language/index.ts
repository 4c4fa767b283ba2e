export { FUNCTION_WORDS, isNegation, NEGATIONS } from './function-words.ts';
export { findStem, toVerbStem } from './stem.ts';
