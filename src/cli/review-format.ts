import type { Review, ReviewInFull } from '../execution/index.ts';
import { cleanPreview } from '../policy/index.ts';

/** A review as a wire document, with content and response if they were read. */
export function reviewJson(review: Review | ReviewInFull): object {
  return {
    review_id: review.id,
    status: review.status,
    created_at: review.createdAt,
    expires_at: review.expiresAt,
    fallback_reason: review.fallbackReason,
    tool_name: review.toolName,
    service: review.service,
    model: review.model,
    risk_tier: review.riskTier,
    prompt_template_id: review.promptTemplateId,
    session_id: review.sessionId,
    confidence: review.confidence,
    hallucination_risk_score: review.hallucinationRisk,
    trace_id: review.traceId,
    span_id: review.spanId,
    claim_token: review.token,
    claimed_by: review.claimedBy,
    claimed_at: review.claimedAt,
    lease_expires_at: review.leaseExpiresAt,
    decided_by: review.decidedBy,
    decided_at: review.decidedAt,
    note: review.note,
    ...('content' in review ? { content: review.content, response: review.response ?? null } : {}),
  };
}

/** Reviews as human-readable lines. */
export function formatReviews(reviews: readonly Review[]): string {
  if (reviews.length === 0) return 'No reviews';
  const lines = reviews.map(({ id, status, createdAt, toolName, fallbackReason, claimedBy, decidedBy }) =>
    [id, status.padEnd(8), createdAt, toolName ?? '-', fallbackReason, decidedBy ?? claimedBy ?? '']
      .map(shown)
      .join('  ')
      .trimEnd(),
  );
  return lines.join('\n');
}

/**
 * One review as human-readable text. Text of models and callers is shown without control and bidirectional characters,
 * which can disguise it.
 */
export function formatReview(review: ReviewInFull): string {
  const { content, response, ...facts } = reviewJson(review) as Record<string, unknown>;
  const lines = Object.entries(facts)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name.padEnd(24)} ${shown(String(value))}`);
  lines.push('content', indented(content));
  if (response !== null) lines.push('response', indented(response));
  return lines.join('\n');
}

const MAX_SHOWN_CHARS = 100_000;

function indented(value: unknown): string {
  const text = cleanPreview(JSON.stringify(value, null, 2), MAX_SHOWN_CHARS);
  return text.replace(/^/gm, '  ');
}

/** Forces text onto one line. */
function shown(text: string): string {
  return cleanPreview(text).replaceAll('\n', '\\n').replaceAll('\t', '\\t');
}
