import { ownTurn, semconv } from '../../base/index.ts';
import { cleanText, IS_COUNTED_CALL, type Queryable } from '../../postgres/index.ts';
import { SPAN_MESSAGE, SPAN_STATUS, type SpanStatus } from '../status.ts';
import { ask, type RunRow } from './run-row.ts';

/** Most spans of a run that are read; further ones are counted only. */
const MAX_SPANS = 20_000;

/** One span of a run. Times are milliseconds since 1970, ids 16 hex digits. */
export interface RunSpan {
  readonly id: string;
  readonly parentId: string | null;
  readonly name: string;
  readonly kind: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly status: SpanStatus;
  readonly statusCode: 'unset' | 'ok' | 'error';
  readonly message: string | null;
  readonly service: string | null;
  readonly provider: string | null;
  readonly operation: string | null;
  readonly method: string | null;
  readonly model: string | null;
  readonly tool: string | null;
  readonly server: string | null;
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  readonly cachedTokens: number | null;
  readonly costUsd: number | null;
  readonly costSource: string | null;
  readonly retries: number | null;
  readonly finishReason: string | null;
  readonly decision: string | null;
  readonly reason: string | null;
  readonly isBlocked: boolean;
  /** Whether it is a call to a model, counted here. */
  readonly isModelCall: boolean;
  readonly risk: string | null;
  readonly findings: string | null;
  readonly claimMismatch: boolean;
  readonly argsHash: string | null;
  /** Id of the request for an approval that its gate made. */
  readonly reviewId: string | null;
  /** Id of the JSON-RPC request, where the instrumentation recorded one. */
  readonly requestId: string | null;
  /** What definitions of tools took of `promptTokens` and `costUsd`. */
  readonly offeredTokens: number | null;
  readonly offeredUsd: number | null;
  /** Tokens of each definition by server, JSON; not on every call. */
  readonly offeredList: string | null;
}

type NullOf<T> = { [K in keyof T as null extends T[K] ? K : never]: null };

/** What a span has none of; most spans have no more than half of their fields. */
const NOTHING: NullOf<RunSpan> = {
  parentId: null,
  message: null,
  service: null,
  provider: null,
  operation: null,
  method: null,
  model: null,
  tool: null,
  server: null,
  promptTokens: null,
  completionTokens: null,
  cachedTokens: null,
  costUsd: null,
  costSource: null,
  retries: null,
  finishReason: null,
  decision: null,
  reason: null,
  risk: null,
  findings: null,
  argsHash: null,
  reviewId: null,
  requestId: null,
  offeredTokens: null,
  offeredUsd: null,
  offeredList: null,
};

/** A span as it is sent: without the fields that are null. */
export type SentSpan = Partial<RunSpan> & Omit<RunSpan, keyof typeof NOTHING>;

/** Leaves out what is null: half of a long run. */
export function withoutNulls(span: RunSpan): SentSpan {
  const sent: Record<string, unknown> = {};
  for (const name of Object.keys(span) as (keyof RunSpan)[]) if (span[name] !== null) sent[name] = span[name];
  return sent as unknown as SentSpan;
}

/** A span as it was before {@link withoutNulls}. */
export function withNulls(span: SentSpan): RunSpan {
  return { ...NOTHING, ...span } as RunSpan;
}

/** JSON has no number for what is not finite. */
const finite = (column: string) => `CASE WHEN ${column} BETWEEN -1e300 AND 1e300 THEN ${column} END`;

const toId = (column: string) => `encode(substr(uuid_send(${column}), 9), 'hex')`;
const toMs = (column: string) => `(extract(epoch FROM mcp_traces_time(${column})) * 1000)::float8`;

/** Each field of a span in SQL, in the order in which they are read. A function, which the page leaves out. */
const listFields = (): Readonly<Record<keyof RunSpan, string>> => ({
  id: toId('span_id'),
  parentId: toId('parent_span_id'),
  name: 'span_name',
  kind: 'span_kind',
  startMs: toMs('start_time'),
  endMs: toMs('end_time'),
  status: SPAN_STATUS,
  statusCode: 'status_code',
  message: SPAN_MESSAGE,
  service: 'service',
  provider: 'provider',
  operation: 'operation',
  method: 'method',
  model: 'model',
  tool: 'tool_name',
  server: 'server_name',
  promptTokens: 'prompt_tokens',
  completionTokens: 'completion_tokens',
  cachedTokens: 'cached_prompt_tokens',
  costUsd: finite('cost_usd'),
  costSource: 'cost_source',
  retries: 'retries',
  finishReason: 'finish_reason',
  decision: 'policy_decision',
  reason: 'policy_reason',
  isBlocked: 'coalesce(gate_blocked, false)',
  isModelCall: IS_COUNTED_CALL,
  risk: 'coalesce(evidence_risk_level, hallucination_risk_level)',
  findings: 'evidence_findings',
  claimMismatch: 'coalesce(tool_claim_mismatch, false)',
  argsHash: 'tool_args_hash',
  reviewId: `left(attributes->>'observatory.review_id', 40)`,
  requestId: `left(attributes->>'${semconv.ATTR_JSONRPC_REQUEST_ID}', 100)`,
  offeredTokens: 'offered_tools_tokens',
  offeredUsd: finite('offered_tools_cost_usd'),
  offeredList: 'left(offered_tools_list, 10000)',
});

