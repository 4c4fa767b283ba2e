import { type AttributeColumn, attributeNamesOf, FIELDS } from '../base/index.ts';
import { countOf, type JsonObject, textOf } from '../json/index.ts';

/** The attribute names of each column. */
const NAMES: ReadonlyMap<string, readonly string[]> = new Map(
  FIELDS.filter((field) => field.origin === 'attribute').map((field) => [
    field.column,
    attributeNamesOf(field),
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

/** Columns of a call that hold one text or one count, as far as a span has them. */
export type Scalars = { readonly [C in TextColumn]?: string } & { readonly [C in CountColumn]?: number };

const TEXT_COLUMNS = ['provider', 'model'] as const satisfies readonly AttributeColumn[];
const COUNT_COLUMNS = [
  'prompt_tokens',
  'completion_tokens',
  'cached_prompt_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
] as const satisfies readonly AttributeColumn[];

type TextColumn = (typeof TEXT_COLUMNS)[number];
type CountColumn = (typeof COUNT_COLUMNS)[number];

interface Place {
  readonly column: TextColumn | CountColumn;
  /** Rank of the name; 0 takes precedence. */
  readonly rank: number;
  readonly isText: boolean;
}

const PLACES: ReadonlyMap<string, Place> = new Map(
  [...TEXT_COLUMNS, ...COUNT_COLUMNS].flatMap((column, index) =>
    (NAMES.get(column) ?? []).map((name, rank): [string, Place] => [
      name,
      { column, rank, isText: index < TEXT_COLUMNS.length },
    ]),
  ),
);

/**
 * Reads the scalars under the names of all dialects; the first name with a valid value wins: a non-empty text or an
 * integer from 0 up. One pass over the attributes is cheaper than probing fifty names.
 */
export function readScalars(attributes: JsonObject): Scalars {
  const found: { [C in TextColumn | CountColumn]?: unknown } = {};
  const ranks: { [C in TextColumn | CountColumn]?: number } = {};
  for (const name in attributes) {
    const place = PLACES.get(name);
    if (place === undefined) continue;
    const { column, rank, isText } = place;
    const value = isText ? textOf(attributes[name]) || undefined : countOf(attributes[name]);
    if (value === undefined || (ranks[column] ?? rank) < rank) continue;
    found[column] = value;
    ranks[column] = rank;
  }
  return found as Scalars;
}

/** Whether a span has a count of tokens, under the name of any dialect. */
export function saysTokens(attributes: JsonObject): boolean {
  for (const name in attributes) if (PLACES.get(name)?.isText === false) return true;
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
