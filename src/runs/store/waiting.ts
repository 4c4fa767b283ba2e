import { type ApprovalScope, isApproval, STANDS_UNTIL } from '../../approvals/index.ts';
import { isObject, parseContainer } from '../../json/index.ts';
import { canonicalUuid, type Queryable } from '../../postgres/index.ts';
import { ask } from './run-row.ts';
import { listDays, type RunKey } from './spans.ts';
import {
  findMeaning,
  findWaitingTool,
  LISTED_MS,
  TOOL_REVIEW,
  type ToolRemedies,
  toRemedies,
  type WaitingTool,
} from './waiting-tools.ts';

/** Open requests that are listed, oldest first, and decided ones, newest first. */
const MAX_OPEN = 200;
const MAX_DECIDED = 20;
/** Longest content that a list reads to say who asks; all of it is shown when one is opened. */
const MAX_CONTENT_CHARS = 65_536;

const MAX_ARGS_CHARS = 2000;

/** What waits for a person, or was decided. Times are milliseconds since 1970. */
export interface WaitingRow {
  /** Id of the review. */
  readonly id: string;
  /**
   * `approval`: a call that a policy holds; `review`: an answer or call that a fallback put aside; `tool`: a definition
   * that a gate barred, or that changed.
   */
  readonly kind: 'approval' | 'review' | 'tool';
  readonly status: 'pending' | 'claimed' | 'approved' | 'rejected' | 'expired';
  readonly reason: string;
  readonly tool: string | null;
  readonly server: string | null;
  readonly caller: string | null;
  readonly createdMs: number;
  readonly expiresMs: number;
  readonly claimedBy: string | null;
  readonly decidedBy: string | null;
  readonly decidedMs: number | null;
  readonly note: string | null;
  /** Run in which it was asked, 32 hex digits, and the span of it, 16. */
  readonly run: string | null;
  readonly span: string | null;
  /** Arguments of the call as JSON, their beginning; null where they are too long for a list, or not to be read. */
  readonly args: string | null;
  /** Whether the caller still waits for the answer, as far as its spans tell: the one that asked has not ended. */
  readonly isAwaited: boolean | null;
  /** How far an approval goes; null where none was given. */
  readonly scope: ApprovalScope | null;
  /** Until when an approval for more than one call can be used; null for others, and where it was ended. */
  readonly standsMs: number | null;
}

/** One of them in full. */
export interface WaitingDetail extends WaitingRow {
  /** Why the policy holds the call. */
  readonly message: string | null;
  readonly ruleIds: readonly string[];
  /** SHA-256 of the arguments that an approval is bound to, hex. */
  readonly argsDigest: string | null;
  /** SHA-256 of the definition of the tool that an approval is bound to, hex. */
  readonly toolHash: string | null;
  /** The session it was asked in. */
  readonly session: string | null;
  /**
   * True for a request whose content shows another call than its approval would be for, which the database's functions do
   * not make: it can only be rejected.
   */
  readonly isForged: boolean;
  /** What may be chosen when it is approved. */
  readonly scopes: readonly ApprovalScope[];
  /** Calls that were made with the approval, and when the last one was. */
  readonly uses: number;
  readonly lastUsedMs: number | null;
  /** When it was revoked, or its definition changed. */
  readonly endedMs: number | null;
  readonly endedBy: string | null;
  readonly endedNote: string | null;
  /** Everything the decision is about, as JSON text: the arguments of the call, or the content of the review. */
  readonly content: string;
  readonly contentBytes: number;
  /** Of a tool: its definitions, and what can be done about it where its gate is configured. */
  readonly definition: (WaitingTool & ToolRemedies) | null;
}

const formatMs = (time: string, name: string) => `(extract(epoch FROM ${time}) * 1000)::float8 AS "${name}"`;
const IS_OPEN = `r.status IN ('pending', 'claimed')`;
const STANDS = `CASE WHEN r.status = 'approved' AND a.used_at IS NULL AND a.ended_at IS NULL THEN ${STANDS_UNTIL} END`;

const COLUMNS = `r.review_id::text AS id, CASE WHEN ${IS_OPEN} AND r.expires_at <= now() THEN 'expired' ELSE r.status END AS status,
  r.fallback_reason AS reason, r.tool_name AS tool, ${formatMs('r.created_at', 'createdMs')}, ${formatMs('r.expires_at', 'expiresMs')},
  r.claimed_by AS "claimedBy", r.decided_by AS "decidedBy", ${formatMs('r.decided_at', 'decidedMs')}, r.note,
  replace(r.trace_id::text, '-', '') AS run, right(replace(r.span_id::text, '-', ''), 16) AS span, ${formatMs(STANDS, 'standsMs')},
  CASE WHEN r.status = 'approved' AND a.review_id IS NOT NULL THEN coalesce(r.scope, 'once') END AS scope`;
