import { cleanText, spanIdToUuid, traceIdToUuid, uuidToSpanId, uuidToTraceId } from '../../postgres/index.ts';
import type { SubmittedColumn } from './sql.ts';
import type {
  ClaimedReview,
  Review,
  ReviewInFull,
  ReviewOutcome,
  ReviewStatus,
  ReviewSubmission,
} from './types.ts';

type Row = Readonly<Record<string, unknown>>;

/** A submission as texts for the columns of the table. */
export function submittedValues(
  id: string,
  review: ReviewSubmission,
  content: string,
): Readonly<Record<SubmittedColumn, string | null>> {
  return {
    review_id: id,
    fallback_reason: plain(review.fallbackReason) ?? '',
    tool_name: plain(review.toolName),
    service: plain(review.service),
    model: plain(review.model),
    risk_tier: plain(review.riskTier),
    prompt_template_id: plain(review.promptTemplateId),
    session_id: plain(review.sessionId),
    confidence: finite(review.confidence),
    hallucination_risk_score: finite(review.hallucinationRisk),
    trace_id: traceIdToUuid(review.traceId ?? '') ?? null,
    span_id: spanIdToUuid(review.spanId ?? '') ?? null,
    content,
  };
}

export function toReview(row: Row): Review {
  const traceId = textOf(row.trace_id);
  const spanId = textOf(row.span_id);
  return {
    id: String(row.review_id),
    status: row.status as ReviewStatus,
    createdAt: String(row.created_at),
    expiresAt: String(row.expires_at),
    fallbackReason: String(row.fallback_reason),
    toolName: textOf(row.tool_name),
    service: textOf(row.service),
    model: textOf(row.model),
    riskTier: textOf(row.risk_tier),
    promptTemplateId: textOf(row.prompt_template_id),
    sessionId: textOf(row.session_id),
    confidence: numberOf(row.confidence),
    hallucinationRisk: numberOf(row.hallucination_risk_score),
    traceId: traceId === null ? null : (uuidToTraceId(traceId) ?? null),
    spanId: spanId === null ? null : (uuidToSpanId(spanId) ?? null),
    claimedBy: textOf(row.claimed_by),
    claimedAt: textOf(row.claimed_at),
    leaseExpiresAt: textOf(row.lease_expires_at),
    token: Number(row.claim_token),
    decidedBy: textOf(row.decided_by),
    decidedAt: textOf(row.decided_at),
    note: textOf(row.note),
  };
}

export function toReviewInFull(row: Row): ReviewInFull {
  return { ...toReview(row), content: jsonValue(row.content), response: jsonValue(row.response) };
}

export function toClaimedReview(row: Row): ClaimedReview {
  return { ...toReviewInFull(row), claimedBy: String(row.claimed_by) };
}

export function toOutcome(row: Row): ReviewOutcome {
  return {
    status: row.status as ReviewStatus,
    decidedBy: textOf(row.decided_by),
    decidedAt: textOf(row.decided_at),
    note: textOf(row.note),
    response: jsonValue(row.response),
  };
}

/** Text that Postgres can store, or null. */
export function plain(text: string | undefined): string | null {
  return text === undefined ? null : cleanText(text);
}

function finite(value: number | undefined): string | null {
  return value === undefined || !Number.isFinite(value) ? null : String(value);
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function numberOf(value: unknown): number | null {
  return value === null || value === undefined ? null : Number(value);
}

/** The JSON value, or `undefined` if there is none. */
function jsonValue(text: unknown): unknown {
  return typeof text === 'string' ? (JSON.parse(text) as unknown) : undefined;
}
