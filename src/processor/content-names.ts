/**
 * Which attributes of a GenAI or MCP span hold content: prompts, answers, tool arguments and results.
 *
 * In the namespaces of the dialects, a text or structured attribute is content unless its name is on the allow-list, so
 * that unknown names are hidden rather than leaked. Numbers and booleans pass, except where they can be arguments. In
 * other namespaces an attribute is content if its name says so (`genkit:input`, `lk.response.text`).
 */

/** Whether redaction removes an attribute of a span. */
export function isContentAttribute(key: string, value: unknown): boolean {
  if (key.startsWith('observatory.')) return false;
  if (ARGUMENT_FAMILIES.some((family) => key.startsWith(family))) return true;
  if (typeof value === 'number' || typeof value === 'boolean') return false;
  if (inClosedNamespace(key)) return !isKnownHarmless(key);
  return SPEAKING_NAME.test(key) || ERROR_TEXT.has(key);
}

/**
 * Whether redaction removes an attribute of an event on such a span. Events are treated as content throughout, because
 * the text of a message, chunk or exception can have any name.
 */
export function isContentEventAttribute(key: string, value: unknown): boolean {
  if (ARGUMENT_FAMILIES.some((family) => key.startsWith(family))) return true;
  if (typeof value === 'number' || typeof value === 'boolean') return false;
  return !(isKnownHarmless(key) || HARMLESS_ON_EVENTS.has(key));
}

const CLOSED_NAMESPACES: ReadonlySet<string> = new Set([
  'gen_ai',
  'mcp',
  'llm',
  'ai',
  'traceloop',
  'input',
  'output',
  'retrieval',
  'reranker',
  'embedding',
  'tool',
  'tool_call',
  'message',
  'pydantic_ai',
]);

function inClosedNamespace(key: string): boolean {
  const dot = key.indexOf('.');
  return dot !== -1 && CLOSED_NAMESPACES.has(key.slice(0, dot));
}

function isKnownHarmless(key: string): boolean {
  return HARMLESS.has(key) || HARMLESS_FAMILIES.some((family) => key.startsWith(family));
}

/** Families whose members are arguments, results or vectors, whatever their type. */
const ARGUMENT_FAMILIES = [
  'mcp.request.argument.',
  'gen_ai.prompt.variable.',
  'gen_ai.tool.call.arguments',
  'gen_ai.tool.call.result',
  'embedding.vector',
  'embedding.embeddings.',
] as const;

const HARMLESS_FAMILIES = [
  'gen_ai.usage.',
  'gen_ai.openai.',
  'gen_ai.evaluation.score.',
  'ai.telemetry.',
  'traceloop.association.properties.',
] as const;

const HARMLESS: ReadonlySet<string> = new Set([
  'gen_ai.operation.name',
  'gen_ai.provider.name',
  'gen_ai.system',
  'gen_ai.conversation.id',
  'gen_ai.request.model',
  'gen_ai.request.encoding_formats',
  'gen_ai.request.reasoning.level',
  'gen_ai.request.previous_response.id',
  'gen_ai.request.service_tier',
  'gen_ai.response.id',
  'gen_ai.response.model',
  'gen_ai.response.finish_reasons',
  'gen_ai.response.service_tier',
  'gen_ai.output.type',
  'gen_ai.agent.id',
  'gen_ai.agent.name',
  'gen_ai.agent.version',
  'gen_ai.agent.description',
  'gen_ai.data_source.id',
  'gen_ai.tool.name',
  'gen_ai.tool.type',
  'gen_ai.tool.call.id',
  'gen_ai.tool.description',
  'gen_ai.prompt.name',
  'gen_ai.prompt.version',
  'gen_ai.workflow.name',
  'gen_ai.evaluation.name',
  'gen_ai.environment',
  'gen_ai.application_name',
  'mcp.method.name',
  'mcp.session.id',
  'mcp.protocol.version',
  'mcp.resource.uri',
  'mcp.resource.name',
  'mcp.resource.protocol',
  'mcp.client.name',
  'mcp.client.title',
  'mcp.client.version',
  'mcp.server.name',
  'mcp.server.title',
  'mcp.server.version',
  'mcp.transport',
  'mcp.request.id',
  'mcp.tool.name',
  'mcp.prompt.name',
  'mcp.logging.level',
  'mcp.logging.logger',
  'llm.model_name',
  'llm.provider',
  'llm.system',
  'llm.request.type',
  'llm.request.model',
  'llm.request.model_name',
  'llm.response.id',
  'llm.response.model',
  'llm.response.model_name',
  'llm.response.finish_reason',
  'llm.finish_reason',
  'ai.operationId',
  'ai.model.id',
  'ai.model.provider',
  'ai.response.id',
  'ai.response.model',
  'ai.response.finishReason',
  'ai.response.timestamp',
  'ai.toolCall.name',
  'ai.toolCall.id',
  'traceloop.span.kind',
  'traceloop.entity.name',
  'traceloop.entity.path',
  'traceloop.workflow.name',
  'input.mime_type',
  'output.mime_type',
  'embedding.model_name',
  'reranker.model_name',
  'tool.name',
  'tool.id',
  'tool.description',
]);

const HARMLESS_ON_EVENTS: ReadonlySet<string> = new Set([
  'exception.type',
  'error.type',
  'event.name',
  'role',
  'finish_reason',
]);

/** Error texts count as content, because they quote it. */
const ERROR_TEXT: ReadonlySet<string> = new Set([
  'exception.message',
  'exception.stacktrace',
  'error.message',
  'error.stack',
]);

/** Name suffixes of content in the namespaces of frameworks: Genkit, LiveKit, Langfuse, MLflow ... */
const SPEAKING_NAME =
  /(?:^|[.:_])(?:inputs?|outputs?|prompts?|completions?|messages?|arguments|args|results?|content|text|body|system_instructions|request_data|response_data|tool_response|user_input|all_messages_events|chat_ctx|spanInputs|spanOutputs|input_json|output_json)$/;
