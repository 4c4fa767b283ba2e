import { isObject, parseExactJson } from '../../json/index.ts';
import { type AnySchema, type Schema, setKey } from './json-schema.ts';
import type { Renames } from './property-keys.ts';
import { type ReferencedSchema, referencedName } from './references.ts';
import { WRAPPER_KEY } from './root.ts';

/** The JSON object a model gives as the arguments of a call. */
export type Arguments = { readonly [name: string]: unknown };

/** How the arguments of the offered tool become those of the server's tool. */
export interface ArgumentMapping {
  readonly wrapped: boolean;
  readonly renames: Renames;
  /** The schema the model was shown. */
  readonly shown: ReferencedSchema;
}

/**
 * Turns the arguments a model wrote for the offered schema into those of the server's tool: takes off the wrapping
 * argument and gives renamed properties their own names back. Only names the schema declares are touched, never the
 * keys of free-form data. A text where the schema takes none is read as JSON if its value has a type that it takes: some
 * models write lists and objects so. All other values stay as they are.
 */
export function mapArguments(args: Arguments, mapping: ArgumentMapping): Arguments {
  const original = new Map([...mapping.renames].map(([from, to]) => [to, from]));
  const restorer = new Restorer(mapping.shown.definitions, original);
  const restored = restorer.restore(args, [mapping.shown.root]) as Arguments;
  if (!mapping.wrapped) return restored;
  const inner = restored[WRAPPER_KEY];
  // A model that overlooked the wrapping wrote the input itself, which is what the server wants.
  return isObject(inner) ? inner : restored;
}

class Restorer {
  readonly #definitions: ReadonlyMap<string, AnySchema>;
  readonly #original: ReadonlyMap<string, string>;

  constructor(definitions: ReadonlyMap<string, AnySchema>, original: ReadonlyMap<string, string>) {
    this.#definitions = definitions;
    this.#original = original;
  }

  /** @param schemas - All that describe the value; more than one where there are alternatives. */
  restore(value: unknown, schemas: readonly AnySchema[]): unknown {
    const isText = typeof value === 'string';
    if (!isText && (typeof value !== 'object' || value === null)) return value;
    const applying = this.#expand(schemas);
    if (applying.length === 0) return value;
    if (isText) {
      const read = readAsJson(value, applying);
      return typeof read === 'object' ? this.restore(read, applying) : read;
    }
    if (Array.isArray(value))
      return value.map((item, i) =>
        this.restore(
          item,
          applying.flatMap((each) => itemSchema(each, i)),
        ),
      );
    const out: Schema = {};
    for (const [key, item] of Object.entries(value)) {
      let isDeclared = false;
      // An alternative that does not declare the name may still have a schema for its value.
      const subs = applying.flatMap(({ properties, additionalProperties }): AnySchema[] => {
        if (!isObject(properties) || !Object.hasOwn(properties, key))
          return isObject(additionalProperties) ? [additionalProperties] : [];
        isDeclared = true;
        return [properties[key] as AnySchema];
      });
      setKey(out, isDeclared ? (this.#original.get(key) ?? key) : key, this.restore(item, subs));
    }
    return out;
  }

  /** The schemas themselves, what they refer to, and their alternatives, each once. */
  #expand(schemas: readonly AnySchema[]): Schema[] {
    const found = new Set<Schema>();
    const queue = [...schemas];
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      if (typeof next === 'boolean' || found.has(next)) continue;
      found.add(next);
      const name = referencedName(next);
      if (name !== undefined) queue.push(this.#definitions.get(name) ?? true);
      for (const keyword of ['allOf', 'anyOf', 'oneOf'])
        if (Array.isArray(next[keyword])) queue.push(...(next[keyword] as AnySchema[]));
      for (const keyword of ['then', 'else']) if (isObject(next[keyword])) queue.push(next[keyword]);
    }
    return [...found];
  }
}

/** Longer texts are no slip of a model. */
const MAX_TEXT = 100_000;
const ALTERNATIVES = ['anyOf', 'oneOf', 'allOf', '$ref'];

/** The value that a text holds, if no schema of its place takes a text and one takes the value; else the text. */
function readAsJson(text: string, schemas: readonly Schema[]): unknown {
  const types = new Set<unknown>();
  for (const schema of schemas) {
    const { type } = schema;
    if (type === undefined && !ALTERNATIVES.some((keyword) => schema[keyword] !== undefined)) return text;
    for (const one of Array.isArray(type) ? type : [type]) if (one !== undefined) types.add(one);
  }
  if (types.has('string') || types.size === 0 || text.length > MAX_TEXT) return text;
  try {
    const value = parseExactJson(text);
    return types.has(readType(value)) || (types.has('number') && typeof value === 'number') ? value : text;
  } catch {
    return text;
  }
}

function readType(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
}

function itemSchema(schema: Schema, index: number): AnySchema[] {
  const prefix = schema.prefixItems;
  if (Array.isArray(prefix) && index < prefix.length) return [prefix[index] as AnySchema];
  return isObject(schema.items) ? [schema.items] : [];
}