/** Spans of one statement: their text is read in one go. */
const PART_SPANS = 1000;
/** Spans that began before the run was added up last, or after, are of the run as well. */
const SLACK_MS = 86_400_000;

/** What names a run, and the days that its spans are in. */
export type RunKey = Pick<RunRow, 'id' | 'startMs' | 'endMs'>;

/** First and last time of the days that the spans of a run begin in. One that ends before it starts is one of them. */
export function listDays({ startMs, endMs }: RunKey): readonly string[] {
  return [startMs - SLACK_MS, Math.max(startMs, endMs) + SLACK_MS].map((ms) => new Date(ms).toISOString());
}

/** The spans of a run in the order of their start, at most 20,000. @throws the database's errors. */
export async function readRunSpans(db: Queryable, run: RunKey): Promise<readonly RunSpan[]> {
  const spans: RunSpan[] = [];
  const fields = listFields();
  const names = Object.keys(fields);
  const key = [run.id, ...listDays(run)];
  const ofRun = 'trace_id = $1::uuid AND start_time BETWEEN $2::timestamptz AND $3::timestamptz';
  // Without statistics a database expects a few rows of a run: asked for the next ones in an order it would read and sort
  // all that are left each time. Each part is between two keys instead.
  const parts = await ask(
    db,
    `WITH first AS (SELECT span_id, start_time FROM mcp_traces WHERE ${ofRun} ORDER BY start_time, span_id LIMIT ${MAX_SPANS})
      SELECT min(span_id::text) AS since, max(span_id::text) AS until, (SELECT max(start_time)::text FROM first) AS last
      FROM (SELECT span_id, (row_number() OVER (ORDER BY span_id) - 1) / ${PART_SPANS} AS part FROM first) AS numbered
      GROUP BY part ORDER BY part`,
    key,
  );
  for (const { since, until, last } of parts) {
    const [part] = await ask(
      db,
      // As one JSON text without names all are read in a third of the time that their columns take.
      `SELECT json_agg(json_build_array(${Object.values(fields).join(', ')}))::text AS spans FROM mcp_traces
        WHERE ${ofRun} AND span_id BETWEEN $4::uuid AND $5::uuid AND start_time <= $6::timestamptz`,
      [...key, since, until, last],
    );
    for (const values of JSON.parse(String(part?.spans ?? '[]')) as unknown[][])
      spans.push(toSpan(names, values));
    // Other requests get their turn.
    await ownTurn();
  }
  return spans.sort((a, b) => a.startMs - b.startMs || (a.id < b.id ? -1 : 1)).slice(0, MAX_SPANS);
}

function toSpan(names: readonly string[], values: readonly unknown[]): RunSpan {
  const span: Record<string, unknown> = {};
  for (const [i, name] of names.entries()) span[name] = values[i];
  return span as unknown as RunSpan;
}

/** Every field of one span, as SQL words; undefined when there is none. @throws the database's errors. */
export async function readRunSpan(
  db: Queryable,
  traceId: string,
  spanId: string,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const rows = await ask(
    db,
    `SELECT to_jsonb(t) - 'ingest_xid' AS span FROM mcp_traces t WHERE trace_id = $1::uuid AND span_id = $2::uuid`,
    [traceId, spanId.padStart(32, '0')],
  );
  return rows[0]?.span as Readonly<Record<string, unknown>> | undefined;
}

/** What a run has to do with others. Ids are trace ids. */
export interface RelatedRuns {
  /** The run that it accompanies as a shadow. */
  readonly primary: string | null;
  readonly shadows: readonly string[];
  /** SHA-256 of its first prompt; null where no model call has one. */
  readonly promptHash: string | null;
  /** Other runs with this prompt, at most 100. */
  readonly samePrompt: number;
  /** Whether a golden can be made of it if its messages are stored: it has no more than one run of `mcpGhost`. */
  readonly canBeGolden: boolean;
}

