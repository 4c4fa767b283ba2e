import {
  ANSWER_ATTRIBUTES,
  type AttributeColumn,
  FIELDS,
  listAttributeNames,
  USAGE_OBJECT_ATTRIBUTES,
} from '../base/index.ts';
import { isObject, type JsonObject, parseContainerOrKeep, toText } from '../json/index.ts';
import {
  costByWords,
  isInOtherCurrency,
  type ListedCost,
  MAX_MEMBERS,
  namesOtherCurrency,
  placeByWords,
  type ReportedCost,
  readCost,
  SPAN_COSTS,
  SPAN_PLACES,
  saysOtherCurrency,
  type UsagePlace,
  UsageReader,
} from '../signals/index.ts';
import { chargesInText, tierInText } from './provider-response.ts';

const NAMES: ReadonlyMap<string, readonly string[]> = new Map(
  FIELDS.filter((field) => field.origin === 'attribute').map((field) => [
    field.column,
    listAttributeNames(field),
  ]),
);

/** Reads a text column from a span's attributes, under the name of any dialect. */
export function readTextField(attributes: JsonObject, column: AttributeColumn): string | undefined {
  for (const name of NAMES.get(column) ?? []) {
    const value = attributes[name];
    if (typeof value === 'string' && value !== '') return value;
  }
  return undefined;
}

/** The names of the columns that have more than our own. */
const SEVERAL: ReadonlyMap<string, readonly string[]> = new Map(
  [...NAMES].filter(([, names]) => names.length > 1),
);

export interface UsageObject {
  readonly object: JsonObject;
  readonly attribute?: string | undefined;
  /** What holds it. */
  readonly whole?: JsonObject;
}

/** What a span says of its call under the names of all dialects. */
export interface Scalars {
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  /** Absent where there is no count. */
  readonly counts?: UsageReader | undefined;
  readonly cost?: ReportedCost | undefined;
  /** The costs that it tells are in no US dollars. */
  readonly isOfOtherCurrency?: boolean;
  /** Usage objects that the span holds as JSON. */
  readonly usageObjects?: readonly UsageObject[] | undefined;
  readonly serviceTier?: string | undefined;
  /** What the provider's answer says that it charges beside tokens, or in all. */
  readonly answered?: ReturnType<typeof chargesInText>;
}

type RankedCost = ReportedCost & { readonly rank: number };

type Place =
  | { readonly is: 'text'; readonly column: 'provider' | 'model'; readonly rank: number }
  | { readonly is: 'count'; readonly place: UsagePlace }
  | { readonly is: 'cost'; readonly listed: ListedCost }
  | { readonly is: 'object' | 'answer' };

const PLACES: ReadonlyMap<string, Place> = new Map<string, Place>([
  ...(['provider', 'model'] as const).flatMap((column) =>
    (NAMES.get(column) ?? []).map((name, rank): [string, Place] => [name, { is: 'text', column, rank }]),
  ),
  ...[...SPAN_PLACES].map(([name, place]): [string, Place] => [name, { is: 'count', place }]),
  ...[...SPAN_COSTS].map(([name, listed]): [string, Place] => [name, { is: 'cost', listed }]),
  ...USAGE_OBJECT_ATTRIBUTES.map((name): [string, Place] => [name, { is: 'object' }]),
  ...ANSWER_ATTRIBUTES.map((name): [string, Place] => [name, { is: 'answer' }]),
]);

/** Longer JSON of counts is not read. */
const MAX_OBJECT_CHARS = 65_536;

/**
 * Reads what a span says of its call; the first name with a valid value wins. One pass over the attributes is cheaper than
 * probing a hundred names.
 */
