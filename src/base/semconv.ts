/**
 * Pinned copies of the OpenTelemetry names that this package writes and reads.
 *
 * Snapshot: core semantic-conventions v1.41.1, the last release that holds the GenAI and MCP text. They are copied
 * because `@opentelemetry/semantic-conventions/incubating` forbids use by instrumentation libraries at run time.
 */
export const SEMCONV_VERSION = '1.41.1';

/**
 * Whether names are wanted that the conventions do not have yet: `OTEL_SEMCONV_STABILITY_OPT_IN` contains
 * `gen_ai_latest_experimental`.
 */
export function wantsComingNames(env: Readonly<Record<string, string | undefined>> = process.env): boolean {
  return (env.OTEL_SEMCONV_STABILITY_OPT_IN ?? '').split(',').some((word) => word.trim() === COMING_NAMES);
}

const COMING_NAMES = 'gen_ai_latest_experimental';

export const ATTR_SERVICE_NAME = 'service.name';
export const ATTR_ERROR_TYPE = 'error.type';
export const ATTR_SERVER_ADDRESS = 'server.address';
export const ATTR_SERVER_PORT = 'server.port';
export const ATTR_NETWORK_TRANSPORT = 'network.transport';

export const ATTR_GEN_AI_OPERATION_NAME = 'gen_ai.operation.name';
export const ATTR_GEN_AI_PROVIDER_NAME = 'gen_ai.provider.name';
/** Before 1.37; others still write it. */
export const ATTR_GEN_AI_SYSTEM = 'gen_ai.system';
export const ATTR_GEN_AI_CONVERSATION_ID = 'gen_ai.conversation.id';
export const ATTR_GEN_AI_REQUEST_MODEL = 'gen_ai.request.model';
export const ATTR_GEN_AI_RESPONSE_MODEL = 'gen_ai.response.model';
export const ATTR_GEN_AI_RESPONSE_ID = 'gen_ai.response.id';
export const ATTR_GEN_AI_RESPONSE_FINISH_REASONS = 'gen_ai.response.finish_reasons';
export const ATTR_GEN_AI_USAGE_INPUT_TOKENS = 'gen_ai.usage.input_tokens';
export const ATTR_GEN_AI_USAGE_OUTPUT_TOKENS = 'gen_ai.usage.output_tokens';
export const ATTR_GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS = 'gen_ai.usage.cache_read.input_tokens';
export const ATTR_GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS = 'gen_ai.usage.cache_creation.input_tokens';
export const ATTR_GEN_AI_USAGE_REASONING_OUTPUT_TOKENS = 'gen_ai.usage.reasoning.output_tokens';
export const ATTR_GEN_AI_INPUT_MESSAGES = 'gen_ai.input.messages';
export const ATTR_GEN_AI_OUTPUT_MESSAGES = 'gen_ai.output.messages';
export const ATTR_GEN_AI_SYSTEM_INSTRUCTIONS = 'gen_ai.system_instructions';
export const ATTR_GEN_AI_TOOL_DEFINITIONS = 'gen_ai.tool.definitions';
export const ATTR_GEN_AI_TOOL_NAME = 'gen_ai.tool.name';
export const ATTR_GEN_AI_TOOL_CALL_ID = 'gen_ai.tool.call.id';
export const ATTR_GEN_AI_TOOL_CALL_ARGUMENTS = 'gen_ai.tool.call.arguments';
export const ATTR_GEN_AI_TOOL_CALL_RESULT = 'gen_ai.tool.call.result';

export const ATTR_MCP_METHOD_NAME = 'mcp.method.name';
export const ATTR_MCP_SESSION_ID = 'mcp.session.id';
export const ATTR_MCP_PROTOCOL_VERSION = 'mcp.protocol.version';
export const ATTR_MCP_RESOURCE_URI = 'mcp.resource.uri';
export const ATTR_GEN_AI_PROMPT_NAME = 'gen_ai.prompt.name';
export const ATTR_JSONRPC_REQUEST_ID = 'jsonrpc.request.id';
export const ATTR_RPC_RESPONSE_STATUS_CODE = 'rpc.response.status_code';
export const ATTR_NETWORK_PROTOCOL_NAME = 'network.protocol.name';
export const ATTR_NETWORK_PROTOCOL_VERSION = 'network.protocol.version';
export const ATTR_CLIENT_ADDRESS = 'client.address';
export const ATTR_CLIENT_PORT = 'client.port';

