/** The parts of a schema that references can name: its resources (`$id`), anchors and JSON pointers. */
import { isObject, type JsonObject } from '../lenient-json.ts';
import { METASCHEMA, SUBSCHEMAS } from './metaschema.ts';
import { MisusedKeywordError, SchemaRefusedError, shown } from './refused.ts';
import type { StepBudget } from './steps.ts';

export type SchemaDialect = '2020-12' | '2019-09' | 'draft-07';

/** By their address with `https`; each is also written with `http`. */
const DIALECTS: ReadonlyMap<string, SchemaDialect> = new Map([
  ['https://json-schema.org/draft/2020-12/schema', '2020-12'],
  ['https://json-schema.org/draft/2019-09/schema', '2019-09'],
  ['https://json-schema.org/draft-07/schema', 'draft-07'],
  ['https://json-schema.org/draft-06/schema', 'draft-07'],
  ['https://json-schema.org/draft-04/schema', 'draft-07'],
  ['https://spec.openapis.org/oas/3.1/dialect/base', '2020-12'],
  // Whatever is the latest.
  ['https://json-schema.org/schema', '2020-12'],
]);

/** A schema with a URI of its own. */
export interface Resource {
  readonly uri: string;
  readonly root: unknown;
  readonly dialect: SchemaDialect;
  readonly anchors: Map<string, JsonObject>;
  /** The anchors that `$dynamicRef` may find in an outer resource. */
  readonly dynamicAnchors: Map<string, JsonObject>;
}

export interface ReferenceTarget {
  readonly schema: unknown;
  readonly resource: Resource;
  /** The anchor it was named by. */
  readonly anchor: string | undefined;
}

/** Base of references in a schema without `$id`. */
const NO_BASE = 'schema:///';
const MAX_URI_CHARS = 2_048;
/** Parsing one URL, cold. */
const URL_STEPS = 200;

export class Resources {
  readonly #byUri = new Map<string, Resource>();
  readonly #owners = new Map<object, Resource>();
  readonly #remotes: ReadonlyMap<string, unknown>;
  readonly #budget: StepBudget;
  readonly #onMisuse: (error: MisusedKeywordError) => void;
  readonly root: Resource;

  /**
   * @param remotes further schemas by absolute URI.
   * @param onMisuse called for an unknown `$schema`, which is then read as the nearest one; may throw.
   * @throws SchemaRefusedError for an `$id` that is no URI.
   */
  constructor(
    schema: unknown,
    remotes: ReadonlyMap<string, unknown>,
    budget: StepBudget,
    onMisuse: (error: MisusedKeywordError) => void,
  ) {
    this.#remotes = remotes;
    this.#budget = budget;
    this.#onMisuse = onMisuse;
    this.root = this.#add(NO_BASE, schema, this.#dialectOf(schema) ?? '2020-12');
  }

  /** The resource a subschema belongs to; `fallback` for one in a place where no keyword expects a schema. */
  ownerOf(schema: object, fallback: Resource): Resource {
    return this.#owners.get(schema) ?? fallback;
  }

  /** @throws SchemaRefusedError when the reference leads nowhere or out of the document. */
  resolve(reference: string, from: Resource): ReferenceTarget {
    const [uri = '', encoded = ''] = this.#absolute(reference, from.uri).split('#', 2);
    const resource = this.#byUri.get(uri) ?? this.#load(uri);
    if (resource === undefined) {
      throw new SchemaRefusedError(`The reference ${shown(reference)} leads out of the schema`);
    }
    let fragment: string;
    try {
      fragment = decodeURIComponent(encoded);
    } catch {
      fragment = encoded;
    }
    if (fragment === '') return { schema: resource.root, resource, anchor: undefined };
    const found = fragment.startsWith('/')
      ? this.#follow(fragment, resource)
      : { schema: resource.anchors.get(fragment), resource, anchor: fragment };
    if (found.schema === undefined) {
      throw new MisusedKeywordError(`The reference ${shown(reference)} leads nowhere`);
    }
    return found;
  }

