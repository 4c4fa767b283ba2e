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
