/**
 * The field dictionary: one table from which attribute names, the row mapping, the SQL column list, the JSON Schema
 * of a row and the README's field table derive. To add a field, add a line here, a migration in `schema/`, and run
 * `npm run generate`; the tests fail until all of them agree.
 *
 * Terms: a *column* is the snake_case word used in SQL, files and wire documents. Its *attribute* is
 * `observatory.<column>`, which this package sets. Its *sources* are attributes of the standard and of other
 * instrumentations that mean the same; they are read, in order, when the attribute is absent.
 */
import * as semconv from './semconv.ts';

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
  /** Meaning and unit, as the README prints it. */
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

/** A field read from attributes: `observatory.<column>` first, then `sources`. */
function attribute<C extends string, S extends ScalarSql>(
  column: C,
  sqlType: S,
  description: string,
  sources: readonly string[] = [],
) {
  const wireType = WIRE_OF_SQL[sqlType];
  return { column, sqlType, wireType, origin: 'attribute', sources, notNull: false, description } as const;
}

/** A field that every span has: ids, times, name, status, and the remainder as JSON. */
function intrinsic<C extends string, S extends SqlType, W extends WireType, N extends boolean>(
  column: C,
  sqlType: S,
  wireType: W,
  notNull: N,
  description: string,
) {
  return { column, sqlType, wireType, origin: 'span', sources: [], notNull, description } as const;
}

