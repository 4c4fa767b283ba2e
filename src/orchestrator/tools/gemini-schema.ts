import { isObject } from '../../json/index.ts';
import { CombinedParts } from './gemini-combined.ts';
import {
  allowedValues,
  fitToType,
  GeminiNotes,
  nameRequired,
  openBounds,
  writeEnum,
  writeOtherProperties,
} from './gemini-keywords.ts';
import {
  type AnySchema,
  type Relax,
  type RelaxedConstraint,
  type Schema,
  setKey,
  Unconvertible,
} from './json-schema.ts';
import {
  neededDefinitions,
  ReferenceCycles,
  type ReferencedSchema,
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

/** Keywords that are written together with those beside them. */
const WITH_NEIGHBORS = new Set([
  'prefixItems',
  'items',
  'anyOf',
  'oneOf',
  'additionalProperties',
  'patternProperties',
  'properties',
  'required',
  'propertyOrdering',
  'enum',
  'const',
  'exclusiveMinimum',
  'exclusiveMaximum',
  '$defs',
  'unevaluatedProperties',
]);

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
  readonly #cycles: ReferenceCycles;
  readonly #parts: CombinedParts;
  readonly #relaxed: RelaxedConstraint[] = [];
  readonly #relax: Relax = (path, keyword) => this.#relaxed.push({ path, keyword });
  /** The definition being converted; the root is none. */
  #inside: string | undefined;

  constructor(definitions: ReadonlyMap<string, AnySchema>) {
    this.#source = definitions;
    this.#cycles = new ReferenceCycles(definitions);
    this.#parts = new CombinedParts(definitions, this.#cycles, this.#relax);
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
    const whole = this.#parts.merge(schema, path);
    if (typeof whole === 'boolean') return whole ? {} : false;
    const name = referencedName(whole);
    if (name !== undefined) return this.#reference(whole, name, path, place);
    const out: Schema = {};
    const notes = new GeminiNotes();
    for (const [keyword, value] of Object.entries(whole)) {
      if (KEPT.has(keyword)) out[keyword] = value;
      else if (value === undefined || WITH_NEIGHBORS.has(keyword)) continue;
      else if (notes.add(keyword, value)) this.#relax(path, keyword);
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
    return fitToType(out);
  }

  #reference(schema: Schema, name: string, path: string, place: 'free' | 'bound'): AnySchema {
    if (place === 'bound' && this.#cycles.leadsTo(name, this.#inside)) {
      this.#relax(path, '$ref');
      return { description: `As ${name}, which contains this.` };
    }
    return { $ref: schema.$ref ?? referenceTo(name) };
  }

  #items(out: Schema, schema: Schema, path: string, place: 'free' | 'bound'): void {
    if (schema.prefixItems !== undefined) {
      out.prefixItems = (schema.prefixItems as AnySchema[]).map((each, i) =>
        this.#orEmpty(this.#schema(each, `${path}/prefixItems/${i}`, place), `${path}/prefixItems/${i}`),
      );
    }
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
      // Gemini reads `oneOf` as `anyOf`. Said as `oneOf`, a value would be refused that fits two alternatives once these
      // have lost what the subset cannot say, such as `const: true`.
      out[out.anyOf === undefined ? 'anyOf' : keyword] = possible;
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
        if (required.has(name) && this.#cycles.leadsBack(sub as AnySchema, this.#inside)) {
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
    writeOtherProperties(out, schema, path, (each, at) => this.#schema(each, at, 'bound'), this.#relax);
    if (required.size > 0) nameRequired(out, [...required]);
    return true;
  }

  /** The subset cannot say that nothing is accepted. */
  #orEmpty(schema: AnySchema, path: string): AnySchema {
    if (schema !== false) return schema;
    this.#relax(path, 'false schema');
    return {};
  }
}
