/** Names that only the instrumentations write; those that the whole package reads are in `src/base/semconv.ts`. */
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

/** Its name for the tier that served the call, which prices differ by. */
export const ATTR_ANTHROPIC_RESPONSE_SERVICE_TIER = 'anthropic.response.service_tier';

/** How many tool calls the answer asks the application to make; absent for none. */
export const ATTR_TOOL_CALL_COUNT = 'observatory.tool_call_count';
/**
 * Why a span ended before its response: `closed` by the reader of a stream, `abandoned` unread, or `cut` by the other
 * side, which ended the stream without the provider's last word. Absent otherwise.
 */
export const ATTR_STREAM_END = 'observatory.stream_end';

export const OPERATION_CHAT = 'chat';
export const OPERATION_EMBEDDINGS = 'embeddings';
export const OPERATION_GENERATE_CONTENT = 'generate_content';
export const OPERATION_TEXT_COMPLETION = 'text_completion';