export const EVENT_GEN_AI_EVALUATION_RESULT = 'gen_ai.evaluation.result';
export const ATTR_GEN_AI_EVALUATION_NAME = 'gen_ai.evaluation.name';
export const ATTR_GEN_AI_EVALUATION_SCORE_VALUE = 'gen_ai.evaluation.score.value';
export const ATTR_GEN_AI_EVALUATION_SCORE_LABEL = 'gen_ai.evaluation.score.label';
export const ATTR_GEN_AI_EVALUATION_EXPLANATION = 'gen_ai.evaluation.explanation';

/** Proposed for the conventions; set only if {@link wantsComingNames}. */
export const EVENT_GEN_AI_TOOL_CALL_DECISION = 'gen_ai.tool.call.decision';
export const ATTR_GEN_AI_TOOL_CALL_DECISION_OUTCOME = 'gen_ai.tool.call.decision.outcome';
/** As of semantic-conventions-genai#427: what a guardrail found, and what was done about it. */
export const ATTR_GEN_AI_GUARDRAIL_COMPONENT_NAME = 'gen_ai.guardrail.component.name';
export const ATTR_GEN_AI_GUARDRAIL_TARGET_TYPE = 'gen_ai.guardrail.target.type';
export const ATTR_GEN_AI_GUARDRAIL_VERDICT_TYPE = 'gen_ai.guardrail.verdict.type';
export const ATTR_GEN_AI_GUARDRAIL_VERDICT_REASON = 'gen_ai.guardrail.verdict.reason';
export const ATTR_GEN_AI_GUARDRAIL_ACTION_TYPE = 'gen_ai.guardrail.action.type';

export const GEN_AI_OPERATION_NAME_VALUE_EXECUTE_TOOL = 'execute_tool';
export const ERROR_TYPE_VALUE_TOOL_ERROR = 'tool_error';
export const ERROR_TYPE_VALUE_OTHER = '_OTHER';

export const ATTR_HTTP_RESPONSE_STATUS_CODE = 'http.response.status_code';
export const ATTR_HTTP_REQUEST_RESEND_COUNT = 'http.request.resend_count';

export const ATTR_GEN_AI_OUTPUT_TYPE = 'gen_ai.output.type';
export const ATTR_GEN_AI_REQUEST_CHOICE_COUNT = 'gen_ai.request.choice.count';
export const ATTR_GEN_AI_REQUEST_ENCODING_FORMATS = 'gen_ai.request.encoding_formats';
export const ATTR_GEN_AI_REQUEST_FREQUENCY_PENALTY = 'gen_ai.request.frequency_penalty';
export const ATTR_GEN_AI_REQUEST_MAX_TOKENS = 'gen_ai.request.max_tokens';
export const ATTR_GEN_AI_REQUEST_PRESENCE_PENALTY = 'gen_ai.request.presence_penalty';
export const ATTR_GEN_AI_REQUEST_SEED = 'gen_ai.request.seed';
export const ATTR_GEN_AI_REQUEST_STOP_SEQUENCES = 'gen_ai.request.stop_sequences';
export const ATTR_GEN_AI_REQUEST_STREAM = 'gen_ai.request.stream';
export const ATTR_GEN_AI_REQUEST_TEMPERATURE = 'gen_ai.request.temperature';
export const ATTR_GEN_AI_REQUEST_TOP_K = 'gen_ai.request.top_k';
export const ATTR_GEN_AI_REQUEST_TOP_P = 'gen_ai.request.top_p';
export const ATTR_GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK = 'gen_ai.response.time_to_first_chunk';
export const ATTR_GEN_AI_EMBEDDINGS_DIMENSION_COUNT = 'gen_ai.embeddings.dimension.count';

export const ATTR_OPENAI_API_TYPE = 'openai.api.type';
export const ATTR_OPENAI_REQUEST_SERVICE_TIER = 'openai.request.service_tier';
export const ATTR_OPENAI_RESPONSE_SERVICE_TIER = 'openai.response.service_tier';
export const ATTR_OPENAI_RESPONSE_SYSTEM_FINGERPRINT = 'openai.response.system_fingerprint';

