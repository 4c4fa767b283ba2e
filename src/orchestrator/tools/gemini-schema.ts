import { GeminiNotes } from './gemini-notes.ts';
import { allowedValues, openBounds, writeEnum } from './gemini-values.ts';
import { intersect, NotMergeable } from './intersect.ts';
import { type AnySchema, isObject, type Schema, setKey, subschemas, Unconvertible } from './json-schema.ts';
import {
  neededDefinitions,
  type ReferencedSchema,
  reachability,
  referencedName,
  referenceTo,
} from './references.ts';

/** The keywords of Gemini's `parametersJsonSchema` that are taken over as they are. */
const KEPT = new Set([
  'type',
  'format',
  'title',
  'description',
  'minItems',
  'maxItems',
  'minimum',
  'maximum',
]);

/** Parts that may be added by writing out references; a reference beyond them stays one. */
const INLINE_BUDGET = 2_000;

/** A constraint the provider's schema language cannot say, so the model may break it. */
export interface RelaxedConstraint {
  /** JSON pointer to the schema that lost it, in the converted schema. */
  readonly path: string;
  readonly keyword: string;
}

export interface GeminiSchema extends ReferencedSchema {
  readonly relaxed: readonly RelaxedConstraint[];
}

/**
 * Rewrites a schema in the subset that Gemini's `parametersJsonSchema` takes. What the subset cannot say is put into the
 * description in words, and listed in `relaxed` where it was a constraint.
 *
 * The subset (`GenerateContentConfig.responseJsonSchema` of `@google/genai`): `$id $defs $ref $anchor type format title
 * description enum items prefixItems minItems maxItems minimum maximum anyOf oneOf properties additionalProperties
 * required propertyOrdering`; `enum` of strings and numbers; nothing beside `$ref`; references in a cycle only under
 * properties that are not required.
 */
export function toGeminiSchema(schema: ReferencedSchema): GeminiSchema {
  return new GeminiConverter(schema.definitions).convert(schema.root);
}

class GeminiConverter {
  readonly #source: ReadonlyMap<string, AnySchema>;
  readonly #reach: ReadonlyMap<string, ReadonlySet<string>>;
  readonly #relaxed: RelaxedConstraint[] = [];
  /** The definition being converted; the root is none. */
  #inside: string | undefined;
  #budget = INLINE_BUDGET;

  constructor(definitions: ReadonlyMap<string, AnySchema>) {
    this.#source = definitions;
    this.#reach = reachability(definitions);
  }

  convert(root: Schema): GeminiSchema {
    const converted = this.#schema(root, '', 'free');
    if (typeof converted === 'boolean') throw new Unconvertible('its schema accepts no input at all');
    const definitions = new Map<string, AnySchema>();
    for (const [name, definition] of this.#source) {
      this.#inside = name;
      const path = `/$defs/${name}`;
      const target = this.#schema(definition, path, 'bound');
      definitions.set(name, this.#orEmpty(target, path));
    }
    return {
      root: converted,
      definitions: neededDefinitions(converted, definitions),
      relaxed: this.#relaxed,
    };
  }

  /** @param place - `free` under a property that may be left out, where a cycle is allowed; else `bound`. */
  #schema(schema: AnySchema, path: string, place: 'free' | 'bound'): AnySchema {
    if (typeof schema === 'boolean') return schema ? {} : false;
    const whole = this.#withoutCombinedParts(schema, path);
    if (typeof whole === 'boolean') return whole ? {} : false;
    const name = referencedName(whole);
    if (name !== undefined) return this.#reference(whole, name, path, place);
    const out: Schema = {};
    const notes = new GeminiNotes();
    for (const [keyword, value] of Object.entries(whole)) {
      if (KEPT.has(keyword)) out[keyword] = value;
      else if (value !== undefined) this.#keyword(out, keyword, value, path, notes, place);
    }
    this.#items(out, whole, path, place);
    if (!this.#alternatives(out, whole, path, place) || !this.#properties(out, whole, path)) return false;
    const values = allowedValues(whole);
    if (values?.length === 0) return false;
    if (values !== undefined && !writeEnum(values, out, notes)) this.#relax(path, 'enum');
    openBounds(whole, out, (keyword) => {
      this.#relax(path, keyword);
      notes.add(keyword, whole[keyword]);
    });
    const description = notes.appendTo(whole.description as string | undefined);
    if (description !== undefined) out.description = description;
    return out;
  }

  /** Merges `allOf`, and the neighbours of a reference with what it refers to; both are not in the subset. */
  #withoutCombinedParts(schema: Schema, path: string): AnySchema {
    const { allOf, ...rest } = schema;
    let merged: AnySchema = rest;
    for (const part of Array.isArray(allOf) ? (allOf as AnySchema[]) : []) {
      merged = this.#merge(merged, part, path, 'allOf');
    }
    // What a reference leads to may be combined in its turn; the bound is for circles of nothing but references.
    for (let turn = 0; turn < 20 && typeof merged === 'object'; turn++) {
      const name = referencedName(merged);
      const nested = merged.allOf;
      if (Array.isArray(nested)) {
        merged = this.#withoutCombinedParts(merged, path);
        continue;
      }
      if (name === undefined || Object.keys(merged).length === 1) break;
      const { $ref: _ref, ...neighbours } = merged;
      const target = this.#source.get(name) ?? true;
      if (this.#isCyclic(name) || !this.#afford(target)) {
        for (const keyword of Object.keys(neighbours))
          if (!['title', 'description', 'default', 'examples'].includes(keyword)) this.#relax(path, keyword);
        return { $ref: merged.$ref };
      }
      merged = this.#merge(neighbours, target, path, '$ref');
    }
    return merged;
  }

