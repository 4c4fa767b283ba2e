const MAX_CANDIDATES = 1000;

/** Equal length, and one character that differs or two neighbors that changed places: a slip, not another name. */
function isSlipOf(left: string, right: string): boolean {
  if (left.length !== right.length) return false;
  let first = 0;
  while (first < left.length && left[first] === right[first]) first++;
  if (first === left.length) return false;
  if (left.slice(first + 1) === right.slice(first + 1)) return true;
  return (
    left[first] === right[first + 1] &&
    left[first + 1] === right[first] &&
    left.slice(first + 2) === right.slice(first + 2)
  );
}

/** Texts by their length, which a slip leaves as it is. */
export class Slips {
  readonly #texts = new Map<number, string[]>();

  constructor(texts: Iterable<string>) {
    for (const text of texts) {
      const list = this.#texts.get(text.length);
      if (list === undefined) this.#texts.set(text.length, [text]);
      else if (list.length < MAX_CANDIDATES) list.push(text);
    }
  }

  /** How many texts are as long as this one. */
  countOf(text: string): number {
    return this.#texts.get(text.length)?.length ?? 0;
  }

  /** Whether a text is one slip away from one of these. */
  has(text: string): boolean {
    return this.#texts.get(text.length)?.some((known) => isSlipOf(known, text)) === true;
  }
}