export const FIELDS = [
  intrinsic(
    'trace_id',
    'uuid',
    'string',
    true,
    'End-to-end request correlation: the 16 bytes of the OTel trace id',
  ),
  intrinsic(
    'span_id',
    'uuid',
    'string',
    true,
    'Span-level unique id: the 8-byte OTel span id, left-padded with zeros',
  ),
  intrinsic(
    'parent_span_id',
    'uuid',
    'string',
    false,
    'Parent linkage for nested spans, padded like `span_id`',
  ),
  {
    column: 'service',
    sqlType: 'text',
    wireType: 'string',
    origin: 'resource',
    sources: [semconv.ATTR_SERVICE_NAME],
    notNull: false,
    description: 'Service boundary identifier',
  },
  attribute('model', 'text', 'Model used for generation; the answering one where the provider names it', [
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
  ]),
  attribute('tool_name', 'text', 'MCP tool or function called', [
    semconv.ATTR_GEN_AI_TOOL_NAME,
    'tool.name',
    'ai.toolCall.name',
  ]),
  intrinsic('start_time', 'timestamptz', 'string', true, 'When the span started, to the microsecond'),
  intrinsic('end_time', 'timestamptz', 'string', true, 'When the span ended, to the microsecond'),
  attribute(
    'prompt_tokens',
    'integer',
    'Input tokens, cached ones included; estimated only if `tokens_estimated`',
    [
      semconv.ATTR_GEN_AI_USAGE_INPUT_TOKENS,
      'gen_ai.usage.prompt_tokens',
      'llm.token_count.prompt',
      'llm.usage.prompt_tokens',
      'ai.usage.inputTokens',
      'ai.usage.promptTokens',
      'ai.usage.tokens',
    ],
  ),
  attribute(
    'completion_tokens',
    'integer',
    'Output tokens, reasoning included; estimated only if `tokens_estimated`',
    [
      semconv.ATTR_GEN_AI_USAGE_OUTPUT_TOKENS,
      'gen_ai.usage.completion_tokens',
      'llm.token_count.completion',
      'llm.usage.completion_tokens',
      'ai.usage.outputTokens',
      'ai.usage.completionTokens',
    ],
  ),
  attribute(
    'cost_usd',
    'double precision',
    'Estimated spend in US dollars; absent when the price is not known',
  ),
  attribute('retries', 'integer', 'Attempts made after the first one', ['http.request.resend_count']),
  attribute('fallback_used', 'boolean', 'Whether a fallback answered instead of the model'),
  attribute('confidence', 'double precision', 'Confidence signal from the application or the model (0..1)'),
  attribute('risk_tier', 'text', 'Manual risk classification'),
  attribute('prompt_template_id', 'text', 'Template and version the prompt was made from', [
    'gen_ai.prompt.name',
  ]),
  attribute('prompt_hash', 'text', 'SHA-256 of the exact final prompt, UTF-8, hex'),
  attribute(
    'normalized_prompt_hash',
    'text',
    'SHA-256 of the prompt without UUIDs, timestamps and numbers, hex',
  ),
  attribute('answer_hash', 'text', 'SHA-256 of the answer, lower-cased, white space collapsed, hex'),
  attribute('grounding_score', 'double precision', 'Overlap of the answer with the retrieved context (0..1)'),
  attribute('verifier_score', 'double precision', 'Local verifier goodness (0..1)'),
  attribute(
    'self_consistency_score',
    'double precision',
    'Overlap of the answer with a second answer (0..1)',
  ),
  attribute(
    'numeric_variance_score',
    'double precision',
    'Numeric instability in the answer or answers (0..1)',
  ),
  attribute('tool_claim_mismatch', 'boolean', 'The answer claims success where the tool reported failure'),
  attribute('hallucination_risk_score', 'double precision', 'Composite of the signals above (0..1)'),
  attribute('hallucination_risk_level', 'text', 'Bucket of the risk score: low, medium or high'),
  attribute('prompt_size_chars', 'integer', 'Prompt size in Unicode code points'),
  attribute('is_shadow', 'boolean', 'Whether this is a shadow evaluation'),
  attribute('shadow_parent_trace_id', 'uuid', 'Trace of the primary run that this shadow run accompanies'),
  attribute('gate_blocked', 'boolean', 'Whether a gate stopped the call or its answer'),
  attribute('fallback_type', 'text', 'Fallback strategy used: template, human_review or draft_only'),
  attribute(
    'fallback_reason',
    'text',
    'Why the fallback was used, e.g. low_confidence, tool_error, policy_violation',
  ),
  intrinsic('span_name', 'text', 'string', true, 'Name of the span'),
  intrinsic('span_kind', 'text', 'string', true, 'internal, server, client, producer or consumer'),
  intrinsic('status_code', 'text', 'string', true, 'unset, ok or error'),
  intrinsic('status_message', 'text', 'string', false, 'Description of an error status'),
  intrinsic('scope', 'text', 'string', false, 'Instrumentation scope that made the span'),
  attribute('provider', 'text', 'Model provider, in the words of the semantic conventions', [
    semconv.ATTR_GEN_AI_PROVIDER_NAME,
    'gen_ai.system',
    'llm.provider',
    'llm.system',
    'ai.model.provider',
  ]),
  attribute('operation', 'text', 'What the span does: chat, embeddings, execute_tool, invoke_agent ...', [
    semconv.ATTR_GEN_AI_OPERATION_NAME,
    'llm.request.type',
    'ai.operationId',
  ]),
  attribute('method', 'text', 'MCP method, e.g. tools/call', [semconv.ATTR_MCP_METHOD_NAME]),
  attribute('session_id', 'text', 'MCP session, or the session the application governs by', [
    semconv.ATTR_MCP_SESSION_ID,
    'session.id',
  ]),
  attribute('conversation_id', 'text', 'Conversation or thread the call belongs to', [
    semconv.ATTR_GEN_AI_CONVERSATION_ID,
  ]),
  attribute('response_id', 'text', 'Id the provider gave its response', [
    semconv.ATTR_GEN_AI_RESPONSE_ID,
    'ai.response.id',
  ]),
  attribute('finish_reason', 'text', 'Why the model stopped; several are joined by a comma', [
    semconv.ATTR_GEN_AI_RESPONSE_FINISH_REASONS,
    'anthropic.message.stop_reason',
    'llm.response.finish_reason',
    'llm.finish_reason',
    'ai.response.finishReason',
  ]),
  attribute('cached_prompt_tokens', 'integer', 'Part of `prompt_tokens` read from the provider cache', [
    semconv.ATTR_GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS,
    'gen_ai.usage.cache_read_input_tokens',
    'llm.token_count.prompt_details.cache_read',
    'ai.usage.inputTokenDetails.cacheReadTokens',
    'ai.usage.cachedInputTokens',
  ]),
  attribute('cache_write_tokens', 'integer', 'Part of `prompt_tokens` written to the provider cache', [
    semconv.ATTR_GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS,
    'gen_ai.usage.cache_write.input_tokens',
    'gen_ai.usage.cache_creation_input_tokens',
    'llm.token_count.prompt_details.cache_write',
    'ai.usage.inputTokenDetails.cacheWriteTokens',
  ]),
  attribute('reasoning_tokens', 'integer', 'Part of `completion_tokens` spent on reasoning', [
    semconv.ATTR_GEN_AI_USAGE_REASONING_OUTPUT_TOKENS,
    'gen_ai.usage.reasoning_tokens',
    'llm.token_count.completion_details.reasoning',
    'ai.usage.outputTokenDetails.reasoningTokens',
    'ai.usage.reasoningTokens',
  ]),
  attribute(
    'tokens_estimated',
    'boolean',
    'True when the provider gave no usage and the counts are our estimate',
  ),
  attribute('cost_source', 'text', 'Where the price came from: provider, override, genai-prices or unknown'),
  attribute('policy_decision', 'text', 'Decision of the policy gate: allow, deny or require_approval'),
  attribute('policy_reason', 'text', 'Reason code of the policy decision'),
  attribute('policy_hash', 'text', 'SHA-256 of the policy that decided, hex'),
  attribute('tool_hash', 'text', 'SHA-256 of the tool definition that was called, hex'),
  attribute('tool_args_hash', 'text', 'SHA-256 of the canonical (RFC 8785) tool arguments, hex'),
  attribute('verifier_reason', 'text', 'What the verifier objected to, comma-separated; ok when nothing'),
  attribute(
    'shadow_disagreement_score',
    'double precision',
    'Disagreement of shadow and primary answer (0..1)',
  ),
  attribute(
    'shadow_numeric_variance',
    'double precision',
    'Numeric difference of shadow and primary answer (0..1)',
  ),
  intrinsic('attributes', 'jsonb', 'object', true, 'Attributes that no column holds'),
  intrinsic('resource', 'jsonb', 'object', true, 'Resource attributes that no column holds'),
  intrinsic('events', 'jsonb', 'array', true, 'Span events'),
  intrinsic('links', 'jsonb', 'array', true, 'Span links'),
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
    : ValueOf<F['wireType']> | null;
};

