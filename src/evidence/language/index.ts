export { FUNCTION_WORDS, isNegation } from './function-words.ts';
export { findStem, toVerbStem } from './stem.ts';