export function readScalars(attributes: JsonObject): Scalars {
  const texts: { provider?: string; model?: string } = {};
  const ranks = { provider: Number.POSITIVE_INFINITY, model: Number.POSITIVE_INFINITY };
  let counts: UsageReader | undefined;
  let cost: RankedCost | undefined;
  let usageObjects: readonly UsageObject[] | undefined;
  let serviceTier: string | undefined;
  let otherModel: string | undefined;
  let isOfOtherCurrency = false;
  let answered: Scalars['answered'];
  for (const name in attributes) {
    const place = PLACES.get(name);
    if (OUTPUT_NAME.test(name)) {
      serviceTier = betterTier(serviceTier, ANSWERED, tierInText(attributes[name]));
      answered ??= chargesInText(attributes[name]);
    }
    if (place === undefined) {
      if (name === 'metadata') {
        counts = takeMetadata(counts, attributes[name]);
        isOfOtherCurrency ||= saysOtherCurrency(readJsonObject(attributes[name]));
      }
      isOfOtherCurrency ||= namesOtherCurrency(name, attributes[name]);
      const other = placeOfOther(name);
      if (other === 'tier') serviceTier = betterTier(serviceTier, name, attributes[name]);
      else if (other === 'parameters')
        serviceTier = betterTier(serviceTier, name, tierInText(attributes[name]));
      else if (other === 'model') otherModel ??= toText(attributes[name])?.replaceAll('"', '');
      else if (other === 'cost') cost = betterCost(cost, costByWords(name), attributes);
      else if (other === 'object') usageObjects = withObject(usageObjects, name, attributes[name]);
      else if (other !== undefined) {
        counts ??= new UsageReader();
        if (other === 'mode') counts.takeMode(name, attributes[name]);
        else counts.take(other, attributes[name]);
      }
      continue;
    }
    const value = attributes[name];
    if (place.is === 'text') {
      const text = toText(value);
      if (!text || ranks[place.column] < place.rank) continue;
      texts[place.column] = text;
      ranks[place.column] = place.rank;
    } else if (place.is === 'count') {
      counts ??= new UsageReader();
      counts.take(place.place, value);
    } else if (place.is === 'cost') {
      isOfOtherCurrency ||= isInOtherCurrency(value) || saysOtherCurrency(readJsonObject(value), `${name}.`);
      cost = betterCost(cost, place.listed, attributes);
    } else if (place.is === 'answer') {
      const whole = readJsonObject(value) ?? {};
      const object = findUsage(whole);
      isOfOtherCurrency ||= saysOtherCurrency(whole);
      if (object !== undefined) usageObjects = [{ object, attribute: name }, ...(usageObjects ?? [])];
    } else {
      usageObjects = withObject(usageObjects, name, value);
    }
  }
  if ((counts ?? usageObjects) !== undefined && otherModel) texts.model ??= otherModel;
  if (isOfOtherCurrency) cost = undefined;
  return { ...texts, counts, cost, isOfOtherCurrency, usageObjects, serviceTier, answered };
}

/** Counts under names of spans that a translation to OpenInference has put into its metadata. */
function takeMetadata(known: UsageReader | undefined, value: unknown): UsageReader | undefined {
  if (typeof value !== 'string' || !value.includes('.usage.')) return known;
  let counts = known;
  for (const [name, count] of Object.entries(readJsonObject(value) ?? {}).slice(0, MAX_MEMBERS)) {
    const place = PLACES.get(name);
    if (place?.is !== 'count') continue;
    counts ??= new UsageReader();
    counts.take(place.place, count);
  }
  return counts;
}

function withObject(
  objects: readonly UsageObject[] = NO_OBJECTS,
  attribute: string,
  value: unknown,
): readonly UsageObject[] {
  const told = readJsonObject(value) ?? readPythonObject(value);
  if (told === undefined) return objects;
  const details = DETAILS_NAME.exec(attribute)?.[1];
  const whole = details === undefined ? told : { [details]: told };
  // The answer of a provider that a framework holds within its own.
  const answers = Object.values(whole).slice(0, MAX_MEMBERS).filter(isObject);
  const usages = [...answers, whole].map(findUsage).filter((usage) => usage !== undefined);
  return [
    ...objects,
    ...(usages.length === 0 ? [whole] : usages).map((object) => ({ object, attribute, whole })),
  ];
}

