import { isObject } from '../../json/index.ts';
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
 * keys of free-form data; values stay as they are.
 */
export function mapArguments(args: Arguments, mapping: ArgumentMapping): Arguments {
  const original = new Map([...mapping.renames].map(([from, to]) => [to, from]));
  const restored =
    original.size === 0
      ? args
      : (new Restorer(mapping.shown.definitions, original).restore(args, [mapping.shown.root]) as Arguments);
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
    if (typeof value !== 'object' || value === null) return value;
    const applying = this.#expand(schemas);
    if (applying.length === 0) return value;
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

function itemSchema(schema: Schema, index: number): AnySchema[] {
  const prefix = schema.prefixItems;
  if (Array.isArray(prefix) && index < prefix.length) return [prefix[index] as AnySchema];
  return isObject(schema.items) ? [schema.items] : [];
}
