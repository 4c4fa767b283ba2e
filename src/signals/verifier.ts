import { ABSOLUTE, HEDGING } from './phrases.ts';
import { clamp01 } from './risk.ts';

/** Input of a verifier: an answer, with prompt and evidence where known. */
export interface VerifierInput {
  /** Empty when the prompt is not known. */
  readonly prompt: string;
  readonly answer: string;
  readonly context?: string | undefined;
  /** Overlap of the answer with the context, 0..1; absent without a context. */
  readonly groundingScore?: number | undefined;
}

export interface VerifierResult {
  /** Quality of the answer, from 0 (bad) to 1 (no objections). */
  readonly score: number;
  /** Objections, comma-separated; `ok` when there are none. Must not contain text of the prompt or answer. */
  readonly reason: string;
}

/**
 * Scores an answer while its span ends, so it must be fast and synchronous. If it throws or returns a score outside
 * 0..1, score and reason stay absent and nothing else changes.
 */
export interface Verifier {
  score(input: VerifierInput): VerifierResult;
}

/** Deduction per objection. */
const PENALTY = 0.25;

/** By default, a lower overlap counts as poorly grounded. */
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
  threshold: number,
): VerifierResult {
  const isPoor = groundingScore !== undefined && groundingScore < threshold;
  if ((phrases & (HEDGING | ABSOLUTE)) === 0 && !isPoor) return NO_OBJECTION;
  const reasons: string[] = [];
  if ((phrases & HEDGING) !== 0) reasons.push('hedging_language');
  if ((phrases & ABSOLUTE) !== 0) reasons.push('absolute_claims');
  if (isPoor) reasons.push('low_grounding');
  return { score: clamp01(1 - PENALTY * reasons.length), reason: reasons.join(',') };
}

const NO_OBJECTION: VerifierResult = Object.freeze({ score: 1, reason: 'ok' });
