/**
 * The field dictionary: one table from which attribute names, the row mapping, the SQL column list, the JSON Schema
 * of a row and docs/fields.md derive. To add a field, add a line here, a migration in `schema/`, and run
 * `npm run generate`; the tests fail until all of them agree.
 *
 * Terms: a *column* is the snake_case word used in SQL, files and wire documents. Its *attribute* is
 * `observatory.<column>`, which this package sets. Its *sources* are attributes of the standard and of other
 * instrumentations that mean the same; they are read, in order, when the attribute is absent.
 */
import * as semconv from './semconv.ts';
import type { UsageUnit } from './usage-dialect.ts';
import { toUsageAttributes } from './usage-names.ts';

/** SQL types of `mcp_traces`; the JSON form of each is {@link WireType}. */
export type SqlType = 'uuid' | 'text' | 'integer' | 'double precision' | 'boolean' | 'timestamptz' | 'jsonb';

/** JSON form of a value: ids, times and texts are strings. */
export type WireType = 'string' | 'integer' | 'number' | 'boolean' | 'object' | 'array';

/** Where a value comes from: the span itself, its resource, or attributes (which is the usual case). */
export type FieldOrigin = 'span' | 'resource' | 'attribute';

export interface FieldDefinition {
  readonly column: string;
  readonly sqlType: SqlType;
  readonly wireType: WireType;
  readonly origin: FieldOrigin;
  /**
   * Names read when `observatory.<column>` is absent; the first match wins. For `resource`, resource attribute names.
   */
  readonly sources: readonly string[];
  readonly notNull: boolean;
  /** A text that a program may also write otherwise: an id as a number, a list (joined by commas) as JSON. */
  readonly form?: 'id' | 'list';
  /** The value is a share, 0 to 1; others are not stored. */
  readonly isShare?: boolean;
  /** The words that a text may be; others are not stored. */
  readonly words?: readonly string[];
  /** Meaning and unit, as docs/fields.md prints it. */
  readonly description: string;
}

const WIRE_OF_SQL = {
  uuid: 'string',
  text: 'string',
  timestamptz: 'string',
  integer: 'integer',
  'double precision': 'number',
  boolean: 'boolean',
} as const satisfies Record<Exclude<SqlType, 'jsonb'>, WireType>;

type ScalarSql = keyof typeof WIRE_OF_SQL;

/** Makes fields of one type that are read from attributes: `observatory.<column>` first, then `sources`. */
function toAttributes<S extends ScalarSql>(sqlType: S) {
  const wireType = WIRE_OF_SQL[sqlType];
  return <C extends string>(column: C, description: string, sources: readonly string[] = []) =>
    ({ column, sqlType, wireType, origin: 'attribute', sources, notNull: false, description }) as const;
}

const text = toAttributes('text');
const integer = toAttributes('integer');
const real = toAttributes('double precision');
/** Under the names that all dialects have for the unit. */
const tokens = <C extends string>(column: C, unit: UsageUnit, description: string) =>
  integer(column, description, toUsageAttributes(unit));
const id = <C extends string>(column: C, description: string, sources: readonly string[]) =>
  ({ ...text(column, description, sources), form: 'id' }) as const;
/** A share: 0 to 1. */
const share = <C extends string>(column: C, description: string) =>
  ({ ...real(column, `${description} (0..1)`), isShare: true }) as const;

/** One of a few words. */
const word = <C extends string, W extends string>(column: C, words: readonly W[], description: string) =>
  ({ ...text(column, description), words }) as const;

const LEVELS = ['low', 'medium', 'high'] as const;

const flag = toAttributes('boolean');
const uuid = toAttributes('uuid');

/** A field that every span has: ids, times, name, status. */
function intrinsic<C extends string, S extends ScalarSql, N extends boolean>(
  column: C,
  sqlType: S,
  notNull: N,
  description: string,
) {
  const wireType = WIRE_OF_SQL[sqlType];
  return { column, sqlType, wireType, origin: 'span', sources: [], notNull, description } as const;
}

