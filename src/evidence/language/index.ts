export { FUNCTION_WORDS, isNegation, NEGATIONS } from './function-words.ts';
export { stemOf, verbStemOf } from './stem.ts';
