import { ObservatoryError } from '../../base/index.ts';
import { canonicalUuid, type Queryable, uuidToSpanId } from '../../postgres/index.ts';

/** What a run is read from: the columns of a span that matter here. */
export interface SpanRow {
  /** 16 hex digits, as OpenTelemetry writes it. */
  readonly spanId: string;
  readonly parentId: string | null;
  readonly name: string;
  readonly operation: string | null;
  readonly method: string | null;
  readonly provider: string | null;
  readonly model: string | null;
  readonly toolName: string | null;
  readonly finishReason: string | null;
  readonly responseId: string | null;
  readonly failed: boolean;
  readonly startedMs: number;
  readonly endedMs: number;
  readonly tokens: {
    readonly input: number | null;
    readonly output: number | null;
    readonly cacheRead: number | null;
    readonly cacheWrite: number | null;
    readonly reasoning: number | null;
    readonly estimated: boolean;
  };
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** A trace of more spans is none of one run. */
const MAX_SPANS = 20_000;

const SELECT = `SELECT span_id::text AS span_id, parent_span_id::text AS parent_span_id, span_name, operation, method,
  provider, model, tool_name, finish_reason, response_id, status_code,
  extract(epoch FROM start_time)::double precision * 1000 AS started_ms,
  extract(epoch FROM end_time)::double precision * 1000 AS ended_ms,
  prompt_tokens, completion_tokens, cached_prompt_tokens, cache_write_tokens, reasoning_tokens, tokens_estimated,
  attributes::text AS attributes
  FROM mcp_traces WHERE trace_id = $1 ORDER BY start_time, span_id LIMIT ${MAX_SPANS}`;

/**
 * The spans of a trace, in the order of their start.
 * @param traceId 32 hex digits, or the UUID that stands in the table.
 * @throws ObservatoryError `INVALID_OPTION` for an id that is none, `TRACE_UNUSABLE` when the table has no such trace.
 */
export async function readSpans(db: Queryable, traceId: string): Promise<SpanRow[]> {
  const uuid = canonicalUuid(traceId);
  if (uuid === undefined) {
    throw new ObservatoryError(
      'INVALID_OPTION',
      `Expected a trace id of 32 hex digits or a UUID, got '${traceId}'`,
    );
  }
  const { rows } = await db.query(SELECT, [uuid]);
  if (rows.length === 0) {
    throw new ObservatoryError('TRACE_UNUSABLE', `mcp_traces holds no span of the trace ${traceId}`);
  }
  return rows.map(spanOf);
}

function spanOf(row: Readonly<Record<string, unknown>>): SpanRow {
  const text = (name: string): string | null => (typeof row[name] === 'string' ? row[name] : null);
  const count = (name: string): number | null => (row[name] === null ? null : Number(row[name]));
  return {
    spanId: hexId(String(row.span_id)),
    parentId: row.parent_span_id === null ? null : hexId(String(row.parent_span_id)),
    name: String(row.span_name),
    operation: text('operation'),
    method: text('method'),
    provider: text('provider'),
    model: text('model'),
    toolName: text('tool_name'),
    finishReason: text('finish_reason'),
    responseId: text('response_id'),
    failed: row.status_code === 'error',
    startedMs: Number(row.started_ms),
    endedMs: Number(row.ended_ms),
    tokens: {
      input: count('prompt_tokens'),
      output: count('completion_tokens'),
      cacheRead: count('cached_prompt_tokens'),
      cacheWrite: count('cache_write_tokens'),
      reasoning: count('reasoning_tokens'),
      estimated: row.tokens_estimated === true,
    },
    attributes: JSON.parse(text('attributes') ?? '{}') as Record<string, unknown>,
  };
}

/** Rows of other writers may hold ids that are no span ids of OpenTelemetry. */
function hexId(uuid: string): string {
  return uuidToSpanId(uuid) ?? uuid;
}
