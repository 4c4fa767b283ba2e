import { ABSOLUTE, HEDGING } from './phrases.ts';
import { clamp01 } from './risk.ts';

/** What a verifier judges: an answer, with the prompt and the evidence where they are known. */
export interface VerifierInput {
  /** Empty when the prompt is not known. */
  readonly prompt: string;
  readonly answer: string;
  readonly context?: string | undefined;
  /** Overlap of the answer with the context, 0..1; absent without a context. */
  readonly groundingScore?: number | undefined;
}

export interface VerifierResult {
  /** Goodness of the answer, from 0 (bad) to 1 (nothing to object to). */
  readonly score: number;
  /** What was objected to, comma-separated; `ok` when nothing. Must not hold text of the prompt or answer. */
  readonly reason: string;
}

/**
 * Judges an answer while its span ends, so it must be quick and synchronous. A verifier that throws, or whose score is
 * not a number in 0..1, leaves the score and the reason absent and changes nothing else.
 */
export interface Verifier {
  score(input: VerifierInput): VerifierResult;
}

/** What each objection takes off the score. */
const PENALTY = 0.25;

/** The default of {@link LocalHeuristicVerifier}: less overlap than this counts as poorly grounded. */
export const DEFAULT_LOW_GROUNDING_THRESHOLD = 0.1;

/**
 * The verdict of the local heuristic: 1, less 0.25 for each of hedging (`not sure`, `i think`, `maybe`), absolute
 * claims (`definitely`, `guaranteed`) and a grounding score below the threshold.
 *
 * @param phrases bits of `phrases.ts` found in the answer.
 */
export function heuristicVerdict(
  phrases: number,
  groundingScore: number | undefined,
  threshold: number = DEFAULT_LOW_GROUNDING_THRESHOLD,
): VerifierResult {
  const reasons: string[] = [];
  if ((phrases & HEDGING) !== 0) reasons.push('hedging_language');
  if ((phrases & ABSOLUTE) !== 0) reasons.push('absolute_claims');
  if (groundingScore !== undefined && groundingScore < threshold) reasons.push('low_grounding');
  return {
    score: clamp01(1 - PENALTY * reasons.length),
    reason: reasons.length > 0 ? reasons.join(',') : 'ok',
  };
}
