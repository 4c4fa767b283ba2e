import { isObject, readObject } from '../../json/index.ts';
import { type AnySchema, type Relax, type Schema, sameJson, setKey } from './json-schema.ts';

const MAX_NOTE_CHARS = 200;

/** Keywords that say nothing about what is accepted. */
const ANNOTATIONS = new Set(['default', 'examples', 'example', 'deprecated']);

/** Says nothing a model could use, in no schema language. */
const SILENT = new Set([
  '$comment',
  'readOnly',
  'writeOnly',
  'contentEncoding',
  'contentMediaType',
  'contentSchema',
]);

const WORDS: Readonly<Record<string, (value: string) => string>> = {
  default: (value) => `default: ${value}`,
  examples: (value) => `examples: ${value}`,
  example: (value) => `example: ${value}`,
  deprecated: () => 'deprecated',
  pattern: (value) => `matches the pattern ${value}`,
  minLength: (value) => `at least ${value} characters`,
  maxLength: (value) => `at most ${value} characters`,
  exclusiveMinimum: (value) => `greater than ${value}`,
  exclusiveMaximum: (value) => `less than ${value}`,
  multipleOf: (value) => `a multiple of ${value}`,
  uniqueItems: () => 'no two items alike',
  minProperties: (value) => `at least ${value} entries`,
  maxProperties: (value) => `at most ${value} entries`,
  enum: (value) => `one of ${value}`,
};

const CONSTRAINTS = new Set([
  ...Object.keys(WORDS),
  'not',
  'if',
  'then',
  'else',
  'contains',
  'minContains',
  'maxContains',
  'propertyNames',
  'dependentRequired',
  'dependentSchemas',
  'unevaluatedItems',
  'unevaluatedProperties',
]);

/** Collects in words what Gemini's schema language cannot say, for the end of a description. */
export class GeminiNotes {
  readonly #notes: string[] = [];

  add(keyword: string, value: unknown): boolean {
    if (SILENT.has(keyword) || value === undefined) return false;
    if (keyword === 'uniqueItems' && value !== true) return false;
    const json = typeof value === 'string' && keyword === 'pattern' ? value : (JSON.stringify(value) ?? '');
    const text = json.length > MAX_NOTE_CHARS ? `${json.slice(0, MAX_NOTE_CHARS - 3)}...` : json;
    const words = WORDS[keyword];
    if (words !== undefined) this.#notes.push(words(text));
    else if (CONSTRAINTS.has(keyword)) this.#notes.push(`${keyword}: ${text}`);
    return CONSTRAINTS.has(keyword) && !ANNOTATIONS.has(keyword);
  }

