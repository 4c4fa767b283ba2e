import { countOf, isObject, type JsonObject, parseContainerOrKeep, textOf } from '../../json/index.ts';
import { readUsageObject, type TokenUsage } from '../../signals/index.ts';
import { isModelCall } from '../kind.ts';
import { parseConversation } from '../parse-messages.ts';
import { answerIn, type Dialect, someOf } from './dialect.ts';

/** The attributes in which an instrumentation writes what goes into a call and what comes out, as JSON or text. */
interface Values {
  /** Who writes them, and where that can be read. */
  readonly name: string;
  readonly input: readonly string[];
  readonly output: readonly string[];
  /** Attributes with the model, and the provider. */
  readonly model?: readonly string[];
  readonly provider?: readonly string[];
  /** An attribute with both as members of an object. */
  readonly metadata?: string;
  /** An attribute with token counts as members of an object, or of its member `usage`. */
  readonly usage: string;
  /** Cached and reasoning tokens are beside the input and the output. @defaultValue where the total says so */
  readonly isApart?: true;
  /** The model is named after its provider and a slash. */
  readonly namesProvider?: true;
}

const DIALECTS: readonly Values[] = [
  {
    name: 'Langfuse SDKs 3 to 5: langfuse/_client/attributes.py, @langfuse/tracing',
    input: ['langfuse.observation.input'],
    output: ['langfuse.observation.output'],
    model: ['langfuse.observation.model.name'],
    usage: 'langfuse.observation.usage_details',
    isApart: true,
  },
  {
    name: 'MLflow 3: mlflow/tracing/constant.py; each value is JSON',
    input: ['mlflow.spanInputs'],
    output: ['mlflow.spanOutputs'],
    model: ['mlflow.llm.model'],
    provider: ['mlflow.llm.provider'],
    usage: 'mlflow.chat.tokenUsage',
  },
  {
    name: 'Braintrust: its page on OpenTelemetry, and braintrust/otel',
    input: ['braintrust.input_json', 'braintrust.input'],
    output: ['braintrust.output_json', 'braintrust.output'],
    metadata: 'braintrust.metadata',
    usage: 'braintrust.metrics',
  },
  {
    name: 'Genkit: its page on telemetry; a model is named provider/model',
    input: ['genkit:input'],
    output: ['genkit:output'],
    model: ['genkit:name'],
    usage: 'genkit:output',
    namesProvider: true,
  },
];

/** Instrumentations that write whole inputs and outputs, each under names of its own. */
export const wholeValues: readonly Dialect[] = DIALECTS.map((values) => ({
  name: values.name,
  read: ({ attributes }, kind) => {
    const input = firstOf(attributes, values.input);
    const output = firstOf(attributes, values.output);
    if (kind === 'tool')
      return input === undefined ? undefined : { toolArguments: parseContainerOrKeep(input) };
    const isCall = isModelCall(kind);
    const { model, provider } = isCall ? modelOf(attributes, values) : {};
    const usage = isCall ? usageOf(attributes, values) : undefined;
    if ((input ?? output ?? model ?? usage) === undefined) return undefined;
    return {
      input: input === undefined ? undefined : someOf(parseConversation(input)),
      // Of what is no call of a model, the output is no answer.
      output: output === undefined || kind !== 'model' ? undefined : answerIn(output),
      model,
      provider,
      usage,
    };
  },
}));

function firstOf(attributes: JsonObject, names: readonly string[]): unknown {
  for (const name of names) if (attributes[name] !== undefined) return attributes[name];
  return undefined;
}

function modelOf(attributes: JsonObject, values: Values): { model?: string; provider?: string } {
  const { metadata } = values;
  const told = metadata === undefined ? undefined : parseContainerOrKeep(attributes[metadata]);
  const given = isObject(told) ? told : {};
  const named = unquoted(firstOf(attributes, values.model ?? []) ?? given.model);
  const slash = values.namesProvider === true ? (named ?? '').indexOf('/') : -1;
  const provider =
    slash > 0
      ? named?.slice(0, slash)
      : unquoted(firstOf(attributes, values.provider ?? []) ?? given.provider);
  return { ...(named && { model: named.slice(slash + 1) }), ...(provider && { provider }) };
}

/** Names of counts: those of Langfuse, MLflow, Braintrust and Genkit. */
const COUNTS = {
  input: ['input', 'input_tokens', 'prompt_tokens', 'inputTokens'],
  output: ['output', 'output_tokens', 'completion_tokens', 'outputTokens'],
  total: ['total', 'total_tokens', 'tokens', 'totalTokens'],
  cacheRead: [
    'input_cached_tokens',
    'input_cache_read',
    'cache_read_input_tokens',
    'prompt_cached_tokens',
    'cachedContentTokens',
  ],
  cacheWrite: ['input_cache_creation', 'cache_creation_input_tokens', 'prompt_cache_creation_tokens'],
  reasoning: ['output_reasoning_tokens', 'output_reasoning', 'completion_reasoning_tokens', 'thoughtsTokens'],
} as const;

function usageOf(attributes: JsonObject, values: Values): TokenUsage | undefined {
  const told = parseContainerOrKeep(attributes[values.usage]);
  if (!isObject(told)) return undefined;
  const object = isObject(told.usage) ? told.usage : told;
  // As OpenAI writes it, handed on.
  if (isObject(object.prompt_tokens_details)) return readUsageObject(object);
  const count = (unit: keyof typeof COUNTS) =>
    COUNTS[unit].map((name) => countOf(object[name])).find((value) => value !== undefined);
  const [input, output, total] = [count('input'), count('output'), count('total')];
  if (input === undefined && output === undefined) return undefined;
  const [cacheReadTokens, cacheWriteTokens] = [count('cacheRead'), count('cacheWrite')];
  const reasoningTokens = count('reasoning');
  const cached = (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0);
  const isApart = (more: number, other: number) =>
    more > 0 && total === (input ?? 0) + (output ?? 0) + more + other;
  const isPlain = total === undefined ? values.isApart !== true : total === (input ?? 0) + (output ?? 0);
  const reasoning = reasoningTokens ?? 0;
  const addsCache = !isPlain && (isApart(cached, 0) || isApart(cached, reasoning) || total === undefined);
  const addsReasoning =
    !isPlain && (isApart(reasoning, 0) || isApart(reasoning, cached) || total === undefined);
  return {
    inputTokens: input === undefined ? undefined : input + (addsCache ? cached : 0),
    outputTokens: output === undefined ? undefined : output + (addsReasoning ? reasoning : 0),
    cacheReadTokens,
    cacheWriteTokens,
    reasoningTokens,
  };
}

/** A name that may be written as JSON text. */
function unquoted(value: unknown): string | undefined {
  return textOf(value)?.replace(/^"|"$/g, '');
}
