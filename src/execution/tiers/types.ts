/**
 * Terms: a *tier* is a class of service with a budget and two limits. A *signal* is a measure of one call: its cost,
 * the confidence in its answer, its hallucination risk. A signal outside its limit *breaches* it.
 */
import type { SpanReference } from '../types.ts';

/** Budget and limits of one tier. */
export interface ExecutionTier {
  readonly name: string;
  /** Budget of one call in US dollars. A cost above it is only flagged. */
  readonly maxCostUsd: number;
  /** A confidence below it, 0..1, sends the call to the fallback. */
  readonly minConfidence: number;
  /** A hallucination risk above it, 0..1, sends the call to the fallback. */
  readonly maxHallucinationRisk: number;
  /** An evidence risk above it, 0..1, sends the call to the fallback; without evidence there is none. @defaultValue 1 */
  readonly maxEvidenceRisk?: number | undefined;
}

/** A tier without its name. */
export type TierLimits = Omit<ExecutionTier, 'name'>;

/** Signals of one call. */
export interface TierSignals {
  /** US dollars; `undefined` when the price is not known, which breaches no budget. */
  readonly costUsd?: number | undefined;
  /** 0..1; 1 - risk when unknown. An invalid value counts as 0. */
  readonly confidence?: number | undefined;
  /** 0..1. A risk that could not be computed counts as 1. */
  readonly hallucinationRisk?: number | undefined;
  /** 0..1; `undefined` without tool calls and documents, which breaches nothing. */
  readonly evidenceRisk?: number | undefined;
}

/** The verdict of a tier on one call. */
export interface TierVerdict {
  /** Whether the answer may be used: neither confidence nor a risk breach their limit. Cost is not considered. */
  readonly accepted: boolean;
  /** The confidence that was compared, given or inferred. */
  readonly confidence: number;
  /** Whether the confidence was inferred as 1 - risk. */
  readonly confidenceInferred: boolean;
  /** The risk that was compared. */
  readonly hallucinationRisk: number;
  /** As given; `undefined` when the price is not known. */
  readonly costUsd: number | undefined;
  readonly costBreached: boolean;
  readonly confidenceBreached: boolean;
  readonly hallucinationBreached: boolean;
  readonly evidenceBreached: boolean;
  /** `low_confidence`, `high_hallucination` and `high_evidence_risk`, joined by `+`; absent when accepted. */
  readonly fallbackReason: string | undefined;
}

/** The decision on one call, and its place in the trace. */
export interface TierDecision extends TierVerdict {
  /** The tier that decided. */
  readonly tier: ExecutionTier;
  /** Source of the response. */
  readonly source: 'mcp' | 'fallback';
  readonly fallbackUsed: boolean;
  /** `template`, `human_review` or `draft_only`; set exactly when `fallbackReason` is. */
  readonly fallbackType: string | undefined;
  /** Id of the requested review, when the fallback is `human_review`. */
  readonly reviewId: string | undefined;
  /** Span of the call. */
  readonly primarySpan: SpanReference;
  /** Span of the fallback, a child of the primary's; absent when there was none. */
  readonly fallbackSpan: SpanReference | undefined;
}
