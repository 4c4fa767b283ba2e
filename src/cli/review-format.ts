import { cleanPreview, type Review, type ReviewInFull } from '../approvals/index.ts';
import { snakeKeys } from '../base/index.ts';
import { printableLine } from './terminal/index.ts';

/** A review as a wire document, with content and response if they were read. */
export function reviewJson(review: Review | ReviewInFull): object {
  const { id, hallucinationRisk, token, ...facts } = review;
  return {
    review_id: id,
    ...snakeKeys(facts),
    hallucination_risk_score: hallucinationRisk,
    claim_token: token,
    ...('content' in review ? { response: review.response ?? null } : {}),
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
  return printableLine(cleanPreview(text));
}
