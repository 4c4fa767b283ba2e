import { isObject, parseContainer } from '../../json/index.ts';
import type { Queryable } from '../../postgres/index.ts';
import { ask } from './runs.ts';

/** Open requests that are listed, oldest first, and decided ones, newest first. */
const MAX_OPEN = 200;
const MAX_DECIDED = 20;
/** Longest content that a list reads to say who asks; all of it is shown when one is opened. */
const MAX_CONTENT_CHARS = 65_536;

/** What waits for a person, or was decided. Times are milliseconds since 1970. */
export interface WaitingRow {
  /** Id of the review. */
  readonly id: string;
  /** `approval`: a call that a policy holds; `review`: an answer or call that a fallback put aside. */
  readonly kind: 'approval' | 'review';
  readonly status: 'pending' | 'claimed' | 'approved' | 'rejected' | 'expired';
  readonly reason: string;
  readonly tool: string | null;
  readonly server: string | null;
  /** Who the call is for. */
  readonly caller: string | null;
  readonly createdMs: number;
  readonly expiresMs: number;
  readonly claimedBy: string | null;
  readonly decidedBy: string | null;
  readonly decidedMs: number | null;
  readonly note: string | null;
  /** Run in which it was asked, 32 hex digits. */
  readonly run: string | null;
}

/** One of them in full. */
export interface WaitingDetail extends WaitingRow {
  /** Why the policy holds the call. */
  readonly message: string | null;
  readonly ruleIds: readonly string[];
  /** SHA-256 of the arguments that an approval is bound to, hex. */
  readonly argsDigest: string | null;
  /** Everything the decision is about, as JSON text: the arguments of the call, or the content of the review. */
  readonly content: string;
  readonly contentBytes: number;
}

const COLUMNS = `review_id::text AS id, CASE WHEN status IN ('pending', 'claimed') AND expires_at <= now() THEN 'expired' ELSE status END AS status,
  fallback_reason AS reason, tool_name AS tool, (extract(epoch FROM created_at) * 1000)::float8 AS "createdMs",
  (extract(epoch FROM expires_at) * 1000)::float8 AS "expiresMs", claimed_by AS "claimedBy", decided_by AS "decidedBy",
  (extract(epoch FROM decided_at) * 1000)::float8 AS "decidedMs", note, replace(trace_id::text, '-', '') AS run`;

/** What waits now, oldest first, and what was decided lately. @throws the database's errors. */
export async function listWaiting(
  db: Queryable,
): Promise<{ readonly open: readonly WaitingRow[]; readonly decided: readonly WaitingRow[] }> {
  const short = `CASE WHEN length(content::text) <= ${MAX_CONTENT_CHARS} THEN content::text END AS content`;
  const [open, decided] = await Promise.all([
    ask(
      db,
      `SELECT ${COLUMNS}, ${short} FROM mcp_reviews WHERE status IN ('pending', 'claimed') AND expires_at > now()
        ORDER BY created_at, review_id LIMIT ${MAX_OPEN}`,
    ),
    ask(
      db,
      `SELECT ${COLUMNS}, ${short} FROM mcp_reviews WHERE status IN ('approved', 'rejected', 'expired')
        AND created_at > now() - interval '30 days' ORDER BY decided_at DESC LIMIT ${MAX_DECIDED}`,
    ),
  ]);
  const rowsOf = (rows: typeof open) => rows.map((row) => waitingRow(row, approvalIn(row.content)));
  return { open: rowsOf(open), decided: rowsOf(decided) };
}

/** One of them with the whole of what is decided. @throws the database's errors. */
export async function readWaiting(db: Queryable, id: string): Promise<WaitingDetail | undefined> {
  const [row] = await ask(
    db,
    `SELECT ${COLUMNS}, content::text AS content FROM mcp_reviews WHERE review_id = $1::text::uuid`,
    [id],
  );
  if (row === undefined) return undefined;
  const text = String(row.content);
  const approval = approvalIn(text);
  const shown = approval === undefined ? parseContainer(text) : approval.args;
  const content = JSON.stringify(shown ?? text, null, 2);
  return {
    ...waitingRow(row, approval),
    message: stringIn(approval, 'message'),
    ruleIds: Array.isArray(approval?.ruleIds) ? approval.ruleIds.map(String) : [],
    argsDigest: stringIn(approval, 'argsDigest'),
    content,
    contentBytes: Buffer.byteLength(JSON.stringify(shown ?? text)),
  };
}

type Approval = Readonly<Record<string, unknown>>;

function approvalIn(content: unknown): Approval | undefined {
  const parsed = typeof content === 'string' ? parseContainer(content) : undefined;
  return isObject(parsed) && isObject(parsed.approval) ? parsed.approval : undefined;
}

function waitingRow(row: Record<string, unknown>, approval: Approval | undefined): WaitingRow {
  const { content: _, ...columns } = row;
  return {
    ...(columns as unknown as WaitingRow),
    kind: row.reason === 'approval_required' ? 'approval' : 'review',
    server: stringIn(approval, 'server'),
    caller: stringIn(approval, 'caller'),
  };
}

function stringIn(approval: Approval | undefined, name: string): string | null {
  const value = approval?.[name];
  return typeof value === 'string' && value !== '' ? value : null;
}
