import { decodeUri } from '../../base/index.ts';
import { isObject } from '../../json/index.ts';
import { type AnySchema, mapSubschemas, type Schema, subschemas, Unconvertible } from './json-schema.ts';

const REFERENCE_KEYWORDS = ['$ref', '$dynamicRef', '$recursiveRef'] as const;
const PREFIX = '#/$defs/';

/** A schema whose references all have the form `#/$defs/<name>`, taken apart into its root and its definitions. */
export interface ReferencedSchema {
  readonly root: Schema;
  readonly definitions: ReadonlyMap<string, AnySchema>;
}

/**
 * Brings every reference into one form. References by pointer into any place of the document, by anchor, by `$id`, and
 * to the root itself become references to a definition; definitions nobody refers to are left out. Identifiers go:
 * nothing uses them afterwards. One that leads out of the document or to nothing goes too: the server knows what it means.
 *
 * @throws Unconvertible for a definition by itself alone.
 */
export function collectReferences(root: Schema): ReferencedSchema {
  const targets = indexIdentifiers(root);
  const names = new Map<AnySchema, string>();
  const taken = new Set<string>();
  const definitions = new Map<string, AnySchema>();

  const toName = (target: AnySchema, hint: string): string => {
    const known = names.get(target);
    if (known !== undefined && target !== true && target !== false) return known;
    const base = hint
      .replace(/[^A-Za-z0-9_]/g, '_')
      .replace(/^(?![A-Za-z_])/, '_')
      .slice(0, 60);
    let name = base;
    for (let i = 2; taken.has(name); i++) name = `${base}_${i}`;
    taken.add(name);
    names.set(target, name);
    definitions.set(name, true); // holds the place while the target is rewritten: it may refer to itself
    definitions.set(name, rewrite(target));
    return name;
  };
  const rewrite = (schema: AnySchema): AnySchema => {
    if (typeof schema === 'boolean') return schema;
    const { $id: _id, $anchor: _anchor, $dynamicAnchor: _dynamic, $defs: _defs, ...rest } = schema;
    const mapped = mapSubschemas(rest, rewrite);
    for (const keyword of REFERENCE_KEYWORDS) {
      const reference = mapped[keyword];
      delete mapped[keyword];
      if (typeof reference !== 'string') continue;
      const target = resolve(reference, root, targets);
      if (target === undefined) continue;
      mapped.$ref = PREFIX + toName(target, formatHint(reference));
    }
    return mapped;
  };
  const rewritten = rewrite(root) as Schema;
  for (const [name, reached] of reachability(definitions, inPlaceReferences)) {
    if (reached.has(name))
      throw new Unconvertible(`its schema defines ${JSON.stringify(name)} by itself alone`);
  }
  return { root: rewritten, definitions };
}

/** The name a reference in the collected form leads to. */
export function referencedName(schema: Schema): string | undefined {
  const reference = schema.$ref;
  return typeof reference === 'string' ? reference.slice(PREFIX.length) : undefined;
}

export function referenceTo(name: string): string {
  return PREFIX + name;
}

/** The definitions that can be reached from each definition, itself only when it is part of a cycle. */
export function reachability(
  definitions: ReadonlyMap<string, AnySchema>,
  referencesOf: (schema: AnySchema) => ReadonlySet<string> = directReferences,
): ReadonlyMap<string, ReadonlySet<string>> {
  const direct = new Map([...definitions].map(([name, schema]) => [name, referencesOf(schema)]));
  const reach = new Map<string, ReadonlySet<string>>();
  for (const name of definitions.keys()) {
    const seen = new Set<string>();
    const queue = [...(direct.get(name) ?? [])];
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      if (seen.has(next)) continue;
      seen.add(next);
      queue.push(...(direct.get(next) ?? []));
    }
    reach.set(name, seen);
  }
  return reach;
}

/** All definitions a schema needs, in a stable order. */
export function neededDefinitions(
  root: AnySchema,
  definitions: ReadonlyMap<string, AnySchema>,
): ReadonlyMap<string, AnySchema> {
  const needed = new Set<string>();
  const queue = [...directReferences(root)];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    if (needed.has(next)) continue;
    needed.add(next);
    queue.push(...directReferences(definitions.get(next) ?? true));
  }
  return new Map([...definitions].filter(([name]) => needed.has(name)));
}