/** The remainder of a span. */
function json<C extends string, W extends 'object' | 'array'>(column: C, wireType: W, description: string) {
  const sqlType = 'jsonb';
  return { column, sqlType, wireType, origin: 'span', sources: [], notNull: true, description } as const;
}

export const FIELDS = [
  intrinsic('trace_id', 'uuid', true, 'End-to-end request correlation: the 16 bytes of the OTel trace id'),
  intrinsic('span_id', 'uuid', true, 'Span-level unique id: the 8-byte OTel span id, left-padded with zeros'),
  intrinsic('parent_span_id', 'uuid', false, 'Parent linkage for nested spans, padded like `span_id`'),
  {
    column: 'service',
    sqlType: 'text',
    wireType: 'string',
    origin: 'resource',
    sources: [semconv.ATTR_SERVICE_NAME],
    notNull: false,
    description: 'Service boundary identifier',
  },
  text('model', 'Model used for generation; the answering one where the provider names it', [
    semconv.ATTR_GEN_AI_RESPONSE_MODEL,
    semconv.ATTR_GEN_AI_REQUEST_MODEL,
    'llm.model_name',
    'embedding.model_name',
    'llm.response.model',
    'llm.request.model',
    'llm.response.model_name',
    'llm.request.model_name',
    'ai.response.model',
    'ai.model.id',
    'langfuse.observation.model.name',
  ]),
  text('tool_name', 'MCP tool or function called', [
    semconv.ATTR_GEN_AI_TOOL_NAME,
    'tool.name',
    'ai.toolCall.name',
  ]),
  intrinsic('start_time', 'timestamptz', true, 'When the span started, to the microsecond'),
  intrinsic('end_time', 'timestamptz', true, 'When the span ended, to the microsecond'),
  tokens(
    'prompt_tokens',
    'inputTokens',
    'Input tokens, cached ones included; estimated only if `tokens_estimated`',
  ),
  tokens(
    'completion_tokens',
    'outputTokens',
    'Output tokens, reasoning included; estimated only if `tokens_estimated`',
  ),
  real('cost_usd', 'Estimated spend in US dollars; absent when the price is not known'),
  integer('retries', 'Attempts made after the first one', [semconv.ATTR_HTTP_REQUEST_RESEND_COUNT]),
  flag('fallback_used', 'Whether a fallback answered instead of the model'),
  share('confidence', 'Confidence signal from the application or the model'),
  text('risk_tier', 'Manual risk classification'),
  text('prompt_template_id', 'Template and version the prompt was made from', [
    semconv.ATTR_GEN_AI_PROMPT_NAME,
  ]),
  text('prompt_hash', 'SHA-256 of the exact final prompt, UTF-8, hex'),
  text('normalized_prompt_hash', 'SHA-256 of the prompt without UUIDs, timestamps and numbers, hex'),
  text('answer_hash', 'SHA-256 of the answer, lower-cased, white space collapsed, hex'),
  share('grounding_score', 'Overlap of the answer with the retrieved context'),
  share('verifier_score', '1 less `evidence_risk_score` where that is known, else local verifier goodness'),
  share('self_consistency_score', 'Overlap of the answer with a second answer'),
  share('numeric_variance_score', 'Numeric instability in the answer or answers'),
  flag('tool_claim_mismatch', 'The answer claims success where the tool reported failure'),
  share('hallucination_risk_score', 'Composite of the signals above'),
  word(
    'hallucination_risk_level',
    ['low', 'medium', 'high'],
    'Bucket of the risk score: low, medium or high',
  ),
  integer('prompt_size_chars', 'Prompt size in Unicode code points'),
  flag('is_shadow', 'Whether this is a shadow evaluation'),
  uuid('shadow_parent_trace_id', 'Trace of the primary run that this shadow run accompanies'),
  flag('gate_blocked', 'Whether a gate stopped the call or its answer'),
  word(
    'fallback_type',
    ['template', 'human_review', 'draft_only', 'unspecified'],
    'Fallback strategy used: template, human_review or draft_only',
  ),
  text('fallback_reason', 'Why the fallback was used, e.g. low_confidence, tool_error, policy_violation'),
  intrinsic('span_name', 'text', true, 'Name of the span'),
  intrinsic('span_kind', 'text', true, 'internal, server, client, producer or consumer'),
  intrinsic('status_code', 'text', true, 'unset, ok or error'),
  intrinsic('status_message', 'text', false, 'Description of an error status'),
  intrinsic('scope', 'text', false, 'Instrumentation scope that made the span'),
  text('provider', 'Model provider, in the words of the semantic conventions', [
    semconv.ATTR_GEN_AI_PROVIDER_NAME,
    semconv.ATTR_GEN_AI_SYSTEM,
    'llm.provider',
    'llm.system',
    'ai.model.provider',
  ]),
  text('operation', 'What the span does: chat, embeddings, execute_tool, invoke_agent ...', [
    semconv.ATTR_GEN_AI_OPERATION_NAME,
    'llm.request.type',
    'ai.operationId',
  ]),
  text('method', 'MCP method, e.g. tools/call', [semconv.ATTR_MCP_METHOD_NAME]),
  id('session_id', 'MCP session, the session the application governs by, or else the connection', [
    semconv.ATTR_MCP_SESSION_ID,
    'session.id',
    'langfuse.session.id',
    'ai.telemetry.metadata.sessionId',
    'traceloop.association.properties.session_id',
    'langsmith.metadata.session_id',
    'genkit:sessionId',
    'observatory.connection_id',
  ]),
  id('conversation_id', 'Conversation or thread the call belongs to', [
    semconv.ATTR_GEN_AI_CONVERSATION_ID,
    'traceloop.association.properties.thread_id',
    'langsmith.metadata.thread_id',
  ]),
  id('response_id', 'Id the provider gave its response', [semconv.ATTR_GEN_AI_RESPONSE_ID, 'ai.response.id']),
  {
    ...text('finish_reason', 'Why the model stopped; several are joined by a comma', [
      semconv.ATTR_GEN_AI_RESPONSE_FINISH_REASONS,
      'anthropic.message.stop_reason',
      'llm.response.finish_reason',
      'llm.finish_reason',
      'gen_ai.response.finish_reason',
      'gen_ai.completion.0.finish_reason',
      'ai.response.finishReason',
    ]),
    form: 'list',
  },
  tokens('cached_prompt_tokens', 'cacheReadTokens', 'Part of `prompt_tokens` read from the provider cache'),
  tokens('cache_write_tokens', 'cacheWriteTokens', 'Part of `prompt_tokens` written to the provider cache'),
  tokens('reasoning_tokens', 'reasoningTokens', 'Part of `completion_tokens` spent on reasoning'),
  flag('tokens_estimated', 'True when the provider gave no usage and the counts are our estimate'),
  text(
    'cost_source',
    'Where the cost came from: provider, instrumentation, override or genai-prices; without one unknown, or unpriced: and what has no price',
  ),
  text('policy_decision', 'Decision of the policy gate: allow, deny or require_approval'),
  text('policy_reason', 'Reason code of the policy decision'),
  text('policy_hash', 'SHA-256 of the policy that decided, hex'),
  text('tool_hash', 'SHA-256 of the tool definition that was called, hex'),
  text('tool_args_hash', 'SHA-256 of the canonical (RFC 8785) tool arguments, hex'),
  text('verifier_reason', 'What the verifier objected to, comma-separated; ok when nothing'),
  share('shadow_disagreement_score', 'Disagreement of shadow and primary answer'),
  share('shadow_numeric_variance', 'Numeric difference of shadow and primary answer'),
  json('attributes', 'object', 'Attributes that no column holds'),
  json('resource', 'object', 'Resource attributes that no column holds'),
  json('events', 'array', 'Span events'),
  json('links', 'array', 'Span links'),
  share('evidence_risk_score', 'How unlikely the answer is to be true to its tool calls and documents'),
  word(
    'evidence_risk_level',
    LEVELS,
    'high: contradicted, medium: facts not found, low: neither; null where nothing could be checked',
  ),
  share('evidence_support', 'Share of the claims that could be checked which have no finding'),
  text(
    'evidence_findings',
    'Contradicted places of the answer and facts not found: JSON list of kinds and offsets, no text',
  ),
  share('evidence_sampled', 'Share of the documents that was read, where not all was'),
  text('server_name', 'MCP server, by the name it gives itself: not verified', [
    'observatory.mcp.server.name',
    'mcp.server.name',
    // What the host calls it, where its own name is not known.
    'observatory.mcp_server',
  ]),
  text('client_name', 'MCP client, by the name it gives itself: not verified', [
    'observatory.mcp.client.name',
    'mcp.client.name',
  ]),
  id('user_id', 'User the call was made for, as the application names it', [
    'user.id',
    'enduser.id',
    'langfuse.user.id',
    'ai.telemetry.metadata.userId',
    'traceloop.association.properties.user_id',
    'langsmith.metadata.user_id',
    'llm.user',
    'usr.id',
  ]),
  text(
    'connection_id',
    'One connection of an MCP client, or one client of a stateless server; chosen at random',
  ),
  text('run_id', 'Run of an agent or of the orchestrator that the call belongs to'),
  text(
    'counted_on',
    'Where the call, with its tokens and cost, is counted instead: children, or the id of another span of the same call',
  ),
  flag('evidence_partial', 'True when the evidence scores may have seen only a part of the tool calls'),
  integer('offered_tools', 'Tools whose definitions the model call carried'),
  integer('offered_tools_tokens', 'Part of `prompt_tokens` that these definitions took'),
  real('offered_tools_cost_usd', 'Part of `cost_usd` that these definitions took'),
  text('offered_tools_hash', 'SHA-256 of the definitions offered, hex: the same for the same tools'),
  text(
    'offered_tools_list',
    'Servers, tools and estimated tokens of the definitions, JSON; on the first call with them and once a minute',
  ),
  text(
    'usage_units',
    'What else the cost depends on, JSON: one-hour cache writes, audio, images, searches, modes, single requests',
  ),
  flag('tokens_disagree', 'True when the counts do not add up to the total reported with them'),
] as const satisfies readonly FieldDefinition[];