const SHORT = `CASE WHEN length(r.content::text) <= ${MAX_CONTENT_CHARS} THEN r.content::text END AS content`;
const FROM = 'FROM mcp_reviews r LEFT JOIN mcp_approvals a USING (review_id)';

/** What waits now, oldest first (tools apart, see {@link listWaitingTools}), what was approved for more than one call and still is, and what was decided lately. */
export interface WaitingLists {
  readonly open: readonly WaitingRow[];
  readonly standing: readonly WaitingRow[];
  readonly decided: readonly WaitingRow[];
}

/** All that a person may have to decide, or decide anew. @throws the database's errors. */
export async function listWaiting(db: Queryable): Promise<WaitingLists> {
  const list = async (condition: string) => {
    const rows = await ask(db, `SELECT ${COLUMNS}, ${SHORT} ${FROM} WHERE ${condition}`);
    return withAwaited(
      db,
      rows.map((row) => waitingRow(row, approvalIn(row.content))),
    );
  };
  const [open, standing, decided] = await Promise.all([
    list(`${IS_OPEN} AND r.expires_at > now() ORDER BY r.created_at, r.review_id LIMIT ${MAX_OPEN}`),
    list(
      `r.status = 'approved' AND r.scope IN ('session', 'definition') AND ${STANDS} > now()
        ORDER BY r.decided_at DESC LIMIT ${MAX_OPEN}`,
    ),
    list(
      `r.status IN ('approved', 'rejected', 'expired') AND r.created_at > now() - interval '30 days'
        ORDER BY r.decided_at DESC LIMIT ${MAX_DECIDED}`,
    ),
  ]);
  const ids = new Set(standing.map(({ id }) => id));
  return { open, standing, decided: decided.filter(({ id }) => !ids.has(id)) };
}

/**
 * What calls of a run were held for, and the outcome, in the order in which they asked; an equal call of another run
 * may have asked first. A role that may not read what people decide on sees the rest.
 */
export async function listApprovals(db: Queryable, run: RunKey): Promise<readonly WaitingRow[]> {
  const asked = await ask(
    db,
    `SELECT DISTINCT left(attributes->>'observatory.review_id', 40) AS review FROM mcp_traces
      WHERE trace_id = $1::uuid AND start_time BETWEEN $2::timestamptz AND $3::timestamptz
        AND policy_decision IS NOT NULL AND attributes->>'observatory.review_id' IS NOT NULL LIMIT ${MAX_OPEN}`,
    [run.id, ...listDays(run)],
  );
  const reviews = asked.map(({ review }) => canonicalUuid(String(review))).filter((one) => one !== undefined);
  const list = (columns: string) =>
    ask(
      db,
      `SELECT ${columns} ${FROM} WHERE (r.trace_id = $1::uuid OR r.review_id = ANY ($2::text[]::uuid[]))
        AND r.fallback_reason = 'approval_required' ORDER BY r.created_at, r.review_id LIMIT ${MAX_OPEN}`,
      [run.id, reviews],
    );
  const rows = await list(`${COLUMNS}, ${SHORT}`).catch(() => list(`${COLUMNS}, NULL AS content`));
  return withAwaited(
    db,
    rows.map((row) => waitingRow(row, approvalIn(row.content))),
  );
}

/** Says of open requests whether their callers still wait; of none for a role that may not read spans. */
async function withAwaited<T extends WaitingRow>(db: Queryable, rows: readonly T[]): Promise<readonly T[]> {
  const open = rows.filter(({ status, run, span }) => isOpen(status) && run !== null && span !== null);
  if (open.length === 0) return rows;
  const states = await ask(
    db,
    `SELECT r.review_id::text AS id, EXISTS (SELECT FROM mcp_traces t WHERE t.trace_id = r.trace_id) AS "hasRun",
      EXISTS (SELECT FROM mcp_traces t WHERE t.trace_id = r.trace_id AND t.span_id = r.span_id) AS "hasEnded"
    FROM mcp_reviews r WHERE r.review_id = ANY ($1::text[]::uuid[])`,
    [open.map(({ id }) => id)],
  ).catch(() => []);
  const awaited = new Map(
    states.map(({ id, hasRun, hasEnded }) => [id, hasRun === true ? hasEnded !== true : null]),
  );
  return rows.map((row) => ({ ...row, isAwaited: awaited.get(row.id) ?? null }));
}

const isOpen = (status: WaitingRow['status']) => status === 'pending' || status === 'claimed';