  #merge(a: AnySchema, b: AnySchema, path: string, keyword: string): AnySchema {
    try {
      return intersect(a, this.#written(a, b));
    } catch (error) {
      if (!(error instanceof NotMergeable)) throw error;
      this.#relax(path, keyword);
      return a;
    }
  }

  /** A reference beside another reference has to be written out to be merged with it. */
  #written(a: AnySchema, b: AnySchema): AnySchema {
    if (typeof a === 'boolean' || typeof b === 'boolean') return b;
    const name = referencedName(b);
    if (name === undefined || this.#isCyclic(name)) return b;
    const target = this.#source.get(name) ?? true;
    if (!this.#afford(target)) return b;
    const { $ref: _ref, ...neighbours } = b;
    return intersect(neighbours, target);
  }

  #reference(schema: Schema, name: string, path: string, place: 'free' | 'bound'): AnySchema {
    if (place === 'bound' && this.#closesCycle(name)) {
      this.#relax(path, '$ref');
      return { description: `As ${name}, which contains this.` };
    }
    return { $ref: schema.$ref ?? referenceTo(name) };
  }

  #keyword(
    out: Schema,
    keyword: string,
    value: unknown,
    path: string,
    notes: GeminiNotes,
    place: 'free' | 'bound',
  ): void {
    switch (keyword) {
      case 'prefixItems':
        out[keyword] = (value as AnySchema[]).map((each, i) =>
          this.#orEmpty(this.#schema(each, `${path}/prefixItems/${i}`, place), `${path}/prefixItems/${i}`),
        );
        break;
      case 'items':
      case 'anyOf':
      case 'oneOf':
      case 'additionalProperties':
      case 'patternProperties':
      case 'properties':
      case 'required':
      case 'propertyOrdering':
      case 'enum':
      case 'const':
      case 'exclusiveMinimum':
      case 'exclusiveMaximum':
      case '$defs':
      case 'unevaluatedProperties':
        break; // with their neighbours, after this
      default:
        if (notes.add(keyword, value)) this.#relax(path, keyword);
    }
  }

  #items(out: Schema, schema: Schema, path: string, place: 'free' | 'bound'): void {
    if (schema.items === undefined) return;
    const items = this.#schema(schema.items as AnySchema, `${path}/items`, place);
    if (items !== false) {
      out.items = items;
      return;
    }
    // No item beyond the listed ones is a length.
    const listed = ((schema.prefixItems as unknown[] | undefined) ?? []).length;
    out.maxItems = Math.min((schema.maxItems as number | undefined) ?? listed, listed);
  }

  /** @returns False when none of the alternatives accepts anything. */
  #alternatives(out: Schema, schema: Schema, path: string, place: 'free' | 'bound'): boolean {
    for (const keyword of ['anyOf', 'oneOf']) {
      const options = schema[keyword];
      if (!Array.isArray(options)) continue;
      const possible = options
        .map((each, i) => this.#schema(each as AnySchema, `${path}/${keyword}/${i}`, place))
        .filter((each) => each !== false);
      if (possible.length === 0) return false;
      out[keyword] = possible;
    }
    return true;
  }

  /** @returns False when a required property accepts nothing. */
  #properties(out: Schema, schema: Schema, path: string): boolean {
    const declared = schema.properties;
    const required = new Set((schema.required as string[] | undefined) ?? []);
    if (isObject(declared)) {
      const properties: Schema = {};
      for (const [name, sub] of Object.entries(declared)) {
        const at = `${path}/properties/${name}`;
        // A required property that leads back to where it stands would never end: it may be left out instead.
        if (required.has(name) && this.#leadsBack(sub as AnySchema)) {
          required.delete(name);
          this.#relax(at, 'required');
        }
        const converted = this.#schema(sub as AnySchema, at, required.has(name) ? 'bound' : 'free');
        if (converted !== false) setKey(properties, name, converted);
        else if (required.has(name)) return false;
        else if (schema.additionalProperties !== false) this.#relax(at, 'properties');
      }
      out.properties = properties;
      const order = schema.propertyOrdering;
      if (Array.isArray(order))
        out.propertyOrdering = order.filter((name) => Object.hasOwn(properties, name as string));
    }
    this.#others(out, schema, path);
    if (required.size > 0) nameRequired(out, [...required]);
    return true;
  }

  #others(out: Schema, schema: Schema, path: string): void {
    const additional = schema.additionalProperties as AnySchema | undefined;
    const patterns = schema.patternProperties;
    const unevaluated = schema.unevaluatedProperties;
    if (unevaluated !== undefined && unevaluated !== true) {
      // Where nothing but `properties` evaluates any, it means the same as `additionalProperties`.
      const plain = !['anyOf', 'oneOf', 'if', 'dependentSchemas', 'patternProperties'].some(
        (keyword) => schema[keyword] !== undefined,
      );
      if (unevaluated === false && plain) out.additionalProperties = false;
      else this.#relax(path, 'unevaluatedProperties');
    }
    if (isObject(patterns)) {
      this.#relax(path, 'patternProperties');
      // The names cannot be said, so what stands under any of them is allowed under all.
      const options = [...Object.values(patterns), ...(isObject(additional) ? [additional] : [])];
      if (additional === false || isObject(additional)) {
        const converted = options
          .map((each) => this.#schema(each as AnySchema, `${path}/additionalProperties`, 'bound'))
          .filter((each) => each !== false);
        out.additionalProperties = converted.length > 1 ? { anyOf: converted } : (converted[0] ?? false);
      }
      return;
    }
    if (typeof additional === 'boolean') out.additionalProperties = additional;
    else if (additional !== undefined)
      out.additionalProperties = this.#schema(additional, `${path}/additionalProperties`, 'bound');
  }

  #isCyclic(name: string): boolean {
    return this.#reach.get(name)?.has(name) === true;
  }

  /** True when `name` leads back to the definition being converted. */
  #closesCycle(name: string): boolean {
    return (
      this.#inside !== undefined &&
      (name === this.#inside || this.#reach.get(name)?.has(this.#inside) === true)
    );
  }

  /** True when a reference in this schema, not under a property of its own, closes a cycle. */
  #leadsBack(schema: AnySchema): boolean {
    if (typeof schema === 'boolean') return false;
    const name = referencedName(schema);
    if (name !== undefined && this.#closesCycle(name)) return true;
    for (const [keyword, sub] of subschemas(schema))
      if (keyword !== 'properties' && keyword !== '$defs' && this.#leadsBack(sub)) return true;
    return false;
  }

  #afford(target: AnySchema): boolean {
    const size = countNodes(target, this.#budget + 1);
    if (size > this.#budget) return false;
    this.#budget -= size;
    return true;
  }

  /** The subset cannot say that nothing is accepted. */
  #orEmpty(schema: AnySchema, path: string): AnySchema {
    if (schema !== false) return schema;
    this.#relax(path, 'false schema');
    return {};
  }

  #relax(path: string, keyword: string): void {
    this.#relaxed.push({ path, keyword });
  }
}

/** Gemini wants every required name among the properties. */
function nameRequired(out: Schema, required: readonly string[]): void {
  const properties = (out.properties ?? {}) as Schema;
  const others = out.additionalProperties;
  for (const name of required) {
    if (!Object.hasOwn(properties, name)) setKey(properties, name, isObject(others) ? others : {});
  }
  out.properties = properties;
  out.required = required;
}

function countNodes(schema: AnySchema, limit: number): number {
  if (typeof schema === 'boolean' || limit <= 0) return 1;
  let count = 1;
  for (const [, sub] of subschemas(schema)) {
    count += countNodes(sub, limit - count);
    if (count > limit) break;
  }
  return count;
}
