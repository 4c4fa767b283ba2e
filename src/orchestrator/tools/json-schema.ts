import { isObject } from '../../json/index.ts';

/** A schema in the local copy that is being converted. */
export type Schema = { [keyword: string]: unknown };
/** In JSON Schema `true` accepts everything and `false` nothing. */
export type AnySchema = Schema | boolean;

export const SCHEMA_KEYWORDS: ReadonlySet<string> = new Set([
  'additionalProperties',
  'unevaluatedProperties',
  'propertyNames',
  'items',
  'unevaluatedItems',
  'contains',
  'contentSchema',
  'not',
  'if',
  'then',
  'else',
]);
export const SCHEMA_LIST_KEYWORDS: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
/** Keywords whose value is an object of schemas by name. */
export const SCHEMA_MAP_KEYWORDS: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'dependentSchemas',
]);

/** The tool cannot be offered to this provider; the message is the reason reported for it. */
export class Unconvertible extends Error {}

/** Sets an own property whatever its name: plain assignment to `__proto__` would be lost. */
export function setKey(target: Schema, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    target[key] = value;
  }
}

/** The same schema with every direct subschema replaced by what `visit` makes of it. */
export function mapSubschemas(schema: Schema, visit: (sub: AnySchema, keyword: string) => AnySchema): Schema {
  const mapped: Schema = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (SCHEMA_KEYWORDS.has(keyword)) {
      mapped[keyword] = visit(value as AnySchema, keyword);
    } else if (SCHEMA_LIST_KEYWORDS.has(keyword)) {
      mapped[keyword] = (value as AnySchema[]).map((each) => visit(each, keyword));
    } else if (SCHEMA_MAP_KEYWORDS.has(keyword)) {
      const map: Schema = {};
      for (const [name, sub] of Object.entries(value as Schema))
        setKey(map, name, visit(sub as AnySchema, keyword));
      mapped[keyword] = map;
    } else {
      mapped[keyword] = value;
    }
  }
  return mapped;
}

/** Every direct subschema, with the keyword it stands under. */
export function* subschemas(schema: Schema): Generator<[keyword: string, sub: AnySchema]> {
  for (const [keyword, value] of Object.entries(schema)) {
    if (SCHEMA_KEYWORDS.has(keyword)) yield [keyword, value as AnySchema];
    else if (SCHEMA_LIST_KEYWORDS.has(keyword))
      for (const each of value as AnySchema[]) yield [keyword, each];
    else if (SCHEMA_MAP_KEYWORDS.has(keyword))
      for (const each of Object.values(value as Schema)) yield [keyword, each as AnySchema];
  }
}

/** Equality of JSON values, object keys in any order. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((each, i) => sameJson(each, b[i]));
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key], b[key]))
  );
}

/** A constraint the provider's schema language cannot say, so the model may break it. */
export interface RelaxedConstraint {
  /** JSON pointer to the schema that lost it, in the converted schema. */
  readonly path: string;
  readonly keyword: string;
}

/** Notes a constraint that is lost. */
export type Relax = (path: string, keyword: string) => void;
