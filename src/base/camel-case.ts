/**
 * The only conversion between naming styles: TypeScript says `promptHash`, columns and wire documents say
 * `prompt_hash`. Keys of user data (tool arguments, results, prompts) never pass through here: spans are converted by
 * the table of the field dictionary, documents member by member without a look at the values.
 */
import { type AttributeColumn, FIELDS, type FieldValues, toAttribute } from './fields.ts';
import * as semconv from './semconv.ts';

/** `hallucination_risk_score` -> `hallucinationRiskScore`. */
export type CamelCase<S extends string> = S extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : S;

/** {@link FieldValues} under their TypeScript names. */
export type CamelFieldValues = {
  readonly [C in AttributeColumn as CamelCase<C>]?: FieldValues[C] | undefined;
};

const COLUMN_OF_CAMEL: ReadonlyMap<string, AttributeColumn> = new Map(
  FIELDS.filter((field) => field.origin === 'attribute').map((field) => [
    camelCase(field.column),
    field.column,
  ]),
);

/** Converts field values to columns. Fields that are `undefined`, and names the dictionary lacks, are left out. */
export function toColumns(fields: CamelFieldValues): FieldValues {
  const values: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    const column = COLUMN_OF_CAMEL.get(name);
    if (column !== undefined && value !== undefined) values[column] = value;
  }
  return values as FieldValues;
}

const STANDARD_TOKENS: ReadonlyMap<AttributeColumn, string> = new Map([
  ['prompt_tokens', semconv.ATTR_GEN_AI_USAGE_INPUT_TOKENS],
  ['completion_tokens', semconv.ATTR_GEN_AI_USAGE_OUTPUT_TOKENS],
  ['cached_prompt_tokens', semconv.ATTR_GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS],
  ['cache_write_tokens', semconv.ATTR_GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS],
  ['reasoning_tokens', semconv.ATTR_GEN_AI_USAGE_REASONING_OUTPUT_TOKENS],
]);

/**
 * The `observatory.*` attributes among a span's, under their TypeScript names. Tokens are read under their standard names
 * too, for those are not set twice.
 */
export function fromAttributes(attributes: Readonly<Record<string, unknown>>): CamelFieldValues {
  const fields: Record<string, unknown> = {};
  for (const [name, column] of COLUMN_OF_CAMEL) {
    const value = attributes[toAttribute(column)] ?? attributes[STANDARD_TOKENS.get(column) ?? ''];
    if (value !== undefined) fields[name] = value;
  }
  return fields as CamelFieldValues;
}

/** `hallucinationRiskScore` -> `hallucination_risk_score`. */
type SnakeCase<S extends string> = S extends `${infer Head}${infer Tail}`
  ? `${Head extends Lowercase<Head> ? Head : `_${Lowercase<Head>}`}${SnakeCase<Tail>}`
  : S;

/** An object under its names on the wire. */
export type SnakeKeys<T> = { readonly [K in keyof T as K extends string ? SnakeCase<K> : never]: T[K] };

/** The object with its own names in snake_case; its values are not walked. */
export function snakeKeys<T extends object>(fields: T): SnakeKeys<T> {
  return renamed(fields, snakeCase) as SnakeKeys<T>;
}

/** The inverse of {@link snakeKeys}, for documents whose names are known. */
export function camelKeys(fields: object): Record<string, unknown> {
  return renamed(fields, camelCase);
}

function renamed(fields: object, rename: (name: string) => string): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [rename(name), value]));
}

export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

export function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
