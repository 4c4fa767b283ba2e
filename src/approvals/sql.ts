/**
 * The statements of the tables `mcp_reviews` and `mcp_approvals`. They change only through functions of the schema, for
 * every role. Parameters are texts with a cast, which works with every driver. Times are the server's, so workers' clocks need
 * not agree.
 */
import { APPROVAL_PARTS } from './approval-parts.ts';
import type { ReviewStatus } from './types.ts';

const ISO = `'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'`;
const toTime = (column: string) => `to_char(${column} AT TIME ZONE 'UTC', ${ISO}) AS ${column}`;
const OPEN = `status IN ('pending', 'claimed')`;

/** Everything but the content. An overdue review is shown as expired even before it is marked. */
const SUMMARY = [
  'review_id::text AS review_id',
  `CASE WHEN ${OPEN} AND expires_at <= now() THEN 'expired' ELSE status END AS status`,
  ...['created_at', 'expires_at', 'claimed_at', 'lease_expires_at', 'decided_at'].map(toTime),
  'trace_id::text AS trace_id',
  'span_id::text AS span_id',
  'fallback_reason, tool_name, service, model, risk_tier, prompt_template_id, session_id',
  'confidence, hallucination_risk_score, claim_token, claimed_by, decided_by, note, scope',
].join(', ');

const FULL = `${SUMMARY}, content::text AS content, response::text AS response`;

/** The parameters of {@link SUBMIT} but for the last, which is the milliseconds to expiry. */
const SUBMITTED = [
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

export type SubmittedColumn = (typeof SUBMITTED)[number][0];

/** The columns of a submission, in the order of the parameters. */
export const SUBMITTED_COLUMNS: readonly SubmittedColumn[] = SUBMITTED.map(([column]) => column);

export const SUBMIT = `SELECT ${calling('mcp_reviews_submit', [...SUBMITTED.map(([, type]) => type), 'double precision'])}`;

/** Worker, milliseconds of the lease, tool or null, id or null. */
export const CLAIM = `SELECT ${FULL} FROM ${calling('mcp_reviews_claim', ['text', 'double precision', 'text', 'uuid'])}`;

/** Id, token, worker, status, note or null, response or null, scope or null. */
export const DECIDE = `SELECT ${FULL} FROM ${calling('mcp_reviews_decide', [
  ...['uuid', 'integer', 'text', 'text', 'text', 'json', 'text'],
])}`;

/**
 * The parts of a request, session or null, milliseconds usable, in a session and under a definition or null, milliseconds to
 * expiry, trace and span or null.
 */
export const TAKE_APPROVAL = `SELECT approval::text AS id, state, person, remark, reach FROM ${calling(
  'mcp_approvals_take',
  [
    ...APPROVAL_PARTS.map(() => 'json'),
    ...[
      'text',
      'double precision',
      'double precision',
      'double precision',
      'double precision',
      'uuid',
      'uuid',
    ],
  ],
)}`;

/** An id: what it is about, and where it is a request for an approval what may be chosen when it is approved. */
export const APPROVED_OF = `SELECT r.content::text AS content, r.fallback_reason AS reason, a.fingerprint,
    a.session_ms IS NOT NULL AS session, a.definition_ms IS NOT NULL AS definition
  FROM mcp_reviews r LEFT JOIN mcp_approvals a USING (review_id) WHERE r.review_id = $1::text::uuid`;

/** Until when an approval for more than one call can be used; \`a\` is mcp_approvals, \`r\` mcp_reviews. */
export const STANDS_UNTIL = `r.decided_at + CASE r.scope WHEN 'session' THEN a.session_ms WHEN 'definition' THEN a.definition_ms
    END * interval '1 millisecond'`;

/** Id, who, note or null. */
export const REVOKE = `SELECT one::text AS review_id FROM ${calling('mcp_approvals_revoke', ['uuid', 'text', 'text'])} AS one`;

/** Id, status, tool, trace or null, content, who, note or null. */
export const RECORD = `SELECT one::text AS review_id FROM ${calling('mcp_reviews_record', [
  ...['uuid', 'text', 'text', 'uuid', 'json', 'text', 'text'],
])} AS one`;

/** What the ledger of calls is asked: one request, as JSON. */
export const LEDGER = {
  find: 'SELECT mcp_ledger_find($1::text::json)::text AS answer',
  reserve: 'SELECT mcp_ledger_reserve($1::text::json)::text AS answer',
  settle: 'SELECT mcp_ledger_settle($1::text::json)::text AS answer',
  resolve: 'SELECT mcp_ledger_resolve($1::text::json)::text AS answer',
} as const;

export const EXPIRE = 'SELECT mcp_reviews_expire() AS expired';

export const GET = `SELECT ${FULL} FROM mcp_reviews WHERE review_id = $1::text::uuid`;

/** An array of ids. */
export const OUTCOMES = `SELECT review_id::text AS review_id, status, decided_by, ${toTime('decided_at')}, note,
    response::text AS response
  FROM mcp_reviews_outcomes($1::text::uuid[])`;

/** All that a gate needs of its store, and all that it may do there: it asks, and decides nothing. */
export const GATE_STATEMENTS: ReadonlySet<unknown> = new Set([
  ...[SUBMIT, TAKE_APPROVAL, OUTCOMES],
  ...Object.values(LEDGER),
]);

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
  return `SELECT ${SUMMARY} FROM mcp_reviews WHERE ${status === undefined ? 'true' : toCondition(status)}
    AND ($1::text IS NULL OR tool_name = $1::text) ORDER BY created_at DESC, review_id LIMIT $2::text::integer`;
}

/** Written for the indexes. */
function toCondition(status: ReviewStatus): string {
  if (status === 'expired') return `(status = 'expired' OR (${OPEN} AND expires_at <= now()))`;
  const stored = `status = '${status}'`;
  return status === 'pending' || status === 'claimed' ? `${stored} AND expires_at > now()` : stored;
}

/** The call of a function of the schema. All casts, so that it is this one, whatever others of its name there are. */
function calling(name: string, types: readonly string[]): string {
  return `${name}(${types.map((type, i) => `$${i + 1}::text::${type}`).join(', ')})`;
}