/** An object of counts as Python prints it: `{'cache_read': 400}`. */
function readPythonObject(value: unknown): JsonObject | undefined {
  if (typeof value !== 'string' || value.length > MAX_OBJECT_CHARS || !/^\{[\w\s':{},.-]*\}$/.test(value))
    return undefined;
  const json = value.replaceAll("'", '"').replace(/\bNone\b/g, 'null');
  return readJsonObject(json.replace(/\b(?:True|False)\b/g, (word) => word.toLowerCase()));
}

function findUsage({ usage, usage_metadata, usageMetadata }: JsonObject): JsonObject | undefined {
  return [usage, usage_metadata, usageMetadata].find(isObject);
}

const NO_OBJECTS: readonly UsageObject[] = [];

/** What no table names, by its words: the model, how a call was served, its cost, and counts below `usage` or of tokens. */
function placeOfOther(
  name: string,
): UsagePlace | 'model' | 'tier' | 'parameters' | 'mode' | 'cost' | 'object' | undefined {
  if (name.endsWith('service_tier') || name.endsWith('serviceTier')) return 'tier';
  if (name.endsWith('invocation_parameters')) return 'parameters';
  if (MODEL_NAME.test(name)) return 'model';
  if (!/usage|token|response|cost/i.test(name) || name.startsWith('observatory.')) return undefined;
  if (/cost/i.test(name)) return 'cost';
  if (USAGE_NAME.test(name) || DETAILS_NAME.test(name)) return 'object';
  if (MODE_NAME.test(name)) return 'mode';
  const [, before, after] = WHOLE_COUNT.exec(name) ?? [];
  const unit = WHOLES[(before ?? after ?? '').toLowerCase()];
  return unit === undefined ? placeByWords(name) : { unit, rank: Number.MAX_SAFE_INTEGER, dialects: [] };
}

/** `llm.model`, `openai.model`, `gen_ai.model.id`; `model` is read beside counts alone. */
const MODEL_NAME = /^(?:(?:gen_ai|llm|ai|openai)\.(?:[a-z]{1,20}\.)?)?model(?:[._]?(?:name|id))?$/i;

/** `agent.usage.input_tokens`, `usage.input_tokens` and `ai.llm.tokens.input`, but no sum over a session, and no limit. */
const WHOLE_COUNT =
  /^(?!.{0,100}(?:session|cumul|conversation|thread|limit|max|budget))(?:[\w.]{1,60}\.)?(?:usage\.(input|prompt|output|completion|total)[._]?tokens|tokens\.(input|prompt|output|completion|total))$/i;

const WHOLES: Readonly<Record<string, UsagePlace['unit']>> = {
  input: 'inputTokens',
  prompt: 'inputTokens',
  output: 'outputTokens',
  completion: 'outputTokens',
  total: 'totalTokens',
};

/** `usage` and `llm.token_usage`, which may hold JSON. */
const USAGE_NAME = /(?:^|[._:])(?:token_?)?usage(?:_?(?:metadata|details))?$/i;

/** `gen_ai.usage.input_token_details`, the member of a usage object that has parts of its counts. */
const DETAILS_NAME = /\busage\.((?:input|output|prompt|completion)_tokens?_details)$/;

/** `gen_ai.usage.speed`. */
const MODE_NAME = /(?:^|[._])(?:usage|response)\.(?:speed|inference_geo|traffic_?type)$/i;

/** What the response says goes before what was asked for. */
function betterTier(known: string | undefined, name: string, value: unknown): string | undefined {
  const tier = toText(value);
  return tier && (known === undefined || name.includes(ANSWERED)) ? tier : known;
}

const ANSWERED = 'response';

/** `output.value`, `mlflow.spanOutputs`, `langfuse.observation.output`, `gen_ai.completion`: maybe a provider's whole answer. */
export const OUTPUT_NAME = /(?:[oO]utputs?(?:[._](?:value|json))?|completion)$/;

function betterCost(
  known: RankedCost | undefined,
  listed: ListedCost | undefined,
  attributes: JsonObject,
): RankedCost | undefined {
  if (listed === undefined || (known !== undefined && known.rank <= listed.rank)) return known;
  const { rank, name } = listed;
  const value = attributes[name.name];
  const rest = name.and === undefined ? undefined : attributes[name.and];
  const cost = readCost(readJsonObject(value) ?? value, name, rest);
  return cost === undefined ? known : { ...cost, rank };
}

/** An attribute that holds an object, mostly as JSON text. */
export function readJsonObject(value: unknown): JsonObject | undefined {
  if (typeof value === 'string' && value.length > MAX_OBJECT_CHARS) return undefined;
  const parsed = parseContainerOrKeep(value);
  return isObject(parsed) ? parsed : undefined;
}

/** Whether a span has a count of tokens, or a cost, under the name of any dialect. */
export function says(what: 'count' | 'cost', attributes: JsonObject): boolean {
  for (const name in attributes) if (PLACES.get(name)?.is === what) return true;
  return false;
}

/**
 * Whether a span already has this value for a column, under the name that takes precedence; of columns that only we
 * write nobody asks.
 */
export function hasFieldValue(attributes: JsonObject, column: AttributeColumn, value: unknown): boolean {
  for (const name of SEVERAL.get(column) ?? []) {
    if (attributes[name] !== undefined) return attributes[name] === value;
  }
  return false;
}

/** Whether an attribute belongs to a GenAI or MCP dialect. The first character rules out nearly every key. */
export function isGenAiName(key: string): boolean {
  switch (key.charCodeAt(0)) {
    case 0x67: // g
      return key.startsWith('gen_ai.') || key.startsWith('genkit:');
    case 0x6d: // m
      return key.startsWith('mcp.') || key.startsWith('mlflow.');
    case 0x6c: // l
      return key.startsWith('llm.') || /^lang(?:fuse|smith|watch)\./.test(key);
    case 0x62: // b
      return key.startsWith('braintrust.');
    case 0x6f: // o
      return key === 'openinference.span.kind' || key.startsWith('openai.');
    case 0x68: // h
      return key.startsWith('haystack.');
    case 0x69: // i
      return key === 'input_tokens';
    case 0x70: // p
      return key === 'prompt_tokens';
    case 0x74: // t
      return key.startsWith('traceloop.');
    case 0x61: // a
      return key.startsWith('ai.');
    default:
      return false;
  }
}