// Few spans have what is asked for: no attributes of the others are read.
const RELATED = `WITH own AS MATERIALIZED (
    SELECT shadow_parent_trace_id AS parent, prompt_hash AS hash, start_time FROM mcp_traces
    WHERE trace_id = $1::uuid AND (shadow_parent_trace_id IS NOT NULL OR prompt_hash IS NOT NULL)
  ), prompt AS MATERIALIZED (SELECT hash FROM own WHERE hash IS NOT NULL ORDER BY start_time LIMIT 1)
  SELECT (SELECT replace(parent::text, '-', '') FROM own WHERE parent IS NOT NULL LIMIT 1) AS primary,
    ARRAY(SELECT DISTINCT replace(s.trace_id::text, '-', '') FROM mcp_runs r JOIN mcp_runs s
        ON s.is_shadow AND s.started_at BETWEEN r.started_at - interval '10 minutes' AND r.started_at + interval '10 minutes'
      JOIN mcp_traces t ON t.trace_id = s.trace_id AND t.shadow_parent_trace_id = r.trace_id
      WHERE r.trace_id = $1::uuid LIMIT 20) AS shadows,
    (SELECT hash FROM prompt) AS "promptHash",
    (SELECT count(*)::float8 FROM (SELECT DISTINCT t.trace_id FROM mcp_traces t
      WHERE t.prompt_hash = (SELECT hash FROM prompt) AND t.trace_id <> $1::uuid LIMIT 100) AS others) AS "samePrompt",
    (SELECT count(*) FROM mcp_traces WHERE trace_id = $1::uuid AND operation = 'invoke_agent'
        AND attributes ? 'observatory.stop_reason') <= 1 AS "canBeGolden"`;

/** What a run has to do with others, and whether it can be a golden. @throws the database's errors. */
export async function readRelated(db: Queryable, id: string): Promise<RelatedRuns> {
  const [row] = await ask(db, RELATED, [id]);
  return row as unknown as RelatedRuns;
}

const MAX_FOUND = 1000;

/** Ids of the spans of a run that hold a text, case ignored, in the order of their start. @throws the database's errors. */
export async function findSpans(db: Queryable, id: string, text: string): Promise<readonly string[]> {
  const like = `%${cleanText(text).replace(/[\\%_]/gu, '\\$&')}%`;
  const rows = await ask(
    db,
    `SELECT right(replace(span_id::text, '-', ''), 16) AS id FROM mcp_traces
      WHERE trace_id = $1::uuid AND (span_name ILIKE $2 OR status_message ILIKE $2 OR attributes::text ILIKE $2)
      ORDER BY start_time, span_id LIMIT ${MAX_FOUND}`,
    [id, like],
  );
  return rows.map((row) => String(row.id));
}

/** Parts of a run that are drawn in a list, at most: what went wrong, then what began first. */
const MAX_PARTS = 60;

/** A part of the shape of a run: when, in milliseconds since 1970, and what it was. */
export interface ShapePart {
  readonly startMs: number;
  readonly endMs: number;
  readonly kind: 'model' | 'tool' | 'held' | 'failed';
}

/** What runs did over their time, by run: model and tool calls, waits, failures. @throws the database's errors. */
export async function readShapes(
  db: Queryable,
  ids: readonly string[],
): Promise<Readonly<Record<string, readonly ShapePart[]>>> {
  if (ids.length === 0) return {};
  const rows = await ask(
    db,
    `SELECT parts.* FROM unnest($1::text[]) AS wanted (id), LATERAL (
      SELECT wanted.id, (extract(epoch FROM mcp_traces_time(start_time)) * 1000)::float8 AS "startMs",
        (extract(epoch FROM mcp_traces_time(end_time)) * 1000)::float8 AS "endMs",
        CASE WHEN span_name = 'approval_wait' THEN 'held' ELSE CASE ${SPAN_STATUS} WHEN 'held' THEN 'held' WHEN 'ok' THEN
          CASE WHEN cost_source IS NOT NULL OR prompt_tokens IS NOT NULL THEN 'model' ELSE 'tool' END ELSE 'failed' END END AS kind
      FROM mcp_traces WHERE trace_id = wanted.id::uuid AND (cost_source IS NOT NULL OR prompt_tokens IS NOT NULL
        OR method = 'tools/call' OR operation = 'execute_tool' OR span_name = 'approval_wait'
        OR policy_decision IS NOT NULL AND ${SPAN_STATUS} <> 'ok')
      ORDER BY ${SPAN_STATUS} = 'ok', start_time LIMIT ${MAX_PARTS}
    ) AS parts`,
    [ids],
  );
  const shapes: Record<string, ShapePart[]> = {};
  for (const { id, ...part } of rows) {
    shapes[String(id)] ??= [];
    shapes[String(id)]?.push(part as unknown as ShapePart);
  }
  return shapes;
}
