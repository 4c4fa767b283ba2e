const OTHER = '_other';

/**
 * Bounds the cardinality of a metric attribute: the first names seen, up to a limit, are kept; all later ones become
 * `other`.
 */
export class BoundedNames {
  readonly #seen = new Set<string>();
  readonly #limit: number;
  readonly #always: ReadonlySet<string> | undefined;
  readonly #other: string;

  /**
   * @param always names that are never replaced and do not count.
   * @param other the value for later names. @defaultValue `_other`
   */
  constructor(limit: number, always?: ReadonlySet<string>, other = OTHER) {
    this.#limit = limit;
    this.#always = always;
    this.#other = other;
  }

  admit(name: string): string {
    if (this.#seen.has(name) || this.#always?.has(name) === true) return name;
    if (this.#seen.size >= this.#limit) return this.#other;
    this.#seen.add(name);
    return name;
  }
}
