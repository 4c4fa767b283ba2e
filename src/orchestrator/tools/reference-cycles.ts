import { type AnySchema, subschemas } from './json-schema.ts';
import { reachability, referencedName } from './references.ts';

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
