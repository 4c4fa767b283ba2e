import { isExactInteger, isObject, readList } from '../../json/index.ts';
import {
  type AnySchema,
  SCHEMA_KEYWORDS,
  SCHEMA_LIST_KEYWORDS,
  SCHEMA_MAP_KEYWORDS,
  type Schema,
  setKey,
  Unconvertible,
} from './json-schema.ts';

/** Levels of nesting, of schemas and of the values in them; a tool beyond this or the next is unsupported. */
const MAX_DEPTH = 64;
/** Objects, lists and values in a schema. */
const MAX_NODES = 20_000;

const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);
const LISTS_OF_STRINGS = new Set(['required', 'propertyOrdering']);
const COUNTS = new Set([
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
  'minContains',
  'maxContains',
]);
const NUMBERS = new Set(['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']);
const BOOLEANS = new Set(['uniqueItems', 'deprecated', 'readOnly', 'writeOnly']);
const STRINGS = new Set([
  'title',
  'description',
  '$comment',
  'format',
  'pattern',
  '$ref',
  '$dynamicRef',
  '$recursiveRef',
  '$id',
  '$anchor',
  '$dynamicAnchor',
  'contentEncoding',
  'contentMediaType',
]);

/**
 * Copies a schema into the form of JSON Schema 2020-12, whatever draft it was written in (draft-03 to 2019-09, or the
 * OpenAPI dialect with `nullable`). What no draft allows (a list as `properties`, an unknown type) is left out: the
 * providers answer it with an error for the whole request. The original is never changed.
 *
 * @throws Unconvertible when the schema is too large or too deep, circular objects included.
 */
export function normalizeSchema(schema: Schema): Schema {
  const copy = new Normalizer().schema(schema, 0);
  return copy === true || copy === false ? {} : copy;
}

/**
 * Bounds beyond 2^53 say nothing about the numbers a model writes. Providers refuse them ("number too large") or read
 * others in their place.
 */
function isBound(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && Math.abs(value) <= Number.MAX_SAFE_INTEGER;
}

class Normalizer {
  #nodes = 0;

  schema(raw: unknown, depth: number): AnySchema {
    this.#count(depth);
    if (typeof raw === 'boolean') return raw;
    if (!isObject(raw)) return true;
    const out: Schema = {};
    for (const [keyword, value] of Object.entries(raw)) this.#keyword(out, keyword, value, depth);
    this.#oldArrays(out, raw, depth);
    oldBounds(out, raw);
    this.#oldDependencies(out, raw, depth);
    oldRequired(out, raw);
    // Values that no number holds are texts, which become numbers again before the call.
    if (out.type !== undefined && [raw.const, ...readList(raw.enum)].some(isExactInteger))
      out.type = [...new Set([out.type, 'string'].flat())];
    if (raw.nullable === true && out.type !== undefined) out.type = [...new Set([out.type, 'null'].flat())];
    return out;
  }

