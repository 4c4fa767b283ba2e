import { type JsonObject, textOf } from '../json/index.ts';
import { readTextField } from './scalars.ts';
import type { SpanView } from './span-view.ts';
import type { Interaction } from './types.ts';

/**
 * What a GenAI or MCP span represents:
 * - `model`: one model request with an answer.
 * - `embeddings`: one model request without an answer: embeddings, reranking.
 * - `tool`: one execution of a tool; its arguments are hashed.
 * - `other`: an agent, a workflow, a retrieval, or an MCP message other than a tool call. Usage reported here repeats
 *   the sum of the calls inside.
 *
 * Only `model` and `embeddings` carry a cost, so that the sum over a trace counts each call once.
 */
export type InteractionKind = 'model' | 'embeddings' | 'tool' | 'other';

/**
 * Classifies a span; `undefined` when it is not a GenAI or MCP span.
 *
 * Order of precedence: the MCP method, `gen_ai.operation.name`, the kind given by OpenInference or OpenLLMetry, the AI
 * SDK's operation (whose outer spans repeat the usage of the inner `...do...` ones). An unknown operation is a model
 * call only on a CLIENT span that names a model, because in-process agents are INTERNAL. A span without an operation is
 * one if it names a model.
 */
export function interactionKind(span: SpanView): InteractionKind | undefined {
  const { attributes } = span;
  return looksGenAi(attributes) ? decideKind(span, attributes) : undefined;
}

/** Whether a span of this kind is a request to a model, and may have a cost of its own. */
export const isModelCall = (kind: InteractionKind | undefined): kind is 'model' | 'embeddings' =>
  kind === 'model' || kind === 'embeddings';

/** Value of `counted_on` for an aggregate. */
export const COUNTED_ON_CHILDREN = 'children';

/** The kind of a span without GenAI attributes, by the data attached to it. */
export function kindOfAttached(attached: Interaction | undefined): InteractionKind {
  return attached?.prompt === undefined && attached?.toolArguments !== undefined ? 'tool' : 'model';
}

/**
 * Whether tokens on the span are the sum of calls inside: an agent, a workflow, a tool. A span that does not say what it
 * does may have tokens of its own.
 */
export function isAggregate(span: SpanView): boolean {
  const kind = interactionKind(span);
  if (kind === 'tool') return true;
  if (kind !== 'other') return false;
  return KIND_NAMES.some((name) => textOf(span.attributes[name]) !== undefined);
}

const KIND_NAMES = [
  'gen_ai.operation.name',
  'mcp.method.name',
  'openinference.span.kind',
  'traceloop.span.kind',
  'ai.operationId',
  'llm.request.type',
] as const;

function decideKind(span: SpanView, attributes: JsonObject): InteractionKind {
  const method = textOf(attributes['mcp.method.name']);
  if (method !== undefined) return method === 'tools/call' ? 'tool' : 'other';
  const operation = textOf(attributes['gen_ai.operation.name']) ?? textOf(attributes['llm.request.type']);
  const byOperation =
    operation === undefined
      ? undefined
      : (OPERATIONS.get(operation) ?? OPERATIONS.get(operation.toLowerCase()));
  if (byOperation !== undefined) return byOperation;
  const openInference = textOf(attributes['openinference.span.kind']);
  if (openInference !== undefined) return OPENINFERENCE_KINDS.get(openInference.toUpperCase()) ?? 'other';
  const traceloop = textOf(attributes['traceloop.span.kind']);
  if (traceloop !== undefined) return traceloop === 'tool' ? 'tool' : 'other';
  const aiSdk = textOf(attributes['ai.operationId']);
  if (aiSdk !== undefined) return aiSdkKind(aiSdk);
  // Anthropic's own spans always name the operation of a model call.
  if (textOf(span.instrumentationScope?.name)?.startsWith(ANTHROPIC_SCOPE) === true) return 'other';
  if (operation !== undefined && span.kind !== CLIENT) return 'other';
  return readTextField(attributes, 'model') === undefined ? 'other' : 'model';
}

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
]);

/**
 * Whether any attribute belongs to a GenAI or MCP dialect. Most spans do not, and must cost next to nothing: the first
 * character rules out nearly every key.
 */
function looksGenAi(attributes: JsonObject): boolean {
  for (const key in attributes) {
    switch (key.charCodeAt(0)) {
      case 0x67: // g
        if (key.startsWith('gen_ai.')) return true;
        break;
      case 0x6d: // m
        if (key.startsWith('mcp.')) return true;
        break;
      case 0x6c: // l
        if (key.startsWith('llm.')) return true;
        break;
      case 0x6f: // o
        if (key === 'openinference.span.kind') return true;
        break;
      case 0x74: // t
        if (key.startsWith('traceloop.')) return true;
        break;
      case 0x61: // a
        if (key.startsWith('ai.')) return true;
        break;
    }
  }
  return false;
}
