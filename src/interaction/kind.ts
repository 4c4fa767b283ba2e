import { semconv } from '../base/index.ts';
import { type JsonObject, textOf } from '../json/index.ts';
import { readTextField } from './scalars.ts';
import type { SpanView } from './span-view.ts';
import type { Interaction } from './types.ts';

/**
 * What a GenAI or MCP span represents:
 * - `model`: one model request with an answer.
 * - `embeddings`: one model request without an answer: embeddings, reranking.
 * - `tool`: one execution of a tool; its arguments are hashed.
 * - `other`: an agent, a workflow, a retrieval, an MCP message other than a tool call, or what does not say.
 *
 * Usage of a `tool` or of another span repeats the sum of the calls below it; where there are none, the span is taken for
 * a model call. So the sum over a trace counts each call once.
 */
export type InteractionKind = 'model' | 'embeddings' | 'tool' | 'other';

/**
 * What a span says of itself; `undefined` when it is not a GenAI or MCP span.
 *
 * Order of precedence: the MCP method, `gen_ai.operation.name`, the kind given by OpenInference or OpenLLMetry, the AI
 * SDK's operation (whose outer spans repeat the usage of the inner `...do...` ones). A span whose operation is no known
 * word is a model call if it is a CLIENT span that names a model, because in-process agents are INTERNAL; one without an
 * operation if it names a model. Whether its tokens are its own is decided by the calls below it: see `UsageLedger`.
 */
export function interactionKind(span: SpanView): InteractionKind | undefined {
  const { attributes } = span;
  return looksGenAi(attributes) ? (namedKind(attributes) ?? guessKind(span, attributes)) : undefined;
}

/** Whether a span of this kind is a request to a model, and may have a cost of its own. */
export const isModelCall = (kind: InteractionKind | undefined): kind is 'model' | 'embeddings' =>
  kind === 'model' || kind === 'embeddings';

/** Value of `counted_on` for an aggregate: its tokens are those of the calls below it. */
export const COUNTED_ON_CHILDREN = 'children';

/** The kind of a span without GenAI attributes, by the data attached to it. */
export function kindOfAttached(attached: Interaction | undefined): InteractionKind {
  return attached?.prompt === undefined && attached?.toolArguments !== undefined ? 'tool' : 'model';
}

/**
 * What a span says that it is in a word that is known; `undefined` where it has none.
 * @param isGenAi whether one of the names of its attributes is of GenAI or MCP, where that is known. See
 *   {@link isGenAiName}.
 */
export function kindInWords(
  { attributes }: SpanView,
  isGenAi: boolean = looksGenAi(attributes),
): InteractionKind | undefined {
  return isGenAi ? namedKind(attributes) : undefined;
}

function namedKind(attributes: JsonObject): InteractionKind | undefined {
  const method = textOf(attributes[semconv.ATTR_MCP_METHOD_NAME]);
  if (method !== undefined) return method === 'tools/call' ? 'tool' : 'other';
  const operation = operationOf(attributes);
  const byOperation =
    operation === undefined
      ? undefined
      : (OPERATIONS.get(operation) ?? OPERATIONS.get(operation.toLowerCase()));
  if (byOperation !== undefined) return byOperation;
  const openInference = textOf(attributes['openinference.span.kind']);
  if (openInference !== undefined) return OPENINFERENCE_KINDS.get(openInference.toUpperCase());
  const traceloop = textOf(attributes['traceloop.span.kind']);
  if (traceloop !== undefined) return traceloop === 'tool' ? 'tool' : 'other';
  const aiSdk = textOf(attributes['ai.operationId']);
  return aiSdk === undefined ? undefined : aiSdkKind(aiSdk);
}

function guessKind(span: SpanView, attributes: JsonObject): InteractionKind {
  // Anthropic's own spans always name the operation of a model call.
  if (textOf(span.instrumentationScope?.name)?.startsWith(ANTHROPIC_SCOPE) === true) return 'other';
  if (attributes['openinference.span.kind'] !== undefined) return 'other';
  if (operationOf(attributes) !== undefined && span.kind !== CLIENT) return 'other';
  return readTextField(attributes, 'model') === undefined ? 'other' : 'model';
}

const operationOf = (attributes: JsonObject): string | undefined =>
  textOf(attributes[semconv.ATTR_GEN_AI_OPERATION_NAME]) ?? textOf(attributes['llm.request.type']);

function aiSdkKind(operation: string): InteractionKind {
  if (operation === 'ai.toolCall') return 'tool';
  if (!operation.includes('.do')) return 'other';
  return operation.startsWith('ai.embed') || operation.startsWith('ai.rerank') ? 'embeddings' : 'model';
}

const CLIENT = 2;

/** Scope of the spans of `@anthropic-ai/sdk` itself; with the suffix `.bedrock` for Bedrock. */
const ANTHROPIC_SCOPE = 'com.anthropic.sdk.typescript';

const OPERATIONS: ReadonlyMap<string, InteractionKind> = new Map([
  ['chat', 'model'],
  ['generate_content', 'model'],
  ['text_completion', 'model'],
  ['completion', 'model'],
  ['embeddings', 'embeddings'],
  ['embedding', 'embeddings'],
  ['rerank', 'embeddings'],
  ['fetch_response', 'other'],
  ['execute_tool', 'tool'],
  ['retrieval', 'other'],
  ['plan', 'other'],
  ['create_agent', 'other'],
  ['invoke_agent', 'other'],
  ['invoke_workflow', 'other'],
]);

const OPENINFERENCE_KINDS: ReadonlyMap<string, InteractionKind> = new Map([
  ['LLM', 'model'],
  ['EMBEDDING', 'embeddings'],
  ['RERANKER', 'embeddings'],
  ['TOOL', 'tool'],
  ['AGENT', 'other'],
  ['CHAIN', 'other'],
  ['RETRIEVER', 'other'],
  ['GUARDRAIL', 'other'],
  ['EVALUATOR', 'other'],
  ['PROMPT', 'other'],
]);

/** Most spans have no GenAI or MCP attribute, and must cost next to nothing. */
function looksGenAi(attributes: JsonObject): boolean {
  for (const key in attributes) if (isGenAiName(key)) return true;
  return false;
}

/** Whether an attribute belongs to a GenAI or MCP dialect. The first character rules out nearly every key. */
export function isGenAiName(key: string): boolean {
  switch (key.charCodeAt(0)) {
    case 0x67: // g
      return key.startsWith('gen_ai.');
    case 0x6d: // m
      return key.startsWith('mcp.');
    case 0x6c: // l
      return key.startsWith('llm.');
    case 0x6f: // o
      return key === 'openinference.span.kind';
    case 0x74: // t
      return key.startsWith('traceloop.');
    case 0x61: // a
      return key.startsWith('ai.');
    default:
      return false;
  }
}
