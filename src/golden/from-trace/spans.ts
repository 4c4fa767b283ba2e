import { SpanKind } from '@opentelemetry/api';
import { ObservatoryError, semconv } from '../../base/index.ts';
import type { SpanEventView, SpanView } from '../../interaction/index.ts';
import { canonicalUuid, type Queryable, uuidToSpanId } from '../../postgres/index.ts';

/** The columns of a span that a run is read from. */
export interface SpanRow {
  /** 16 hex digits. */
  readonly spanId: string;
  readonly parentId: string | null;
  readonly name: string;
  readonly operation: string | null;
  readonly method: string | null;
  readonly provider: string | null;
  readonly model: string | null;
  readonly toolName: string | null;
  readonly serverName: string | null;
  /** In the words of the table: `client`, `server`, `internal`. */
  readonly kind: string | null;
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
  /** What readers of any dialect take. */
  readonly view: SpanView;
}

/** More than any run has. */
const MAX_SPANS = 20_000;

const SELECT = `SELECT span_id::text AS span_id, parent_span_id::text AS parent_span_id, span_name, operation, method,
  provider, model, tool_name, server_name, span_kind, scope, events::text AS events, finish_reason, response_id, status_code,
  extract(epoch FROM mcp_traces_time(start_time))::double precision * 1000 AS started_ms,
  extract(epoch FROM end_time)::double precision * 1000 AS ended_ms,
  prompt_tokens, completion_tokens, cached_prompt_tokens, cache_write_tokens, reasoning_tokens, tokens_estimated,
  attributes::text AS attributes
  FROM mcp_traces WHERE trace_id = $1 ORDER BY start_time, span_id LIMIT ${MAX_SPANS}`;

/**
 * The spans of a trace, in the order of their start.
 * @param traceId 32 hex digits, or the UUID in the table.
 * @throws ObservatoryError `INVALID_OPTION` for an invalid id, `TRACE_UNUSABLE` if the table has no such trace.
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
  return rows.map(readSpan);
}

function readSpan(row: Readonly<Record<string, unknown>>): SpanRow {
  const text = (name: string): string | null => (typeof row[name] === 'string' ? row[name] : null);
  const count = (name: string): number | null => (row[name] === null ? null : Number(row[name]));
  const attributes = JSON.parse(text('attributes') ?? '{}') as Record<string, unknown>;
  return {
    spanId: hexId(String(row.span_id)),
    parentId: row.parent_span_id === null ? null : hexId(String(row.parent_span_id)),
    name: String(row.span_name),
    operation: text('operation'),
    method: text('method'),
    provider: text('provider'),
    model: text('model'),
    toolName: text('tool_name'),
    serverName: text('server_name'),
    kind: text('span_kind'),
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
    attributes,
    view: {
      name: String(row.span_name),
      kind: text('span_kind') === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL,
      attributes: {
        ...attributes,
        [semconv.ATTR_GEN_AI_OPERATION_NAME]: text('operation') ?? undefined,
        [semconv.ATTR_MCP_METHOD_NAME]: text('method') ?? undefined,
      },
      events: JSON.parse(text('events') ?? '[]') as SpanEventView[],
      instrumentationScope: { name: text('scope') ?? '' },
    },
  };
}

/** Rows of other writers may have ids that are not OpenTelemetry span ids. */
function hexId(uuid: string): string {
  return uuidToSpanId(uuid) ?? uuid;
}

/** How to trace a run such that its spans hold its content. */
const HOW_TO_CAPTURE =
  'trace the run with captureContent: true (or OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true) without redactContent and OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT, then use the trace of that run';

export function textAt(span: SpanRow | undefined, name: string): string | undefined {
  const value = span?.attributes[name];
  return value === undefined || value === null ? undefined : String(value);
}

/** The error for a span without content. */
export function notCaptured(span: SpanRow): ObservatoryError {
  return unusable(`The span ${span.name} (${span.spanId}) holds no whole content: ${HOW_TO_CAPTURE}`);
}

/** The error for a trace that cannot become a golden. */
export function unusable(message: string): ObservatoryError {
  return new ObservatoryError('TRACE_UNUSABLE', message);
}
