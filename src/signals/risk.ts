import type { FieldValues } from '../base/index.ts';

/** How much each component counts; weights of absent components are left out and the rest renormalized. */
export interface RiskWeights {
  /** Weight of `1 - grounding score`. @defaultValue 0.30 */
  readonly grounding: number;
  /** Weight of `1 - self-consistency score`. @defaultValue 0.25 */
  readonly consistency: number;
  /** Weight of `1 - verifier score`. @defaultValue 0.25 */
  readonly verifier: number;
  /** Weight of the numeric variance score. @defaultValue 0.10 */
  readonly numeric: number;
  /** Weight of 1 for a tool-claim mismatch, 0 for none. @defaultValue 0.10 */
  readonly toolMismatch: number;
}

/** Lower bounds of the risk levels. */
export interface RiskLevels {
  /** A score below this is low. @defaultValue 0.20 */
  readonly medium: number;
  /** A score below this is medium, from it on high. @defaultValue 0.35 */
  readonly high: number;
}

export type RiskLevel = 'low' | 'medium' | 'high';

export const DEFAULT_RISK_WEIGHTS: RiskWeights = {
  grounding: 0.3,
  consistency: 0.25,
  verifier: 0.25,
  numeric: 0.1,
  toolMismatch: 0.1,
};

export const DEFAULT_RISK_LEVELS: RiskLevels = { medium: 0.2, high: 0.35 };

/** Clamps a value to 0..1. NaN, the ratio of two infinities, counts as 1. */
export function clamp01(value: number): number {
  return value > 0 ? Math.min(1, value) : Number.isNaN(value) ? 1 : 0;
}

/**
 * The composite hallucination risk, 0..1: the weighted mean of the components present.
 *
 * With a grounding score of 0.4, no second answer, a verifier score of 0.75, a numeric variance of 0 and no tool
 * result: (0.6 * 0.30 + 0.25 * 0.25 + 0 * 0.10) / (0.30 + 0.25 + 0.10) = 0.373, which is high.
 *
 * @returns undefined when there is no component, or all present weights are 0.
 */
export function hallucinationRisk(scores: FieldValues, weights: RiskWeights): number | undefined {
  const { grounding_score, self_consistency_score, verifier_score, numeric_variance_score } = scores;
  const { tool_claim_mismatch } = scores;
  let sum = 0;
  let total = 0;
  // One after the other: lists of components cost a model call a microsecond.
  if (grounding_score !== undefined) {
    sum += clamp01(1 - grounding_score) * weights.grounding;
    total += weights.grounding;
  }
  if (self_consistency_score !== undefined) {
    sum += clamp01(1 - self_consistency_score) * weights.consistency;
    total += weights.consistency;
  }
  if (verifier_score !== undefined) {
    sum += clamp01(1 - verifier_score) * weights.verifier;
    total += weights.verifier;
  }
  if (numeric_variance_score !== undefined) {
    sum += clamp01(numeric_variance_score) * weights.numeric;
    total += weights.numeric;
  }
  if (tool_claim_mismatch !== undefined) {
    sum += clamp01(Number(tool_claim_mismatch)) * weights.toolMismatch;
    total += weights.toolMismatch;
  }
  return total > 0 ? clamp01(sum / total) : undefined;
}

export function hallucinationRiskLevel(score: number, levels: RiskLevels): RiskLevel {
  if (score < levels.medium) return 'low';
  return score < levels.high ? 'medium' : 'high';
}
