import type { TierLimits, TierSignals, TierVerdict } from './types.ts';

/**
 * Compares the signals of one call with the limits of its tier:
 *
 * ```text
 * confidence             = given, else 1 - risk
 * cost breached          = cost > maxCostUsd              (flagged only)
 * confidence breached    = confidence < minConfidence     -> low_confidence
 * hallucination breached = risk > maxHallucinationRisk    -> high_hallucination
 * evidence breached      = evidence risk > maxEvidenceRisk -> high_evidence_risk
 * accepted               = none of the last three
 * ```
 *
 * It fails closed: a risk that could not be computed counts as 1, an invalid confidence as 0. A tier that allows a risk
 * of 1 and requires no confidence accepts everything.
 */
export function judgeByTier(limits: TierLimits, signals: TierSignals): TierVerdict {
  const { costUsd } = signals;
  const hallucinationRisk = isShare(signals.hallucinationRisk) ? signals.hallucinationRisk : 1;
  const confidenceInferred = signals.confidence === undefined;
  const given = isShare(signals.confidence) ? signals.confidence : 0;
  const confidence = confidenceInferred ? 1 - hallucinationRisk : given;
  const confidenceBreached = confidence < limits.minConfidence;
  const hallucinationBreached = hallucinationRisk > limits.maxHallucinationRisk;
  const evidenceBreached = (signals.evidenceRisk ?? 0) > (limits.maxEvidenceRisk ?? 1);
  const reasons = [
    ...(confidenceBreached ? ['low_confidence'] : []),
    ...(hallucinationBreached ? ['high_hallucination'] : []),
    ...(evidenceBreached ? ['high_evidence_risk'] : []),
  ];
  return {
    accepted: reasons.length === 0,
    confidence,
    confidenceInferred,
    hallucinationRisk,
    costUsd,
    costBreached: costUsd !== undefined && costUsd > limits.maxCostUsd,
    confidenceBreached,
    hallucinationBreached,
    evidenceBreached,
    fallbackReason: reasons.length === 0 ? undefined : reasons.join('+'),
  };
}

/** Whether a value is a number from 0 to 1. */
export function isShare(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= 1;
}
