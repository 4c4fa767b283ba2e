import type { Utf8Text } from './utf8-text.ts';

/** Sets that a token can be in, as bits. */
export const ANSWER = 1;
export const CONTEXT = 2;
export const SECOND_ANSWER = 4;
export type TokenSet = typeof ANSWER | typeof CONTEXT | typeof SECOND_ANSWER;

/**
 * The sets of tokens of an answer and of the texts it is compared with. A token is a longest run of ASCII letters and
 * digits, in any case.
 */
export interface TokenSets {
  /** Phrases found in the answer: bits of `phrases.ts`. */
  readonly phrases: number;
  /** Empties the sets. About `bytes` of text are to come. */
  reset(bytes: number): void;
  /** Adds the tokens of a text to a set. The answer comes first, and in its normal form, for the phrases' sake. */
  add(text: Utf8Text, set: TokenSet): void;
  /** Jaccard similarity of a set with the answer's: tokens of both over tokens of either; 0 when both are empty. */
  similarity(set: TokenSet): number;
}
