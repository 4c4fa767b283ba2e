import { REPLACEMENT } from './clean-text.ts';

/**
 * Names for entries of one object whose own could not be stored. Two may clean to the same text, or to that of an
 * entry that needed no cleaning, and none must replace another; one that needed none keeps its name.
 */
export class FreeNames {
  readonly #source: object;
  readonly #taken = new Set<string>();
  /** Goes on from name to name: to begin anew for each would be quadratic. */
  #count = 1;

  constructor(source: object) {
    this.#source = source;
  }

  /** The text itself when nobody has it, else with U+FFFD and a number behind it. */
  take(text: string): string {
    let name = text;
    while (this.#taken.has(name) || Object.hasOwn(this.#source, name)) {
      this.#count += 1;
      name = `${text}${REPLACEMENT}${this.#count}`;
    }
    this.#taken.add(name);
    return name;
  }
}
