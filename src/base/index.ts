import * as semconv from './semconv.ts';

export { type Attempted, bisect } from './bisect.ts';
export { BoundedNames } from './bounded-names.ts';
export {
  type CamelFieldValues,
  camelCase,
  camelKeys,
  fromAttributes,
  type SnakeKeys,
  snakeCase,
  snakeKeys,
  toColumns,
} from './camel-case.ts';

export { errorMessage, ObservatoryError, type ObservatoryErrorCode } from './errors.ts';
export { addEvaluationEvents, type EventSpan, isToldByColumns } from './evaluation-events.ts';
export {
  type AttributeColumn,
  attributeNamesOf,
  attributeOf,
  COLUMNS,
  type Column,
  FIELDS,
  type FieldDefinition,
  type FieldValues,
  fieldOf,
  resourceNamesOf,
  type SqlType,
  type TraceRow,
} from './fields.ts';
export { isProcessAlive, startOfProcess } from './live-process.ts';
export { type Constructor, INSTALL_SDK, type Loaded, load, locate } from './locate.ts';
export { packageFile } from './package-file.ts';
export { loadPeer } from './peer.ts';
export { printable } from './printable.ts';
export {
  ATTR_ERROR_TYPE,
  ATTR_GEN_AI_CONVERSATION_ID,
  ATTR_GEN_AI_INPUT_MESSAGES,
  ATTR_GEN_AI_OPERATION_NAME,
  ATTR_GEN_AI_OUTPUT_MESSAGES,
  ATTR_GEN_AI_PROVIDER_NAME,
  ATTR_GEN_AI_REQUEST_MODEL,
  ATTR_GEN_AI_RESPONSE_FINISH_REASONS,
  ATTR_GEN_AI_RESPONSE_ID,
  ATTR_GEN_AI_RESPONSE_MODEL,
  ATTR_GEN_AI_SYSTEM_INSTRUCTIONS,
  ATTR_GEN_AI_TOOL_CALL_ARGUMENTS,
  ATTR_GEN_AI_TOOL_CALL_ID,
  ATTR_GEN_AI_TOOL_CALL_RESULT,
  ATTR_GEN_AI_TOOL_DEFINITIONS,
  ATTR_GEN_AI_TOOL_NAME,
  ATTR_GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS,
  ATTR_GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS,
  ATTR_GEN_AI_USAGE_INPUT_TOKENS,
  ATTR_GEN_AI_USAGE_OUTPUT_TOKENS,
  ATTR_GEN_AI_USAGE_REASONING_OUTPUT_TOKENS,
  ATTR_MCP_METHOD_NAME,
  ATTR_SERVER_ADDRESS,
  GEN_AI_DURATION_BUCKETS,
  GEN_AI_TOKEN_BUCKETS,
} from './semconv.ts';
export { useStderrDiag } from './stderr-diag.ts';
export { isTracingSuppressed, withoutTracing } from './suppress-tracing.ts';
export { VERSION } from './version.ts';
export { wholeNumber } from './whole-number.ts';
export { semconv };
