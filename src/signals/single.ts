/**
 * Single signals of texts that are no call's; `computeSignals` computes all of a call at little more than the cost of
 * one. Hashes are SHA-256 in lower-case hex of the text as UTF-8; a lone surrogate, which UTF-8 cannot hold, counts as
 * U+FFFD, as everywhere in Node.
 */
import { LARGE_CHARS, textIdentity } from './large-texts.ts';
import { type Numbers, numericVariance } from './numbers.ts';
import { ANSWER, SECOND_ANSWER } from './token-sets.ts';
import {
  encodeAndNormalize,
  encodeForTokens,
  normalized,
  numbersInSource,
  release,
  shareTokenSets,
  source,
} from './workspace.ts';

/**
 * The prompt without what changes from run to run: UUIDs (versions 1 to 5) become `<uuid>`, ISO 8601 dates and times
 * `<timestamp>`, other whole numbers and decimals `<number>`; then runs of white space become one space, the ends are
 * trimmed and the rest is lower-cased. White space, digits, word boundaries and case are those of Unicode 14.
 */
export function normalizePrompt(prompt: string): string {
  encodeAndNormalize(prompt, true);
  const text = normalized.toString();
  release();
  return text;
}

/** Hash of the normalized prompt: the same for prompts that differ in ids, times and numbers only. */
export function normalizedPromptHash(prompt: string): string {
  return normalizedHash(prompt, true);
}

/** Hash of the answer, lower-cased, white space collapsed and trimmed. */
export function answerHash(answer: string): string {
  return normalizedHash(answer, false);
}

function normalizedHash(text: string, replaceVolatile: boolean): string {
  if (text.length > LARGE_CHARS) return textIdentity(text, replaceVolatile).normalizedHash;
  encodeAndNormalize(text, replaceVolatile);
  const hash = normalized.sha256();
  release();
  return hash;
}

/**
 * Overlap of two answers to one prompt, 0..1: the Jaccard similarity of their sets of tokens, which are the longest
 * runs of ASCII letters and digits in the lower-cased text.
 */
export function selfConsistencyScore(answer: string, secondaryAnswer: string): number {
  const tokenSets = shareTokenSets();
  tokenSets.reset(Math.max(answer.length, secondaryAnswer.length));
  encodeAndNormalize(answer, false);
  tokenSets.add(normalized, ANSWER);
  tokenSets.add(encodeForTokens(secondaryAnswer), SECOND_ANSWER);
  const similarity = tokenSets.similarity(SECOND_ANSWER);
  release();
  return similarity;
}

/**
 * Instability of the numbers in an answer, 0..1. Alone: `(max - min) / max(1e-9, |mean|)`. With a second answer: the
 * mean of `|a - b| / max(1e-9, |a|)` over the numbers at the same places. 0 when there is nothing to compare.
 */
export function numericVarianceScore(answer: string, secondaryAnswer?: string): number {
  const numbers = toNumbers(answer);
  const others = secondaryAnswer === undefined ? undefined : toNumbers(secondaryAnswer);
  release();
  return numericVariance(numbers, others);
}

function toNumbers(text: string): Numbers {
  source.encode(text);
  return numbersInSource();
}
