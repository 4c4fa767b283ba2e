import { resolveSignalConfig, type SignalOptions } from './config.ts';
import { extractNumbers, numericVariance } from './numbers.ts';
import { SUCCESS } from './phrases.ts';
import { ANSWER, CONTEXT } from './token-sets.ts';
import { reportsFailure } from './tool-claims.ts';
import { heuristicVerdict, type Verifier, type VerifierInput, type VerifierResult } from './verifier.ts';
import { encodeAndNormalize, encodeForTokens, normalized, release, source, tokenSets } from './workspace.ts';

/** The individual scores; `computeSignals` computes all of them at little more than the cost of one. */

/**
 * Overlap of an answer with the retrieved context, 0..1: the Jaccard similarity of their sets of tokens, which are the
 * longest runs of ASCII letters and digits in the lower-cased text.
 */
export function groundingScore(answer: string, retrievedContext: string): number {
  readAnswer(answer, retrievedContext.length);
  tokenSets.add(encodeForTokens(retrievedContext), CONTEXT);
  const similarity = tokenSets.similarity(CONTEXT);
  release();
  return similarity;
}

/** Overlap of two answers to one prompt, 0..1, measured as {@link groundingScore} is. */
export function selfConsistencyScore(answer: string, secondaryAnswer: string): number {
  return groundingScore(answer, secondaryAnswer);
}

/**
 * Instability of the numbers in an answer, 0..1. Alone: `(max - min) / max(1e-9, |mean|)`. With a second answer: the
 * mean of `|a - b| / max(1e-9, |a|)` over the numbers at the same places. 0 when there is nothing to compare.
 */
export function numericVarianceScore(answer: string, secondaryAnswer?: string): number {
  const numbers = extractNumbers(source.encode(answer));
  const others = secondaryAnswer === undefined ? undefined : extractNumbers(source.encode(secondaryAnswer));
  release();
  return numericVariance(numbers, others);
}

/**
 * Whether an answer claims success (`completed`, `success`, `done`, `sent`) where the tool's summary speaks of failure
 * (`failed`, `error`, `declined`).
 */
export function toolClaimMismatch(answer: string, toolResultSummary: string): boolean {
  if (!reportsFailure(toolResultSummary)) return false;
  readAnswer(answer, 0);
  release();
  return (tokenSets.phrases & SUCCESS) !== 0;
}

/**
 * The default verifier: starts at 1 and subtracts 0.25 for each of `hedging_language` (`not sure`, `i think`, `maybe`),
 * `absolute_claims` (`definitely`, `guaranteed`) and `low_grounding` (overlap below the threshold).
 */
export class LocalHeuristicVerifier implements Verifier {
  readonly #threshold: number;

  /** @throws ObservatoryError `INVALID_OPTION` when the threshold is not a number from 0 to 1. */
  constructor(options: Pick<SignalOptions, 'lowGroundingThreshold'> = {}) {
    this.#threshold = resolveSignalConfig(options).lowGroundingThreshold;
  }

  score(input: VerifierInput): VerifierResult {
    const { answer, context } = input;
    let grounding = input.groundingScore;
    if (grounding === undefined && context !== undefined) grounding = groundingScore(answer, context);
    else readAnswer(answer, 0);
    release();
    return heuristicVerdict(tokenSets.phrases, grounding, this.#threshold);
  }
}

function readAnswer(answer: string, otherLength: number): void {
  tokenSets.reset(Math.max(answer.length, otherLength));
  encodeAndNormalize(answer, false);
  tokenSets.add(normalized, ANSWER);
}