/** Keywords whose schemas describe the same value as the schema that contains them. */
const IN_PLACE = new Set(['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentSchemas']);

function directReferences(schema: AnySchema): Set<string> {
  return referencesUnder(schema, () => true);
}

/** References to be followed before any part of the value has been looked at. */
function inPlaceReferences(schema: AnySchema): Set<string> {
  return referencesUnder(schema, (keyword) => IN_PLACE.has(keyword));
}

function referencesUnder(schema: AnySchema, enters: (keyword: string) => boolean): Set<string> {
  const found = new Set<string>();
  const visit = (node: AnySchema): void => {
    if (typeof node === 'boolean') return;
    const name = referencedName(node);
    if (name !== undefined) found.add(name);
    for (const [keyword, sub] of subschemas(node)) if (enters(keyword)) visit(sub);
  };
  visit(schema);
  return found;
}

/** Subschemas by what a reference can call them: `$id`, `#anchor`, `id#anchor`. */
function indexIdentifiers(root: Schema): ReadonlyMap<string, Schema> {
  const index = new Map<string, Schema>();
  const visit = (node: AnySchema, base: string): void => {
    if (typeof node === 'boolean') return;
    const id = typeof node.$id === 'string' ? node.$id.replace(/#$/, '') : undefined;
    const inner = id ?? base;
    if (id !== undefined && !index.has(id)) index.set(id, node);
    for (const anchor of [node.$anchor, node.$dynamicAnchor]) {
      if (typeof anchor !== 'string') continue;
      if (!index.has(`#${anchor}`)) index.set(`#${anchor}`, node);
      index.set(`${inner}#${anchor}`, node);
    }
    for (const [, sub] of subschemas(node)) visit(sub, inner);
  };
  visit(root, '');
  return index;
}

function resolve(reference: string, root: Schema, index: ReadonlyMap<string, Schema>): AnySchema | undefined {
  const known = index.get(reference.replace(/#$/, ''));
  if (known !== undefined) return known;
  const [document = '', fragment = ''] = reference.split('#', 2);
  const base = document === '' ? root : index.get(document);
  return base === undefined ? undefined : followPointer(base, fragment);
}

function followPointer(root: Schema, fragment: string): AnySchema | undefined {
  if (fragment === '' || fragment === '/') return root;
  if (!fragment.startsWith('/')) return undefined;
  let node: unknown = root;
  for (const part of fragment.slice(1).split('/')) {
    const key = decodeUri(part).replaceAll('~1', '/').replaceAll('~0', '~');
    // `definitions` has been renamed while the copy was made.
    const name = key === 'definitions' && isObject(node) && !Object.hasOwn(node, key) ? '$defs' : key;
    node = Array.isArray(node) || isObject(node) ? (node as Schema)[name] : undefined;
  }
  return isObject(node) || typeof node === 'boolean' ? node : undefined;
}

function formatHint(reference: string): string {
  return reference.split(/[/#]/).findLast((part) => part !== '') ?? 'root';
}

/** The circles that references between definitions make. */
export class ReferenceCycles {
  readonly #reach: ReadonlyMap<string, ReadonlySet<string>>;

  constructor(definitions: ReadonlyMap<string, AnySchema>) {
    this.#reach = reachability(definitions);
  }

  /** True when a definition leads back to itself. */
  has(name: string): boolean {
    return this.#reach.get(name)?.has(name) === true;
  }

  /** True when `name` leads back to the definition `inside`; there is no way back to the root, which has no name. */
  leadsTo(name: string, inside: string | undefined): boolean {
    return inside !== undefined && (name === inside || this.#reach.get(name)?.has(inside) === true);
  }

  /** True when a reference in this schema, not under a property of its own, leads back to `inside`. */
  leadsBack(schema: AnySchema, inside: string | undefined): boolean {
    if (typeof schema === 'boolean') return false;
    const name = referencedName(schema);
    if (name !== undefined && this.leadsTo(name, inside)) return true;
    for (const [keyword, sub] of subschemas(schema))
      if (keyword !== 'properties' && keyword !== '$defs' && this.leadsBack(sub, inside)) return true;
    return false;
  }
}