  #follow(pointer: string, from: Resource): ReferenceTarget {
    let schema = from.root;
    let resource = from;
    for (const part of pointer.slice(1).split('/')) {
      this.#budget.spend(4);
      const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
      if (typeof schema !== 'object' || schema === null || !Object.hasOwn(schema, key)) {
        schema = undefined;
        break;
      }
      schema = (schema as JsonObject)[key];
      if (isObject(schema)) resource = this.ownerOf(schema, resource);
    }
    return { schema, resource, anchor: undefined };
  }

  #load(uri: string): Resource | undefined {
    const schema = this.#remotes.get(uri) ?? (knownDialect(uri) === undefined ? undefined : METASCHEMA);
    if (schema === undefined) return undefined;
    return this.#add(uri, schema, this.#dialectOf(schema) ?? this.root.dialect);
  }

  #add(uri: string, schema: unknown, dialect: SchemaDialect): Resource {
    const hasOwnUri = isObject(schema) && ownUri(schema, dialect) !== undefined;
    const own = hasOwnUri ? this.#absolute(schema.$id as string, uri).replace(/#$/, '') : uri;
    const resource = { uri: own, root: schema, dialect, anchors: new Map(), dynamicAnchors: new Map() };
    for (const known of [uri, own]) if (!this.#byUri.has(known)) this.#byUri.set(known, resource);
    this.#scan(schema, resource);
    return resource;
  }

  /** Notes resources and anchors in all places where keywords expect schemas. */
  #scan(schema: unknown, outer: Resource): void {
    if (!isObject(schema) || this.#owners.has(schema)) return;
    this.#budget.enter(16);
    let resource = outer;
    const { dialect } = outer;
    const id = ownUri(schema, dialect);
    if (id !== undefined && schema !== outer.root) {
      const uri = this.#absolute(id, outer.uri).replace(/#$/, '');
      resource = {
        uri,
        root: schema,
        dialect: this.#dialectOf(schema) ?? dialect,
        anchors: new Map(),
        dynamicAnchors: new Map(),
      };
      // What two schemas with one URI mean is undefined; the first has it.
      if (!this.#byUri.has(uri)) this.#byUri.set(uri, resource);
    }
    this.#owners.set(schema, resource);
    const { $id, $anchor, $dynamicAnchor } = schema;
    if (dialect === 'draft-07' && typeof $id === 'string' && $id.startsWith('#')) {
      resource.anchors.set($id.slice(1), schema);
    }
    if (dialect !== 'draft-07') {
      if (typeof $anchor === 'string') resource.anchors.set($anchor, schema);
      if (typeof $dynamicAnchor === 'string') {
        resource.anchors.set($dynamicAnchor, schema);
        resource.dynamicAnchors.set($dynamicAnchor, schema);
      }
      // The dynamic anchor of 2019-09 has no name.
      if (schema.$recursiveAnchor === true && schema === resource.root)
        resource.dynamicAnchors.set('', schema);
    }
    for (const key of SUBSCHEMAS.one) if (isObject(schema[key])) this.#scan(schema[key], resource);
    for (const key of SUBSCHEMAS.lists) {
      const list = schema[key];
      if (Array.isArray(list)) for (const item of list) this.#scan(item, resource);
    }
    for (const key of SUBSCHEMAS.maps) {
      const map = schema[key];
      if (isObject(map)) for (const name of Object.keys(map)) this.#scan(map[name], resource);
    }
    this.#budget.leave();
  }

  #dialectOf(schema: unknown): SchemaDialect | undefined {
    const uri = isObject(schema) ? schema.$schema : undefined;
    if (uri === undefined || uri === null) return undefined;
    const known = typeof uri === 'string' ? knownDialect(uri) : undefined;
    if (known !== undefined) return known;
    const name = shown(uri);
    this.#onMisuse(
      new MisusedKeywordError(
        `The dialect ${name} is not one of 2020-12, 2019-09, draft-07, draft-06, draft-04`,
      ),
    );
    return nearestDialect(name);
  }

  #absolute(reference: string, base: string): string {
    this.#budget.spend(URL_STEPS);
    if (reference.length > MAX_URI_CHARS) {
      throw new SchemaRefusedError(`A reference has more than ${MAX_URI_CHARS} characters`);
    }
    try {
      return new URL(reference, base).href;
    } catch {
      throw new SchemaRefusedError(`The reference ${shown(reference)} is not a URI`);
    }
  }
}

/** The `$id` that makes a schema a resource. Draft-07 ignores it beside `$ref` and has anchors in its form. */
function ownUri(schema: JsonObject, dialect: SchemaDialect): string | undefined {
  const { $id } = schema;
  if (typeof $id !== 'string') return undefined;
  if (dialect === 'draft-07' && ($id.startsWith('#') || Object.hasOwn(schema, '$ref'))) return undefined;
  return $id;
}

function knownDialect(uri: string): SchemaDialect | undefined {
  return DIALECTS.get(uri.replace(/^http:/, 'https:').replace(/#$/, ''));
}

/** By the draft that a text names; else the protocol's default. */
function nearestDialect(text: string): SchemaDialect {
  if (text.includes('2019-09')) return '2019-09';
  return /draft-?0?[1-7]\b/i.test(text) ? 'draft-07' : '2020-12';
}

/** Before 2019-09 everything beside `$ref` is ignored. */
export function isOnlyReference(schema: JsonObject, { dialect }: Resource): boolean {
  return dialect === 'draft-07' && schema.$ref !== undefined;
}
