import type { JsonObject } from '../lenient-json.ts';

/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
export const SUBSCHEMAS = {
  one: (
    'not if then else items additionalItems contains additionalProperties propertyNames unevaluatedItems ' +
    'unevaluatedProperties contentSchema'
  ).split(' '),
  lists: 'allOf anyOf oneOf prefixItems items'.split(' '),
  maps: 'properties patternProperties $defs definitions dependentSchemas dependencies'.split(' '),
};

const self = { $ref: '#' };
const count = { type: 'integer', minimum: 0 };
const number = { type: 'number' };
const text = { type: 'string' };
const flag = { type: 'boolean' };
const schemas = { type: 'array', minItems: 1, items: self };
const byName = { type: 'object', additionalProperties: self };
const names = { type: 'array', items: text, uniqueItems: true };
const simpleType = { enum: ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'] };
const anchor = { type: 'string', pattern: '^[A-Za-z_][-A-Za-z0-9._]*$' };

/**
 * The metaschema of JSON Schema 2020-12 in one document, with the keywords that older drafts had instead. It answers
 * references to any metaschema and says whether a schema is one.
 */
export const METASCHEMA: JsonObject = {
  type: ['object', 'boolean'],
  properties: {
    ...Object.fromEntries(SUBSCHEMAS.one.map((keyword) => [keyword, self])),
    $id: { type: 'string' },
    $schema: text,
    $ref: text,
    $dynamicRef: text,
    $anchor: anchor,
    $dynamicAnchor: anchor,
    $vocabulary: { type: 'object', additionalProperties: flag },
    $comment: text,
    $defs: byName,
    definitions: byName,
    prefixItems: schemas,
    properties: byName,
    patternProperties: { ...byName, propertyNames: { format: 'regex' } },
    dependentSchemas: byName,
    dependencies: { type: 'object', additionalProperties: { anyOf: [self, names] } },
    allOf: schemas,
    anyOf: schemas,
    oneOf: schemas,
    type: { anyOf: [simpleType, { type: 'array', items: simpleType, minItems: 1, uniqueItems: true }] },
    enum: { type: 'array' },
    multipleOf: { type: 'number', exclusiveMinimum: 0 },
    maximum: number,
    exclusiveMaximum: number,
    minimum: number,
    exclusiveMinimum: number,
    maxLength: count,
    minLength: count,
    pattern: { type: 'string', format: 'regex' },
    maxItems: count,
    minItems: count,
    uniqueItems: flag,
    maxContains: count,
    minContains: count,
    maxProperties: count,
    minProperties: count,
    required: names,
    dependentRequired: { type: 'object', additionalProperties: names },
    title: text,
    description: text,
    deprecated: flag,
    readOnly: flag,
    writeOnly: flag,
    examples: { type: 'array' },
    format: text,
    contentEncoding: text,
    contentMediaType: text,
  },
};
