/** Levels of lists and objects that are copied: of a request to a model they reach the texts inside of a tool's result. */
const MAX_DEPTH = 8;
/** Lists and objects that are copied; further ones are shared. */
const MAX_COPIES = 20_000;
/** Longest list of numbers that is copied: an embedding or the tokens of a text are not changed in place. */
const MAX_NUMBERS = 1000;

/**
 * Keeps JSON values as they are now while their owner goes on to change them: lists and objects are copied, texts are
 * shared. That takes much less time than reading them. Shared are also long lists of numbers, buffers, objects of other
 * classes, and what is deeper than eight levels or beyond 20,000 lists and objects.
 */
export class KeptValues {
  characters = 0;
  #copies = 0;

  keep(value: unknown, depth: number = MAX_DEPTH): unknown {
    if (typeof value === 'string') {
      this.characters += value.length;
      return value;
    }
    if (typeof value !== 'object' || value === null || depth === 0) return value;
    if (this.#copies >= MAX_COPIES) return value;
    if (Array.isArray(value)) return this.#keepList(value, depth);
    const prototype: unknown = Object.getPrototypeOf(value);
    return prototype === Object.prototype || prototype === null ? this.keepFields(value, depth) : value;
  }

  #keepList(list: readonly unknown[], depth: number): readonly unknown[] {
    if (typeof list[0] === 'number' && list.length > MAX_NUMBERS) return list;
    this.#copies += 1;
    const kept = list.slice();
    for (let at = 0; at < kept.length && this.#copies < MAX_COPIES; at += 1)
      kept[at] = this.keep(kept[at], depth - 1);
    return kept;
  }

  /** The fields of an object of any class. */
  keepFields(value: object, depth: number = MAX_DEPTH): Record<string, unknown> {
    this.#copies += 1;
    const kept: Record<string, unknown> = { ...value };
    for (const key in kept) {
      const field = kept[key];
      if (typeof field === 'string') this.characters += field.length;
      else if (typeof field === 'object' && field !== null) kept[key] = this.keep(field, depth - 1);
    }
    return kept;
  }
}
