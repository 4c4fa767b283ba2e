/**
 * What waits for a person, as wire documents and as text. Text of models and callers is shown without control and
 * bidirectional characters, which can disguise it.
 */
import { cleanPreview, type Review, type ReviewInFull } from '../approvals/index.ts';
import { snakeKeys } from '../base/index.ts';
import type { WaitingDetail, WaitingLists, WaitingRow } from '../runs/index.ts';
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
  return reviews
    .map(({ id, status, createdAt, toolName, fallbackReason, claimedBy, decidedBy }) =>
      formatLine([
        id,
        status.padEnd(8),
        createdAt,
        toolName ?? '-',
        fallbackReason,
        decidedBy ?? claimedBy ?? '',
      ]),
    )
    .join('\n');
}

const MAX_REVIEW_CHARS = 100_000;

/** One review as human-readable text. */
export function formatReview(review: ReviewInFull): string {
  const { content, response, ...facts } = reviewJson(review) as Record<string, unknown>;
  const parts = response === null ? { content } : { content, response };
  return [
    ...formatFacts(facts, 24),
    ...Object.entries(parts).flatMap(([name, value]) => [
      name,
      indented(JSON.stringify(value, null, 2), MAX_REVIEW_CHARS),
    ]),
  ].join('\n');
}

/** Approvals as a wire document: times are ISO 8601 UTC. */
export function approvalJson(value: WaitingLists | WaitingDetail): object {
  if ('id' in value) return oneJson(value);
  const { open, standing, decided } = value;
  return { open: open.map(oneJson), standing: standing.map(oneJson), decided: decided.map(oneJson) };
}

function oneJson(row: WaitingRow): object {
  const entries = Object.entries(row).map(([name, value]) =>
    name.endsWith('Ms') ? [`${name.slice(0, -2)}At`, toTime(value as number | null)] : [name, value],
  );
  const { content, ...rest } = Object.fromEntries(entries) as Record<string, unknown>;
  return { ...snakeKeys(rest), ...(typeof content === 'string' ? { arguments: JSON.parse(content) } : {}) };
}

const toTime = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());

export function formatApprovals({ open, standing, decided }: WaitingLists): string {
  const part = (title: string, rows: readonly WaitingRow[]) => [
    ...(rows.length === 0 ? [] : ['', title]),
    ...rows.map(formatRow),
  ];
  return [
    open.length === 0 ? 'Nothing waits' : `${open.length} waiting`,
    ...open.map(formatRow),
    ...part('Approved for more than one call', standing),
    ...part('Decided', decided),
  ].join('\n');
}

function formatRow(row: WaitingRow): string {
  const { id, status, createdMs, server, tool, caller, decidedBy, scope, standsMs } = row;
  const reach = scope === null ? '' : `for ${scope}`;
  const until = standsMs === null ? '' : `until ${toTime(standsMs)}`;
  return formatLine([
    id,
    status.padEnd(8),
    toTime(createdMs) ?? '',
    `${server ?? '-'}/${tool ?? '-'}`,
    `asked by ${caller ?? 'nobody named'}`,
    [decidedBy ?? '', reach, until].filter((text) => text !== '').join(' '),
  ]);
}

/** Longest arguments that are shown. They are bounded where they are stored. */
const MAX_ARGUMENTS_CHARS = 2_000_000;

export function formatApproval(row: WaitingDetail): string {
  const { arguments: _, ...facts } = approvalJson(row) as Record<string, unknown>;
  return [...formatFacts(facts, 16), 'arguments', indented(row.content, MAX_ARGUMENTS_CHARS)].join('\n');
}

function formatFacts(facts: Readonly<Record<string, unknown>>, width: number): string[] {
  return Object.entries(facts)
    .filter(([, value]) => value !== null && (!Array.isArray(value) || value.length > 0))
    .map(([name, value]) => {
      const text = Array.isArray(value) ? value.join(', ') : String(value);
      return `${name.padEnd(width)} ${printableLine(cleanPreview(text))}`;
    });
}

function formatLine(texts: readonly string[]): string {
  return texts
    .map((text) => printableLine(cleanPreview(text)))
    .join('  ')
    .trimEnd();
}

function indented(text: string, maxChars: number): string {
  return cleanPreview(text, maxChars).replace(/^/gmu, '  ');
}