/** One of them with the whole of what is decided; undefined also for what is no id. @throws the database's errors. */
export async function readWaiting(db: Queryable, id: string): Promise<WaitingDetail | undefined> {
  if (canonicalUuid(id) === undefined) return undefined;
  const [row] = await ask(
    db,
    `SELECT ${COLUMNS}, r.content::text AS content, r.session_id AS session, coalesce(a.uses, 0) AS uses,
      ${formatMs('a.last_used_at', 'lastUsedMs')}, ${formatMs('a.ended_at', 'endedMs')}, a.ended_by AS "endedBy",
      a.ended_note AS "endedNote", a.fingerprint, a.session_ms IS NOT NULL AS "forSession", a.definition_ms IS NOT NULL AS "forDefinition"
    ${FROM} WHERE r.review_id = $1::text::uuid`,
    [id],
  );
  if (row === undefined) return undecidedTool(db, id);
  const { forSession, forDefinition, fingerprint, ...rest } = row;
  const text = String(row.content);
  const parsed = parseContainer(text);
  const approval = approvalIn(text);
  const definition = row.reason === TOOL_REVIEW ? definitionIn(parsed) : null;
  const isForged = readKind(row) === 'approval' && !isApproval(text, fingerprint);
  const shown = approval === undefined ? parsed : approval.args;
  const content = JSON.stringify(shown ?? text, null, 2);
  const [listed] = await withAwaited(db, [waitingRow({ ...rest, content: text }, approval)]);
  return {
    ...(rest as unknown as WaitingDetail),
    ...(listed as WaitingRow),
    definition,
    isForged,
    scopes:
      approval === undefined || isForged
        ? []
        : [
            'once' as const,
            ...(forSession === true ? ['session' as const] : []),
            ...(forDefinition === true ? ['definition' as const] : []),
          ],
    uses: Number(row.uses),
    message: definition === null ? stringIn(approval, 'message') : findMeaning(definition),
    ruleIds: Array.isArray(approval?.ruleIds) ? approval.ruleIds.map(String) : [],
    argsDigest: stringIn(approval, 'argsDigest'),
    toolHash: stringIn(approval, 'toolHash') ?? (definition?.now.hash || null),
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
  const { content, ...columns } = row;
  const about =
    row.reason === TOOL_REVIEW && typeof content === 'string' ? parseContainer(content) : approval;
  return {
    ...(columns as unknown as WaitingRow),
    kind: readKind(row),
    tool: stringIn(approval, 'tool') ?? (columns.tool as string | null),
    server: stringIn(isObject(about) ? about : undefined, 'server'),
    caller: stringIn(approval, 'caller'),
    isAwaited: null,
    args: approval?.args === undefined ? null : JSON.stringify(approval.args).slice(0, MAX_ARGS_CHARS),
  };
}

const readKind = ({ reason }: Record<string, unknown>) => KINDS[String(reason)] ?? 'review';

const KINDS: Readonly<Record<string, WaitingRow['kind']>> = {
  approval_required: 'approval',
  [TOOL_REVIEW]: 'tool',
};

/** The definition that was decided about, as it was when it was. */
function definitionIn(content: unknown): WaitingDetail['definition'] {
  if (!isObject(content) || !isObject(content.now)) return null;
  const { server, tool, now } = content;
  if ([server, tool, now.hash].some((text) => typeof text !== 'string')) return null;
  const decided = content as unknown as WaitingTool;
  return { ...decided, ...toRemedies(decided) };
}

/** A tool that waits, as a row of the list. */
export function toolRow({ id, server, tool, now, state, barred }: WaitingTool): WaitingRow {
  return {
    id,
    kind: 'tool',
    status: 'pending',
    reason: barred ?? `tool_${state}`,
    tool,
    server: server === '' ? null : server,
    caller: null,
    createdMs: now.firstMs,
    expiresMs: now.lastMs + LISTED_MS,
    claimedBy: null,
    decidedBy: null,
    decidedMs: null,
    note: null,
    run: null,
    span: null,
    args: null,
    isAwaited: null,
    scope: null,
    standsMs: null,
  };
}

async function undecidedTool(db: Queryable, id: string): Promise<WaitingDetail | undefined> {
  const found = await findWaitingTool(db, id);
  if (found === undefined) return undefined;
  const { tool, run } = found;
  return {
    ...toolRow(tool),
    run,
    message: findMeaning(tool),
    ruleIds: [],
    argsDigest: null,
    toolHash: tool.now.hash || null,
    session: null,
    isForged: false,
    scopes: [],
    uses: 0,
    lastUsedMs: null,
    endedMs: null,
    endedBy: null,
    endedNote: null,
    content: '',
    contentBytes: 0,
    definition: { ...tool, ...toRemedies(tool) },
  };
}

function stringIn(approval: Approval | undefined, name: string): string | null {
  const value = approval?.[name];
  return typeof value === 'string' && value !== '' ? value : null;
}
