/** The JSON Schema of a tool's arguments or result, from whatever the tool has in its place. */
import { ObservatoryError } from '../../base/index.ts';
import { isObject, type JsonObject, readObject } from '../../json/index.ts';

/** Makes a JSON Schema of a schema that cannot say its own. */
export type JsonSchemaOf = (schema: unknown) => object | PromiseLike<object>;

/** Of a tool without a schema: any arguments. */
const ANY: JsonObject = { type: 'object', additionalProperties: true };

/**
 * A JSON Schema as it is, the one that a Standard JSON Schema or zod 4 gives of itself, or that of a `jsonSchema()` of the
 * AI SDK, which may come later.
 * @param tool for the message.
 * @throws ObservatoryError `INVALID_INPUT` for a schema that cannot be read.
 */
export function readJsonSchema(
  schema: unknown,
  side: 'input' | 'output',
  tool: string,
  convert: JsonSchemaOf | undefined,
): object | PromiseLike<object> {
  if (schema === undefined || schema === null) return ANY;
  const given = ownSchema(schema, side) ?? convert?.(schema);
  if (given === undefined) {
    throw new ObservatoryError(
      'INVALID_INPUT',
      `The ${side} schema of the tool '${tool}' says no JSON Schema of itself. Give gateTools() the option ` +
        `'jsonSchemaOf', such as (schema) => asSchema(schema).jsonSchema of 'ai', or toJsonSchema of '@langchain/core'`,
    );
  }
  return isPromise(given) ? given.then((read) => withType(read, side)) : withType(given, side);
}

function ownSchema(schema: unknown, side: 'input' | 'output'): object | PromiseLike<object> | undefined {
  // The AI SDK takes a function that makes the schema.
  if (typeof schema === 'function' && !('~standard' in schema)) return ownSchema(schema(), side);
  const standard = readObject(readObject(readMembers(schema)['~standard']).jsonSchema)[side];
  if (typeof standard === 'function') return standard({ target: 'draft-2020-12' }) as object;
  const { jsonSchema, toJSONSchema } = readMembers(schema);
  if (typeof toJSONSchema === 'function') return toJSONSchema.call(schema, { io: side }) as object;
  if (isObject(jsonSchema) || isPromise(jsonSchema)) return jsonSchema;
  return isJsonSchema(schema) ? schema : undefined;
}

/** Members of an object or function. Schemas of libraries are instances of classes, some of them callable. */
function readMembers(value: unknown): JsonObject {
  return (typeof value === 'object' || typeof value === 'function') && value !== null
    ? (value as JsonObject)
    : {};
}

const KEYWORDS = ['type', 'properties', 'anyOf', 'allOf', 'oneOf', '$ref', '$schema'];

/** A plain object with a keyword of JSON Schema; an instance of a class is the schema of a library. */
function isJsonSchema(schema: unknown): schema is JsonObject {
  if (!isObject(schema) || '~standard' in schema) return false;
  const prototype: unknown = Object.getPrototypeOf(schema);
  return (
    (prototype === Object.prototype || prototype === null) &&
    KEYWORDS.some((keyword) => Object.hasOwn(schema, keyword))
  );
}

/** Arguments are an object, also where their schema is a choice of objects. */
function withType(schema: object, side: 'input' | 'output'): object {
  return side === 'input' && !('type' in schema) ? { type: 'object', ...schema } : schema;
}

export function isPromise<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof readMembers(value).then === 'function';
}
