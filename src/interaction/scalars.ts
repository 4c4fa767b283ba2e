import { type AttributeColumn, FIELDS, listAttributeNames, USAGE_OBJECT_ATTRIBUTES } from '../base/index.ts';
import { isObject, type JsonObject, parseContainerOrKeep, toText } from '../json/index.ts';
import {
  placeByWords,
  type ReportedCost,
  readCost,
  SPAN_COSTS,
  SPAN_PLACES,
  type UsagePlace,
  UsageReader,
} from '../signals/index.ts';

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
}

/** What a span says of its call under the names of all dialects. */
export interface Scalars {
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  /** Absent where there is no count. */
  readonly counts?: UsageReader | undefined;
  readonly cost?: ReportedCost | undefined;
  /** Usage objects that the span holds as JSON. */
  readonly usageObjects?: readonly UsageObject[] | undefined;
  readonly serviceTier?: string | undefined;
}

type ListedCost = NonNullable<ReturnType<(typeof SPAN_COSTS)['get']>>;
type RankedCost = ReportedCost & { readonly rank: number };

type Place =
  | { readonly is: 'text'; readonly column: 'provider' | 'model'; readonly rank: number }
  | { readonly is: 'count'; readonly place: UsagePlace }
  | { readonly is: 'cost'; readonly listed: ListedCost }
  | { readonly is: 'object' };

const PLACES: ReadonlyMap<string, Place> = new Map<string, Place>([
  ...(['provider', 'model'] as const).flatMap((column) =>
    (NAMES.get(column) ?? []).map((name, rank): [string, Place] => [name, { is: 'text', column, rank }]),
  ),
  ...[...SPAN_PLACES].map(([name, place]): [string, Place] => [name, { is: 'count', place }]),
  ...[...SPAN_COSTS].map(([name, listed]): [string, Place] => [name, { is: 'cost', listed }]),
  ...USAGE_OBJECT_ATTRIBUTES.map((name): [string, Place] => [name, { is: 'object' }]),
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
  for (const name in attributes) {
    const place = PLACES.get(name);
    if (place === undefined) {
      const other = placeOfOther(name);
      if (other === 'tier') serviceTier = betterTier(serviceTier, name, attributes[name]);
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
      cost = betterCost(cost, place.listed, attributes);
    } else {
      usageObjects = withObject(usageObjects, name, value);
    }
  }
  return { ...texts, counts, cost, usageObjects, serviceTier };
}

function withObject(
  objects: readonly UsageObject[] = NO_OBJECTS,
  attribute: string,
  value: unknown,
): readonly UsageObject[] {
  const whole = readJsonObject(value);
  if (whole === undefined) return objects;
  const inner = [whole.usage, whole.usage_metadata, whole.usageMetadata].find(isObject);
  return [...objects, { object: inner ?? whole, attribute }];
}

const NO_OBJECTS: readonly UsageObject[] = [];

/** What no table names, by its words: how a call was served, and counts below `usage` or of tokens. */
function placeOfOther(name: string): UsagePlace | 'tier' | 'mode' | 'object' | undefined {
  if (name.endsWith('service_tier') || name.endsWith('serviceTier')) return 'tier';
  if (USAGE_NAME.test(name)) return 'object';
  if (MODE_NAME.test(name)) return 'mode';
  return /usage|token/i.test(name) && !name.startsWith('observatory.') ? placeByWords(name) : undefined;
}

/** `usage` and `llm.token_usage`, which may hold JSON. */
const USAGE_NAME = /(?:^|[._:])(?:token_?)?usage(?:_?(?:metadata|details))?$/i;

/** `gen_ai.usage.speed`. */
const MODE_NAME = /(?:^|[._])(?:usage|response)\.(?:speed|inference_geo|traffic_?type)$/i;

/** What the response says goes before what was asked for. */
function betterTier(known: string | undefined, name: string, value: unknown): string | undefined {
  const tier = toText(value);
  return tier && (known === undefined || name.includes('response')) ? tier : known;
}

function betterCost(
  known: RankedCost | undefined,
  { rank, name }: ListedCost,
  attributes: JsonObject,
): RankedCost | undefined {
  if (known !== undefined && known.rank <= rank) return known;
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

/** Whether a span has a count of tokens, under the name of any dialect. */
export function saysTokens(attributes: JsonObject): boolean {
  for (const name in attributes) if (PLACES.get(name)?.is === 'count') return true;
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
