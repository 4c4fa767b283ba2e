import { isObject, type JsonObject, parseContainerOrKeep, toText } from '../../json/index.ts';
import { isModelCall } from '../kind.ts';
import { parseConversation } from '../parse-messages.ts';
import { answerIn, type Dialect, toNonEmpty } from './dialect.ts';

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
  /** Each value is a member of an object that also says what it is. */
  readonly isTyped?: true;
  /** The model is named after its provider and a slash. */
  readonly namesProvider?: true;
}

const DIALECTS: readonly Values[] = [
  {
    name: 'Langfuse SDKs 3 to 5: langfuse/_client/attributes.py, @langfuse/tracing',
    input: ['langfuse.observation.input'],
    output: ['langfuse.observation.output'],
    model: ['langfuse.observation.model.name'],
  },
  {
    name: 'MLflow 3: mlflow/tracing/constant.py; each value is JSON',
    input: ['mlflow.spanInputs'],
    output: ['mlflow.spanOutputs'],
    model: ['mlflow.llm.model', 'model'],
    provider: ['mlflow.llm.provider'],
  },
  {
    name: 'Braintrust: its page on OpenTelemetry, and braintrust/otel',
    input: ['braintrust.input_json', 'braintrust.input'],
    output: ['braintrust.output_json', 'braintrust.output'],
    metadata: 'braintrust.metadata',
  },
  {
    name: 'LangWatch: langwatch/attributes.py; each value is {type, value}',
    input: ['langwatch.input'],
    output: ['langwatch.output'],
    isTyped: true,
  },
  {
    name: 'Genkit: its page on telemetry; a model is named provider/model',
    input: ['genkit:input'],
    output: ['genkit:output'],
    model: ['genkit:name'],
    namesProvider: true,
  },
  {
    name: 'Haystack 2 and 3 with content tracing: core/pipeline/base.py, components/agents/agent.py',
    input: ['haystack.component.input', 'haystack.agent.step.llm.input'],
    output: ['haystack.component.output', 'haystack.agent.step.llm.output'],
  },
];

/** Instrumentations that write whole inputs and outputs, each under names of its own. */
export const wholeValues: readonly Dialect[] = DIALECTS.map((values) => ({
  name: values.name,
  read: ({ attributes }, kind) => {
    const input = readValue(attributes, values, values.input);
    const output = readValue(attributes, values, values.output);
    if (kind === 'tool')
      return input === undefined
        ? undefined
        : { toolArguments: parseContainerOrKeep(input), toolResult: output };
    const { model, provider } = isModelCall(kind) ? readModel(attributes, values) : {};
    if ((input ?? output ?? model) === undefined) return undefined;
    return {
      input: input === undefined ? undefined : toNonEmpty(parseConversation(input)),
      // Of what is no call of a model, the output is no answer.
      output: output === undefined || kind !== 'model' ? undefined : answerIn(output),
      model,
      provider,
    };
  },
}));

function readValue(attributes: JsonObject, { isTyped }: Values, names: readonly string[]): unknown {
  const value = pickFirst(attributes, names);
  const typed = isTyped === true ? parseContainerOrKeep(value) : undefined;
  return isObject(typed) && typed.value !== undefined ? typed.value : value;
}

function pickFirst(attributes: JsonObject, names: readonly string[]): unknown {
  for (const name of names) if (attributes[name] !== undefined) return attributes[name];
  return undefined;
}

function readModel(attributes: JsonObject, values: Values): { model?: string; provider?: string } {
  const { metadata } = values;
  const told = metadata === undefined ? undefined : parseContainerOrKeep(attributes[metadata]);
  const given = isObject(told) ? told : {};
  const named = unquoted(pickFirst(attributes, values.model ?? []) ?? given.model);
  const slash = values.namesProvider === true ? (named ?? '').indexOf('/') : -1;
  const provider =
    slash > 0
      ? named?.slice(0, slash)
      : unquoted(pickFirst(attributes, values.provider ?? []) ?? given.provider);
  return { ...(named && { model: named.slice(slash + 1) }), ...(provider && { provider }) };
}

/** A name that may be written as JSON text. */
function unquoted(value: unknown): string | undefined {
  return toText(value)?.replace(/^"|"$/g, '');
}
