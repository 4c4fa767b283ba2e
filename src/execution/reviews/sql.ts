/**
 * The statements of the table `mcp_reviews`. Parameters are texts with a cast, which works with every driver. Times are
 * the server's, so workers' clocks need not agree.
 */
import type { ReviewStatus } from './types.ts';

const ISO = `'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'`;
const timeOf = (column: string) => `to_char(${column} AT TIME ZONE 'UTC', ${ISO}) AS ${column}`;
const OPEN = `status IN ('pending', 'claimed')`;

/** Everything but the content. An overdue review is shown as expired even before it is marked. */
const SUMMARY = [
  'review_id::text AS review_id',
  `CASE WHEN ${OPEN} AND expires_at <= now() THEN 'expired' ELSE status END AS status`,
  ...['created_at', 'expires_at', 'claimed_at', 'lease_expires_at', 'decided_at'].map(timeOf),
  'trace_id::text AS trace_id',
  'span_id::text AS span_id',
  'fallback_reason, tool_name, service, model, risk_tier, prompt_template_id, session_id',
  'confidence, hallucination_risk_score, claim_token, claimed_by, decided_by, note, scope',
].join(', ');

const FULL = `${SUMMARY}, content::text AS content, response::text AS response`;

const COLUMNS = [
  ['review_id', 'uuid'],
  ['fallback_reason', 'text'],
  ['tool_name', 'text'],
  ['service', 'text'],
  ['model', 'text'],
  ['risk_tier', 'text'],
  ['prompt_template_id', 'text'],
  ['session_id', 'text'],
  ['confidence', 'double precision'],
  ['hallucination_risk_score', 'double precision'],
  ['trace_id', 'uuid'],
  ['span_id', 'uuid'],
  ['content', 'json'],
] as const;

/** Column of a submission. */
export type SubmittedColumn = (typeof COLUMNS)[number][0];

/** The columns of {@link INSERT}, in the order of its parameters; the last parameter is the milliseconds to expiry. */
export const SUBMITTED_COLUMNS: readonly SubmittedColumn[] = COLUMNS.map(([column]) => column);

/** Returns nothing, so that submitting does not require the right to read. */
export const INSERT = `INSERT INTO mcp_reviews (${SUBMITTED_COLUMNS.join(', ')}, expires_at)
  VALUES (${COLUMNS.map(([, type], i) => `$${i + 1}::text::${type}`).join(', ')},
    now() + $${COLUMNS.length + 1}::text::double precision * interval '1 millisecond')`;

/**
 * Worker, milliseconds of the lease, tool or null, id or null. Oldest first; rows locked by other claims are skipped.
 */
export const CLAIM = `UPDATE mcp_reviews SET status = 'claimed', claimed_by = $1::text, claimed_at = now(),
    lease_expires_at = now() + $2::text::double precision * interval '1 millisecond', claim_token = claim_token + 1
  WHERE review_id = (
    SELECT review_id FROM mcp_reviews
    WHERE ${OPEN} AND (status = 'pending' OR lease_expires_at <= now()) AND expires_at > now()
      AND ($3::text IS NULL OR tool_name = $3::text) AND ($4::text IS NULL OR review_id = $4::text::uuid)
    ORDER BY created_at, review_id LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING ${FULL}`;

/**
 * Id, token, worker, status, note or null, response or null, scope or null. The token is the fence: it stays valid after the lease has
 * lapsed, until someone else claims the review.
 */
export const DECIDE = `UPDATE mcp_reviews SET status = $4::text, decided_by = $3::text, decided_at = now(), note = $5::text,
    response = $6::text::json, scope = $7::text
  WHERE review_id = $1::text::uuid AND status = 'claimed' AND claim_token = $2::text::integer AND claimed_by = $3::text
    AND expires_at > now()
  RETURNING ${FULL}`;

/**
 * Fingerprint, milliseconds usable, id, milliseconds to expiry, tool, trace and span or null, content, subject, hash of the
 * definition, session or null, milliseconds usable in a session and under a definition, or null.
 */
export const TAKE_APPROVAL = `SELECT approval::text AS id, state, person, remark, reach FROM mcp_approvals_take($1::text,
    $2::text::double precision, $3::text::uuid, $4::text::double precision, $5::text, $6::text::uuid, $7::text::uuid,
    $8::text::json, $9::text, $10::text, $11::text, $12::text::double precision, $13::text::double precision)`;

