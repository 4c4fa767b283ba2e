/** Of each length. */
const MAX_CANDIDATES = 1000;

/** Equal length, and one character that differs or two neighbors that changed places: a slip, not another name. */
function isSlip(left: string, right: string): boolean {
  let last = left.length - 1;
  if (left.length !== right.length) return false;
  let first = 0;
  while (first <= last && left.charCodeAt(first) === right.charCodeAt(first)) first++;
  if (first > last) return false;
  while (left.charCodeAt(last) === right.charCodeAt(last)) last--;
  if (last === first) return true;
  return (
    last === first + 1 &&
    left.charCodeAt(first) === right.charCodeAt(last) &&
    left.charCodeAt(last) === right.charCodeAt(first)
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
    return this.#texts.get(text.length)?.some((known) => isSlip(known, text)) === true;
  }
}
