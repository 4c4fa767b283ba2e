import { camelKeys } from '../base/index.ts';
import {
  cleanText,
  spanIdToUuid,
  textOrNull,
  traceIdToUuid,
  uuidToSpanId,
  uuidToTraceId,
} from '../postgres/index.ts';
import type { ApprovalAnswer } from './approval.ts';
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
    confidence: numberText(review.confidence),
    hallucination_risk_score: numberText(review.hallucinationRisk),
    trace_id: traceIdToUuid(review.traceId ?? '') ?? null,
    span_id: spanIdToUuid(review.spanId ?? '') ?? null,
    content,
  };
}

/** Where the request of an approval stands. An unknown state counts as undecided. */
export function toApprovalAnswer(row: Row): ApprovalAnswer {
  const { state } = row;
  return {
    id: String(row.id),
    state: state === 'approved' || state === 'rejected' ? state : 'waiting',
    decidedBy: textOrNull(row.person),
    note: textOrNull(row.remark),
    scope: row.reach === 'session' || row.reach === 'definition' ? row.reach : 'once',
  };
}

export function toReview(row: Row): Review {
  const {
    review_id,
    hallucination_risk_score,
    claim_token,
    trace_id,
    span_id,
    content,
    response,
    ...columns
  } = row;
  return {
    ...camelKeys(columns),
    id: String(review_id),
    hallucinationRisk: readNumber(hallucination_risk_score),
    confidence: readNumber(row.confidence),
    token: Number(claim_token),
    traceId: uuidToTraceId(textOrNull(trace_id) ?? '') ?? null,
    spanId: uuidToSpanId(textOrNull(span_id) ?? '') ?? null,
  } as Review;
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
    decidedBy: textOrNull(row.decided_by),
    decidedAt: textOrNull(row.decided_at),
    note: textOrNull(row.note),
    response: jsonValue(row.response),
  };
}

/** Text that Postgres can store, or null. */
export function plain(text: string | undefined): string | null {
  return text === undefined ? null : cleanText(text);
}

/** A number for a parameter, or null. */
export function numberText(value: number | undefined): string | null {
  return value === undefined || !Number.isFinite(value) ? null : String(value);
}

function readNumber(value: unknown): number | null {
  return value === null || value === undefined ? null : Number(value);
}

/** The JSON value, or `undefined` if there is none. */
function jsonValue(text: unknown): unknown {
  return typeof text === 'string' ? (JSON.parse(text) as unknown) : undefined;
}
