import { intersect, NotMergeable } from './intersect.ts';
import { type AnySchema, type Relax, type Schema, subschemas } from './json-schema.ts';
import { type ReferenceCycles, referencedName } from './references.ts';

/** Parts that may be added by writing out references; a reference beyond them stays one. */
const INLINE_BUDGET = 2_000;

/** Merges schemas that all apply: `allOf`, and the keywords next to a reference. */
export class CombinedParts {
  readonly #definitions: ReadonlyMap<string, AnySchema>;
  readonly #cycles: ReferenceCycles;
  readonly #relax: Relax;
  #budget = INLINE_BUDGET;

  constructor(definitions: ReadonlyMap<string, AnySchema>, cycles: ReferenceCycles, relax: Relax) {
    this.#definitions = definitions;
    this.#cycles = cycles;
    this.#relax = relax;
  }

  /** Merges `allOf`, and the neighbors of a reference with what it refers to; both are not in the subset. */
  merge(schema: Schema, path: string): AnySchema {
    const { allOf, ...rest } = schema;
    let merged: AnySchema = rest;
    for (const part of Array.isArray(allOf) ? (allOf as AnySchema[]) : []) {
      merged = this.#intersect(merged, part, path, 'allOf');
    }
    // What a reference leads to may be combined in its turn; the bound is for circles of nothing but references.
    for (let turn = 0; turn < 20 && typeof merged === 'object'; turn++) {
      const name = referencedName(merged);
      const nested = merged.allOf;
      if (Array.isArray(nested)) {
        merged = this.merge(merged, path);
        continue;
      }
      if (name === undefined || Object.keys(merged).length === 1) break;
      const { $ref: _ref, ...neighbors } = merged;
      const target = this.#definitions.get(name) ?? true;
      if (this.#cycles.has(name) || !this.#afford(target)) {
        for (const keyword of Object.keys(neighbors))
          if (!['title', 'description', 'default', 'examples'].includes(keyword)) this.#relax(path, keyword);
        return { $ref: merged.$ref };
      }
      merged = this.#intersect(neighbors, target, path, '$ref');
    }
    return merged;
  }

  #intersect(a: AnySchema, b: AnySchema, path: string, keyword: string): AnySchema {
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
    if (name === undefined || this.#cycles.has(name)) return b;
    const target = this.#definitions.get(name) ?? true;
    if (!this.#afford(target)) return b;
    const { $ref: _ref, ...neighbors } = b;
    return intersect(neighbors, target);
  }

  #afford(target: AnySchema): boolean {
    const size = countNodes(target, this.#budget + 1);
    if (size > this.#budget) return false;
    this.#budget -= size;
    return true;
  }
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
