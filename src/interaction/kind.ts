import { semconv } from '../base/index.ts';
import { isObject, type JsonObject, parseContainerOrKeep, toText } from '../json/index.ts';
import { isGenAiName, readTextField } from './scalars.ts';
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
 * Order of precedence: the MCP method, `gen_ai.operation.name`, the type in the words of a dialect, the AI SDK's
 * operation (whose outer spans repeat the usage of the inner `...do...` ones). A span whose operation is no known
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
  const method = toText(attributes[semconv.ATTR_MCP_METHOD_NAME]);
  if (method !== undefined) return method === 'tools/call' ? 'tool' : 'other';
  const operation = readOperation(attributes);
  const byOperation =
    operation === undefined
      ? undefined
      : (OPERATIONS.get(operation) ?? OPERATIONS.get(operation.toLowerCase()));
  if (byOperation !== undefined) return byOperation;
  const type = readSpanType(attributes);
  if (type !== undefined) return SPAN_TYPES.get(type);
  const aiSdk = toText(attributes['ai.operationId']);
  return aiSdk === undefined ? undefined : aiSdkKind(aiSdk);
}

function guessKind(span: SpanView, attributes: JsonObject): InteractionKind {
  // Anthropic's own spans always name the operation of a model call.
  if (toText(span.instrumentationScope?.name)?.startsWith(ANTHROPIC_SCOPE) === true) return 'other';
  if (readSpanType(attributes) !== undefined) return 'other';
  if (readOperation(attributes) !== undefined && span.kind !== CLIENT) return 'other';
  // A call that an agent of Haystack 3 makes by itself has no type.
  if (attributes['haystack.agent.step.llm.output'] !== undefined) return 'model';
  return readTextField(attributes, 'model') === undefined ? 'other' : 'model';
}

/** LiteLLM's calls for a batch that is over: what all its requests used, again each time. */
export const isOfBatch = ({ [semconv.ATTR_GEN_AI_OPERATION_NAME]: operation }: JsonObject): boolean =>
  /^a?retrieve_batch$/.test(toText(operation) ?? '');

const readOperation = (attributes: JsonObject): string | undefined =>
  toText(attributes[semconv.ATTR_GEN_AI_OPERATION_NAME]) ?? toText(attributes['llm.request.type']);

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

/**
 * Attributes in which instrumentations say what a span is, with where that can be read. To read another one, add a line,
 * and its words to {@link SPAN_TYPES} if they are new.
 */
const TYPE_NAMES: readonly string[] = [
  // OpenInference: spec/semantic_conventions.md
  'openinference.span.kind',
  // OpenLLMetry: opentelemetry-semantic-conventions-ai
  'traceloop.span.kind',
  // Langfuse SDKs 3 to 5: langfuse/_client/attributes.py, @langfuse/tracing
  'langfuse.observation.type',
  // MLflow: mlflow/tracing/constant.py; JSON text
  'mlflow.spanType',
  // Braintrust: braintrust/otel; JSON text with a type
  'braintrust.span_attributes',
  'braintrust.span_attributes.type',
  // Genkit: docs of its telemetry
  'genkit:metadata:subtype',
  // LangSmith: langsmith/_internal/otel
  'langsmith.span.kind',
  // LangWatch: langwatch/attributes.py of its Python SDK
  'langwatch.span.type',
  // Haystack: core/pipeline/base.py; the name of a class
  'haystack.component.type',
];

/** Their words, in lower case. */
const SPAN_TYPES: ReadonlyMap<string, InteractionKind> = new Map([
  ['llm', 'model'],
  ['chat_model', 'model'],
  ['generation', 'model'],
  ['model', 'model'],
  ['background-model', 'model'],
  ['generator', 'model'],
  ['embedding', 'embeddings'],
  ['embedder', 'embeddings'],
  ['reranker', 'embeddings'],
  ['tool', 'tool'],
  ['tool.v2', 'tool'],
  ['agent', 'other'],
  ['chain', 'other'],
  ['retriever', 'other'],
  ['guardrail', 'other'],
  ['evaluator', 'other'],
  ['prompt', 'other'],
  ['workflow', 'other'],
  ['task', 'other'],
  ['span', 'other'],
  ['event', 'other'],
  ['flow', 'other'],
  ['parser', 'other'],
  ['memory', 'other'],
  ['rag', 'other'],
  ['component', 'other'],
  ['evaluation', 'other'],
]);

/** The word in which an instrumentation says what a span is, in lower case: `llm`, `tool`, `chain` ... */
export function readSpanType(attributes: JsonObject): string | undefined {
  for (const name of TYPE_NAMES) {
    const given = attributes[name];
    if (typeof given !== 'string' || given.length > MAX_TYPE_CHARS) continue;
    const told = parseContainerOrKeep(given);
    const word = isObject(told) ? toText(told.type) : toText(told);
    if (!word) continue;
    const type = word.replaceAll('"', '').toLowerCase();
    return SPAN_TYPES.has(type) ? type : (CLASS_WORD.exec(word)?.[0].toLowerCase() ?? type);
  }
  return undefined;
}

/** The word by which a class calls what it is: `OpenAIChatGenerator`. */
const CLASS_WORD = /[A-Z][a-z]+$/;

/** Longer values are no words. */
const MAX_TYPE_CHARS = 1_024;

/** Most spans have no GenAI or MCP attribute, and must cost next to nothing. */
function looksGenAi(attributes: JsonObject): boolean {
  for (const key in attributes) if (isGenAiName(key)) return true;
  return false;
}