type Field = (typeof FIELDS)[number];

/** A column of `mcp_traces`. */
export type Column = Field['column'];

type ValueOf<W extends WireType> = W extends 'string'
  ? string
  : W extends 'integer' | 'number'
    ? number
    : W extends 'boolean'
      ? boolean
      : W extends 'array'
        ? readonly unknown[]
        : Readonly<Record<string, unknown>>;

/** One row of `mcp_traces` in its wire form: ids as UUID text, times as ISO 8601 UTC text with microseconds. */
export type TraceRow = {
  readonly [F in Field as F['column']]: F['notNull'] extends true
    ? ValueOf<F['wireType']>
    : (F extends { readonly words: readonly (infer W)[] } ? W : ValueOf<F['wireType']>) | null;
};

/** Columns whose values are set as attributes. */
export type AttributeColumn = Extract<Field, { origin: 'attribute' }>['column'];

/** Values of {@link AttributeColumn}s by column, all optional: what enrichment and governance produce. */
export type FieldValues = {
  readonly [C in AttributeColumn]?: NonNullable<TraceRow[C]>;
};

/** Columns of `mcp_traces`, in the order of the table. */
export const COLUMNS: readonly Column[] = FIELDS.map((field) => field.column);

/** The attribute this package sets for a column, e.g. `observatory.prompt_hash`. */
export function toAttribute<C extends AttributeColumn>(column: C): `observatory.${C}` {
  return ATTRIBUTES[column] as `observatory.${C}`;
}

/** Written once: a name that is put together for each field of each span costs more than the field. */
const ATTRIBUTES = Object.fromEntries(FIELDS.map(({ column }) => [column, `observatory.${column}`])) as {
  readonly [C in AttributeColumn]: `observatory.${C}`;
};