/** The name Anthropic's own spans use; the one-hour part of the cache write has another price. */
export const ATTR_ANTHROPIC_CACHE_WRITE_1H = 'anthropic.usage.cache_creation.ephemeral_1h_input_tokens';

/** Anthropic's name for the tier that served the call, which prices differ by. */
export const ATTR_ANTHROPIC_RESPONSE_SERVICE_TIER = 'anthropic.response.service_tier';

/** A name of no convention yet, which AWS, LangSmith and others use as that of Anthropic and OpenAI. */
export const ATTR_GEN_AI_RESPONSE_SERVICE_TIER = 'gen_ai.response.service_tier';

/** An effect that a policy lets happen once, as the policy names it. */
export const ATTR_EFFECT_NAME = 'observatory.effect_name';
/** SHA-256 of the effect with its arguments, hex. */
export const ATTR_EFFECT_KEY = 'observatory.effect_key';
/** Its outcome: `done`, `failed`, `unknown` or `not_made`; for a refused call, the state of the earlier one. */
export const ATTR_EFFECT_OUTCOME = 'observatory.effect_outcome';
/** How many tool calls the answer asks the application to make; absent for none. */
export const ATTR_TOOL_CALL_COUNT = 'observatory.tool_call_count';
/**
 * Why a span ended before its response: `closed` by the reader of a stream, `abandoned` unread, or `cut` by the other
 * side, which ended the stream without the provider's last word. Absent otherwise.
 */
export const ATTR_STREAM_END = 'observatory.stream_end';

export const GEN_AI_OPERATION_NAME_VALUE_CHAT = 'chat';
export const GEN_AI_OPERATION_NAME_VALUE_EMBEDDINGS = 'embeddings';
export const GEN_AI_OPERATION_NAME_VALUE_GENERATE_CONTENT = 'generate_content';
export const GEN_AI_OPERATION_NAME_VALUE_TEXT_COMPLETION = 'text_completion';

export const ATTR_SERVICE_INSTANCE_ID = 'service.instance.id';
export const ATTR_GEN_AI_AGENT_NAME = 'gen_ai.agent.name';
export const ATTR_GEN_AI_WORKFLOW_NAME = 'gen_ai.workflow.name';
export const ATTR_GEN_AI_TOOL_TYPE = 'gen_ai.tool.type';
export const ATTR_GEN_AI_TOKEN_TYPE = 'gen_ai.token.type';
/** Of drafts of the conventions. */
export const ATTR_GEN_AI_USAGE_TOTAL_TOKENS = 'gen_ai.usage.total_tokens';
/** Proposed for the conventions: what a provider says that a call cost. */
export const ATTR_GEN_AI_USAGE_COST_AMOUNT = 'gen_ai.usage.cost.amount';
export const ATTR_GEN_AI_USAGE_COST_CURRENCY = 'gen_ai.usage.cost.currency';
export const ATTR_GEN_AI_USAGE_COST_SOURCE = 'gen_ai.usage.cost.source';

export const METRIC_GEN_AI_CLIENT_OPERATION_DURATION = 'gen_ai.client.operation.duration';
export const METRIC_GEN_AI_CLIENT_TIME_TO_FIRST_CHUNK = 'gen_ai.client.operation.time_to_first_chunk';
export const METRIC_GEN_AI_CLIENT_TIME_PER_OUTPUT_CHUNK = 'gen_ai.client.operation.time_per_output_chunk';
export const METRIC_GEN_AI_CLIENT_TOKEN_USAGE = 'gen_ai.client.token.usage';
export const METRIC_MCP_CLIENT_OPERATION_DURATION = 'mcp.client.operation.duration';
export const METRIC_MCP_SERVER_OPERATION_DURATION = 'mcp.server.operation.duration';
export const METRIC_MCP_CLIENT_SESSION_DURATION = 'mcp.client.session.duration';
export const METRIC_MCP_SERVER_SESSION_DURATION = 'mcp.server.session.duration';

/** Bucket borders of the GenAI metrics for durations, in seconds. */
export const GEN_AI_DURATION_BUCKETS: readonly number[] = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];
/** Bucket borders of the GenAI metrics for tokens: powers of four. */
export const GEN_AI_TOKEN_BUCKETS: readonly number[] = Array.from({ length: 14 }, (_, power) => 4 ** power);