  #keyword(out: Schema, keyword: string, value: unknown, depth: number): void {
    if (SCHEMA_KEYWORDS.has(keyword)) {
      if (isObject(value) || typeof value === 'boolean') out[keyword] = this.schema(value, depth + 1);
    } else if (SCHEMA_LIST_KEYWORDS.has(keyword)) {
      if (Array.isArray(value) && value.length > 0)
        out[keyword] = value.map((each) => this.schema(each, depth + 1));
    } else if (SCHEMA_MAP_KEYWORDS.has(keyword) || keyword === 'definitions') {
      if (isObject(value)) this.#schemaMap(out, keyword === 'definitions' ? '$defs' : keyword, value, depth);
    } else if (keyword === 'type') {
      const type = readType(value);
      if (type !== undefined) out.type = type;
    } else if (keyword === 'enum') {
      if (Array.isArray(value) && value.length > 0) out.enum = this.#value(value, depth + 1);
    } else if (LISTS_OF_STRINGS.has(keyword)) {
      if (Array.isArray(value)) out[keyword] = [...new Set(value.filter((each) => typeof each === 'string'))];
    } else if (COUNTS.has(keyword)) {
      if (Number.isInteger(value) && (value as number) >= 0) out[keyword] = value;
    } else if (NUMBERS.has(keyword)) {
      if (isBound(value) && (keyword !== 'multipleOf' || (value as number) > 0)) out[keyword] = value;
    } else if (STRINGS.has(keyword)) {
      if (typeof value === 'string' && (keyword !== 'pattern' || isPattern(value))) out[keyword] = value;
    } else if (BOOLEANS.has(keyword)) {
      if (typeof value === 'boolean') out[keyword] = value;
    } else if (keyword === 'examples') {
      if (Array.isArray(value)) out[keyword] = this.#value(value, depth + 1);
    } else if (keyword === 'dependentRequired') {
      if (isObject(value)) out[keyword] = namesByName(value);
    } else if (keyword === 'id') {
      if (typeof value === 'string') out.$id ??= value; // draft-04
    } else if (!LEFT_OUT.has(keyword)) {
      const copy = this.#value(value, depth + 1);
      if (copy !== undefined) out[keyword] = copy;
    }
  }

  #schemaMap(out: Schema, keyword: string, value: Schema, depth: number): void {
    const map = (out[keyword] ?? {}) as Schema;
    for (const [name, sub] of Object.entries(value)) setKey(map, name, this.schema(sub, depth + 1));
    out[keyword] = map;
  }

  /** Until 2019-09 a list under `items` meant what `prefixItems` means now, and `additionalItems` the rest. */
  #oldArrays(out: Schema, raw: Schema, depth: number): void {
    if (!Array.isArray(raw.items)) return;
    if (raw.items.length > 0) out.prefixItems ??= raw.items.map((each) => this.schema(each, depth + 1));
    const rest = raw.additionalItems;
    if (isObject(rest) || typeof rest === 'boolean') out.items = this.schema(rest, depth + 1);
  }

  /** `dependencies` was split in two in 2019-09. */
  #oldDependencies(out: Schema, raw: Schema, depth: number): void {
    if (!isObject(raw.dependencies)) return;
    for (const [name, value] of Object.entries(raw.dependencies)) {
      const keyword = Array.isArray(value) ? 'dependentRequired' : 'dependentSchemas';
      const map = (out[keyword] ?? {}) as Schema;
      out[keyword] = map;
      setKey(map, name, Array.isArray(value) ? readNames(value) : this.schema(value, depth + 1));
    }
  }

  /** A copy of a JSON value that is no schema: a default, an enum, an unknown keyword. */
  #value(value: unknown, depth: number): unknown {
    this.#count(depth);
    if (Array.isArray(value)) return value.map((each) => this.#value(each, depth + 1) ?? null);
    if (isObject(value)) {
      const out: Schema = {};
      for (const [key, each] of Object.entries(value)) {
        const copy = this.#value(each, depth + 1);
        if (copy !== undefined) setKey(out, key, copy);
      }
      return out;
    }
    return typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint'
      ? undefined
      : value;
  }

  #count(depth: number): void {
    if (depth > MAX_DEPTH)
      throw new Unconvertible(`its schema is nested more than ${MAX_DEPTH} levels deep, or contains itself`);
    if (++this.#nodes > MAX_NODES) throw new Unconvertible(`its schema has more than ${MAX_NODES} parts`);
  }
}

/** Handled above under their new names, or without a meaning outside their own document. */
const LEFT_OUT = new Set([
  '$schema',
  '$vocabulary',
  'additionalItems',
  'dependencies',
  'nullable',
  '$recursiveAnchor',
  // No keyword, and a copy by assignment would become the prototype.
  '__proto__',
]);

function readNames(list: readonly unknown[]): string[] {
  return [...new Set(list.filter((each) => typeof each === 'string'))];
}

function namesByName(map: Schema): Schema {
  const out: Schema = {};
  for (const [name, list] of Object.entries(map)) if (Array.isArray(list)) setKey(out, name, readNames(list));
  return out;
}

function readType(value: unknown): string | string[] | undefined {
  if (typeof value === 'string') return TYPES.has(value) ? value : undefined;
  if (!Array.isArray(value)) return undefined;
  // An unknown name in the list ("any" of draft-03) may mean anything, so the list is no constraint.
  if (!value.every((each) => TYPES.has(each as string))) return undefined;
  const types = [...new Set(value as string[])];
  return types.length > 1 ? types : types[0];
}

/** In draft-04 `exclusiveMinimum: true` turned `minimum` into an open bound. */
function oldBounds(out: Schema, raw: Schema): void {
  for (const [open, bound] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    if (raw[open] !== true || out[bound] === undefined) continue;
    out[open] = out[bound];
    delete out[bound];
  }
}

/** In draft-03 a property said of itself that it is required; hand-written schemas still do. */
function oldRequired(out: Schema, raw: Schema): void {
  if (!isObject(raw.properties)) return;
  const named = Object.entries(raw.properties)
    .filter(([, sub]) => isObject(sub) && sub.required === true)
    .map(([name]) => name);
  if (named.length > 0) out.required = [...new Set([...((out.required as string[]) ?? []), ...named])];
}

function isPattern(text: string): boolean {
  try {
    new RegExp(text, 'u');
    return true;
  } catch {
    return false;
  }
}
