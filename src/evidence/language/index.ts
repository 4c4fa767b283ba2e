export { FUNCTION_WORDS, isNegation, wordSet } from './function-words.ts';
export { findStem, toVerbStem } from './stem.ts';
