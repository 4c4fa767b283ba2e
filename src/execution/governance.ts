import type { GovernanceFields } from '../processor/index.ts';
import type { GovernanceOptions } from './types.ts';

/**
 * The governance fields of one call. A confidence below the threshold blocks the call unless the caller says
 * otherwise; the parent of a shadow run is kept only on a shadow run.
 */
export function governanceOf(options: GovernanceOptions): GovernanceFields {
  const { confidence, confidenceGateThreshold: threshold, isShadow = false } = options;
  const isBelow = confidence !== undefined && threshold !== undefined && confidence < threshold;
  return {
    riskTier: options.riskTier,
    promptTemplateId: options.promptTemplateId,
    confidence,
    gateBlocked: options.gateBlocked ?? isBelow,
    fallbackUsed: options.fallbackUsed ?? false,
    fallbackType: options.fallbackType,
    fallbackReason: options.fallbackReason,
    retries: options.retries ?? 0,
    isShadow,
    shadowParentTraceId: isShadow ? options.shadowParentTraceId : undefined,
  };
}