/** An id: what may be chosen when it is approved. */
export const SCOPES_OF = `SELECT session_ms IS NOT NULL AS session, definition_ms IS NOT NULL AS definition
  FROM mcp_approvals WHERE review_id = $1::text::uuid`;

/** Until when an approval for more than one call can be used; \`a\` is mcp_approvals, \`r\` mcp_reviews. */
export const STANDS_UNTIL = `r.decided_at + CASE r.scope WHEN 'session' THEN a.session_ms WHEN 'definition' THEN a.definition_ms
    END * interval '1 millisecond'`;

/** Id, who, note or null. Only an approval that can still be used. */
export const REVOKE = `UPDATE mcp_approvals a SET ended_at = now(), ended_by = $2::text, ended_note = $3::text
  FROM mcp_reviews r WHERE a.review_id = $1::text::uuid AND r.review_id = a.review_id AND r.status = 'approved'
    AND a.used_at IS NULL AND a.ended_at IS NULL AND coalesce(${STANDS_UNTIL}, r.decided_at + a.usable_ms * interval '1 millisecond') > now()
  RETURNING a.review_id::text AS review_id`;

/**
 * Id, status, reason, tool, trace or null, content, who, note or null. A decision about something that is no review before it is
 * decided; of several, the first one stands.
 */
export const RECORD = `INSERT INTO mcp_reviews (review_id, status, expires_at, fallback_reason, tool_name, trace_id, content,
    claim_token, claimed_by, claimed_at, lease_expires_at, decided_by, decided_at, note)
  VALUES ($1::text::uuid, $2::text, now(), $3::text, $4::text, $5::text::uuid, $6::text::json, 1, $7::text, now(), now(),
    $7::text, now(), $8::text)
  ON CONFLICT (review_id) DO NOTHING RETURNING review_id::text AS review_id`;

export const EXPIRE = `WITH gone AS (
    UPDATE mcp_reviews SET status = 'expired', decided_at = now() WHERE ${OPEN} AND expires_at <= now() RETURNING 1)
  SELECT count(*)::integer AS expired FROM gone`;

export const GET = `SELECT ${FULL} FROM mcp_reviews WHERE review_id = $1::text::uuid`;

/** An array of ids. What the writer role may see. */
export const OUTCOMES = `SELECT review_id::text AS review_id,
    CASE WHEN ${OPEN} AND expires_at <= now() THEN 'expired' ELSE status END AS status,
    decided_by, ${timeOf('decided_at')}, note, response::text AS response
  FROM mcp_reviews WHERE review_id = ANY ($1::text::uuid[])`;

/**
 * Ended before a time. The condition on creation time lets the index be used, as nothing ends before it was created.
 */
const ENDED_BEFORE = `status IN ('approved', 'rejected', 'expired') AND created_at < $1::text::timestamptz
    AND decided_at < $1::text::timestamptz`;

export const PRUNABLE = `SELECT count(*)::integer AS reviews FROM mcp_reviews WHERE ${ENDED_BEFORE}`;

/** Rows per {@link PRUNE}, to keep each statement short. */
export const PRUNED_AT_ONCE = 10_000;

/** Deletes some of {@link PRUNABLE}; rows locked by another process are skipped. */
export const PRUNE = `WITH gone AS (
    DELETE FROM mcp_reviews WHERE review_id = ANY (ARRAY(
      SELECT review_id FROM mcp_reviews WHERE ${ENDED_BEFORE} LIMIT ${PRUNED_AT_ONCE} FOR UPDATE SKIP LOCKED))
    RETURNING 1)
  SELECT count(*)::integer AS reviews FROM gone`;

/** Tool or null, number of rows. */
export function listStatement(status: ReviewStatus | undefined): string {
  return `SELECT ${SUMMARY} FROM mcp_reviews WHERE ${status === undefined ? 'true' : conditionOf(status)}
    AND ($1::text IS NULL OR tool_name = $1::text) ORDER BY created_at DESC, review_id LIMIT $2::text::integer`;
}

/** Written for the indexes. */
function conditionOf(status: ReviewStatus): string {
  if (status === 'expired') return `(status = 'expired' OR (${OPEN} AND expires_at <= now()))`;
  const stored = `status = '${status}'`;
  return status === 'pending' || status === 'claimed' ? `${stored} AND expires_at > now()` : stored;
}
