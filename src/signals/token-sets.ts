import type { Utf8Text } from './utf8-text.ts';

/** Bits for the sets that a token can belong to. */
export const ANSWER = 1;
export const CONTEXT = 2;
export const SECOND_ANSWER = 4;
export type TokenSet = typeof ANSWER | typeof CONTEXT | typeof SECOND_ANSWER;

/**
 * Token sets of an answer and the texts it is compared with. A token is a maximal run of ASCII letters and digits,
 * ignoring case.
 */
export interface TokenSets {
  /** Phrases found in the answer: bits of `phrases.ts`. */
  readonly phrases: number;
  /** Clears the sets. `bytes` is the approximate size of the text to come. */
  reset(bytes: number): void;
  /** Adds the tokens of a text to a set. Add the answer first and in normal form, as phrase matching needs it. */
  add(text: Utf8Text, set: TokenSet): void;
  /** Jaccard similarity of a set with the answer's: tokens of both over tokens of either; 0 when both are empty. */
  similarity(set: TokenSet): number;
}