/** Columns whose values are set as attributes. */
export type AttributeColumn = Extract<Field, { origin: 'attribute' }>['column'];

/** Values of {@link AttributeColumn}s by column, all optional: what enrichment and governance produce. */
export type FieldValues = {
  readonly [C in AttributeColumn]?: NonNullable<TraceRow[C]>;
};

/** Columns of `mcp_traces`, in the order of the table. */
export const COLUMNS: readonly Column[] = FIELDS.map((field) => field.column);

/** Looks a field up by its column. */
export function fieldOf(column: Column): FieldDefinition {
  const field = FIELDS_BY_COLUMN.get(column);
  if (field === undefined) throw new RangeError(`No field has the column '${column}'`);
  return field;
}

/** The attribute this package sets for a column, e.g. `observatory.prompt_hash`. */
export function attributeOf<C extends AttributeColumn>(column: C): `observatory.${C}` {
  return `observatory.${column}`;
}

const FIELDS_BY_COLUMN: ReadonlyMap<string, FieldDefinition> = new Map(FIELDS.map((f) => [f.column, f]));

/**
 * Span attribute names that hold a column's value, in reading order. A span may override a resource column, because one
 * process can record calls of several services.
 */
export function attributeNamesOf(field: FieldDefinition): readonly string[] {
  switch (field.origin) {
    case 'attribute':
      return [`observatory.${field.column}`, ...field.sources];
    case 'resource':
      return [`observatory.${field.column}`];
    case 'span':
      return [];
  }
}

/** Resource attribute names that hold a column's value. */
export function resourceNamesOf(field: FieldDefinition): readonly string[] {
  return field.origin === 'resource' ? field.sources : [];
}
