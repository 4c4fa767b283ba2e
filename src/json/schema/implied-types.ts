/** The types that the keywords of a schema are about. JSON Schema lets a value of any other type pass them. */
import type { JsonObject } from '../lenient-json.ts';
import { NUMBER_FORMATS } from './formats.ts';

/**
 * How a schema is read. `wide`: as JSON Schema has it, where `maximum` says nothing about a text. `narrow`: a limit wants
 * a value of its type. What is valid in the narrow reading is valid in the wide one.
 */
export type SchemaReading = 'wide' | 'narrow';

export function toOpposite(reading: SchemaReading): SchemaReading {
  return reading === 'wide' ? 'narrow' : 'wide';
}

const KEYWORDS: readonly (readonly [type: string, keywords: string])[] = [
  ['number', 'minimum maximum exclusiveMinimum exclusiveMaximum multipleOf'],
  ['string', 'minLength maxLength pattern'],
  ['array', 'items prefixItems additionalItems contains minItems maxItems uniqueItems unevaluatedItems'],
  [
    'object',
    'properties patternProperties additionalProperties propertyNames required minProperties maxProperties ' +
      'dependentRequired dependentSchemas dependencies unevaluatedProperties',
  ],
];
const TYPES: ReadonlyMap<string, string> = new Map(
  KEYWORDS.flatMap(([type, keywords]) => keywords.split(' ').map((keyword) => [keyword, type] as const)),
);

/** What a schema without `type` wants in the narrow reading; none if it has a `type` or no limit. */
export function impliedTypes(schema: JsonObject): readonly string[] {
  if (schema.type !== undefined) return [];
  const types = Object.keys(schema).flatMap((keyword) => {
    if (schema[keyword] === undefined) return [];
    if (keyword === 'format') return NUMBER_FORMATS.has(String(schema.format)) ? 'number' : 'string';
    return TYPES.get(keyword) ?? [];
  });
  if (types.length > 0 && schema.nullable === true) types.push('null');
  return [...new Set(types)];
}

/** The values of which a schema itself wants one, if it names them. */
export interface SchemaWants {
  readonly values?: readonly unknown[];
}

export function listWants(schema: JsonObject): SchemaWants {
  const values = schema.const === undefined ? schema.enum : [schema.const];
  return Array.isArray(values) ? { values } : {};
}
