import { intersect, NotMergeable } from './intersect.ts';
import { type AnySchema, type Schema, Unconvertible } from './json-schema.ts';
import { type ReferencedSchema, referencedName } from './references.ts';

/** Providers refuse these beside the `type` of a tool's input. */
const REFUSED_AT_ROOT = ['anyOf', 'oneOf', 'allOf', 'not', 'enum', 'const', '$ref'] as const;

/** The one argument that holds the whole input of a tool whose schema cannot stand at the root. */
export const WRAPPER_KEY = 'input';

export interface ObjectRoot extends ReferencedSchema {
  /** The tool's own input is the argument {@link WRAPPER_KEY} of this schema. */
  readonly wrapped: boolean;
}

/**
 * Gives the schema of a tool's input the form all providers take: `type: "object"`, `properties`, and no combinator at
 * the root. A reference and `allOf` are merged into the root; alternatives (`anyOf`, `oneOf`), which no single object
 * can say, move one level down into one required argument, so that nothing of them is lost.
 *
 * @throws Unconvertible when the input is no object, or nothing at all would be accepted.
 */
export function toObjectRoot({ root, definitions }: ReferencedSchema): ObjectRoot {
  const merged = mergeIntoRoot(root, definitions);
  if (typeof merged === 'boolean') throw new Unconvertible('its schema accepts no input at all');
  const { type } = merged;
  if (type !== undefined && type !== 'object' && !(Array.isArray(type) && type.includes('object'))) {
    throw new Unconvertible(
      `its input is of type ${JSON.stringify(type)}; the arguments of a tool are an object`,
    );
  }
  const object: Schema = { ...merged, type: 'object' };
  if (REFUSED_AT_ROOT.some((keyword) => object[keyword] !== undefined)) {
    return { root: wrap(object), definitions, wrapped: true };
  }
  return { root: { ...object, properties: object.properties ?? {} }, definitions, wrapped: false };
}

/** The same input as the one argument of another object. */
export function wrap(object: Schema): Schema {
  return {
    type: 'object',
    properties: { [WRAPPER_KEY]: object },
    required: [WRAPPER_KEY],
    additionalProperties: false,
  };
}

function mergeIntoRoot(root: Schema, definitions: ReadonlyMap<string, AnySchema>): AnySchema {
  let merged: AnySchema = root;
  // Each turn takes one reference or combinator away; a chain of references that goes in a circle never ends.
  for (let turn = 0; turn < 100 && typeof merged === 'object'; turn++) {
    const step = mergeOnce(merged, definitions);
    if (step === undefined) return merged;
    merged = step;
  }
  return merged;
}

function mergeOnce(schema: Schema, definitions: ReadonlyMap<string, AnySchema>): AnySchema | undefined {
  const { $ref, allOf, anyOf, oneOf, ...rest } = schema;
  const kept: Schema = { ...rest };
  const parts: AnySchema[] = [];
  const name = referencedName(schema);
  if (name !== undefined) parts.push(definitions.get(name) ?? true);
  if (Array.isArray(allOf)) parts.push(...(allOf as AnySchema[]));
  for (const [keyword, alternatives] of [
    ['anyOf', anyOf],
    ['oneOf', oneOf],
  ] as const) {
    if (!Array.isArray(alternatives)) continue;
    // What is no object cannot be a tool's input, and one alternative alone is none.
    const possible = alternatives.filter(mayBeObject);
    if (possible.length === 1) parts.push(possible[0] as AnySchema);
    else if (possible.length === 0) return false;
    else kept[keyword] = alternatives;
  }
  if (parts.length === 0) return undefined;
  try {
    return parts.reduce<AnySchema>((merged, part) => intersect(merged, part), kept);
  } catch (error) {
    if (error instanceof NotMergeable) return undefined;
    throw error;
  }
}

function mayBeObject(schema: AnySchema): boolean {
  if (typeof schema === 'boolean') return schema;
  const { type } = schema;
  return type === undefined || type === 'object' || (Array.isArray(type) && type.includes('object'));
}