  appendTo(description: string | undefined): string | undefined {
    if (this.#notes.length === 0) return description;
    const notes = `(${this.#notes.join('; ')})`;
    return description ? `${description} ${notes}` : notes;
  }
}

/** The values `enum` and `const` leave, as far as they are of the type; undefined when any value will do. */
export function allowedValues(schema: Schema): readonly unknown[] | undefined {
  const listed = schema.enum as unknown[] | undefined;
  const values = Object.hasOwn(schema, 'const')
    ? [schema.const].filter((each) => listed === undefined || listed.some((other) => sameJson(each, other)))
    : listed;
  const types = schema.type === undefined ? undefined : [schema.type].flat();
  return values?.filter(
    (each) => types === undefined || types.some((type) => isOfType(each, type as string)),
  );
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

/** Writes the values as far as the subset has them; false when some had to be left out. */
export function writeEnum(values: readonly unknown[], out: Schema, notes: GeminiNotes): boolean {
  const plain = values.filter((each) => typeof each === 'string' || typeof each === 'number');
  const others = values.filter((each) => !plain.includes(each as never));
  if (others.length === 0) {
    out.enum = plain;
    out.type ??= typeOfAll(plain);
    return true;
  }
  if (others.every((each) => each === null) && plain.length > 0 && out.anyOf === undefined) {
    const { type: _type, ...rest } = out;
    for (const keyword of Object.keys(out)) delete out[keyword];
    Object.assign(out, rest, { anyOf: [{ type: typeOfAll(plain), enum: plain }, { type: 'null' }] });
    return true;
  }
  const booleans = new Set(others.filter((each) => typeof each === 'boolean'));
  if (plain.length === 0 && booleans.size === others.length) {
    out.type = 'boolean';
    if (booleans.size === 2) return true;
  } else if (others.every((each) => each === null) && plain.length === 0) {
    out.type = 'null';
    return true;
  }
  notes.add('enum', values);
  return false;
}

function typeOfAll(values: readonly unknown[]): string | string[] {
  const types = [
    ...new Set(
      values.map((each) =>
        typeof each === 'string' ? 'string' : Number.isInteger(each) ? 'integer' : 'number',
      ),
    ),
  ];
  return types.length === 1 ? (types[0] as string) : types;
}

/** `exclusiveMinimum: 0` of an integer is `minimum: 1`; of a number it can only be said in words. */
export function openBounds(schema: Schema, out: Schema, relax: (keyword: string) => void): void {
  for (const [open, bound, step] of [
    ['exclusiveMinimum', 'minimum', 1],
    ['exclusiveMaximum', 'maximum', -1],
  ] as const) {
    const value = schema[open];
    if (typeof value !== 'number') continue;
    const isInteger = schema.type === 'integer';
    const closed = !isInteger ? value : step === 1 ? Math.floor(value) + 1 : Math.ceil(value) - 1;
    const present = out[bound] as number | undefined;
    out[bound] =
      present === undefined ? closed : step === 1 ? Math.max(present, closed) : Math.min(present, closed);
    if (!isInteger) relax(open);
  }
}

/** Says what may stand under names that `properties` does not list. */
export function writeOtherProperties(
  out: Schema,
  schema: Schema,
  path: string,
  convert: (schema: AnySchema, path: string) => AnySchema,
  relax: Relax,
): void {
  const additional = schema.additionalProperties as AnySchema | undefined;
  const patterns = schema.patternProperties;
  const unevaluated = schema.unevaluatedProperties;
  if (unevaluated !== undefined && unevaluated !== true) {
    // Where nothing but `properties` evaluates any, it means the same as `additionalProperties`.
    const plain = !['anyOf', 'oneOf', 'if', 'dependentSchemas', 'patternProperties'].some(
      (keyword) => schema[keyword] !== undefined,
    );
    if (unevaluated === false && plain) out.additionalProperties = false;
    else relax(path, 'unevaluatedProperties');
  }
  if (isObject(patterns)) {
    relax(path, 'patternProperties');
    // The names cannot be said, so what stands under any of them is allowed under all.
    const options = [...Object.values(patterns), ...(isObject(additional) ? [additional] : [])];
    if (additional === false || isObject(additional)) {
      const converted = options
        .map((each) => convert(each as AnySchema, `${path}/additionalProperties`))
        .filter((each) => each !== false);
      out.additionalProperties = converted.length > 1 ? { anyOf: converted } : (converted[0] ?? false);
    }
    return;
  }
  if (typeof additional === 'boolean') out.additionalProperties = additional;
  else if (additional !== undefined)
    out.additionalProperties = convert(additional, `${path}/additionalProperties`);
}

/** Keywords that assert something of values of one type alone. */
const PARTS = {
  object: ['properties', 'required', 'additionalProperties', 'propertyOrdering'],
  array: ['items', 'prefixItems', 'minItems', 'maxItems'],
} as const;

/**
 * Gemini refuses parts of a type beside another one, lists without `items`, and a list of types of which one has parts:
 * that becomes alternatives.
 */
export function fitToType(schema: Schema): Schema {
  if (schema.type === undefined) return schema;
  const types = [schema.type].flat() as string[];
  for (const [type, keywords] of Object.entries(PARTS)) {
    if (!types.includes(type)) for (const keyword of keywords) delete schema[keyword];
  }
  if (types.includes('array') && schema.prefixItems === undefined) schema.items ??= {};
  const hasParts = Object.keys(PARTS).some((type) => types.includes(type));
  if (types.length < 2 || !hasParts) return schema;
  if (schema.enum !== undefined) {
    // Its values say all.
    for (const keyword of PARTS.object) delete schema[keyword];
    return schema;
  }
  const { title, description, ...rest } = schema;
  return {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    anyOf: types.map((type) => fitToType(type === 'null' ? { type } : { ...rest, type })),
  };
}

/** Gemini wants every required name among the properties. */
export function nameRequired(out: Schema, required: readonly string[]): void {
  const properties = (out.properties ?? {}) as Schema;
  const others = out.additionalProperties;
  for (const name of required) {
    if (!Object.hasOwn(properties, name)) setKey(properties, name, readObject(others));
  }
  out.properties = properties;
  out.required = required;
}
