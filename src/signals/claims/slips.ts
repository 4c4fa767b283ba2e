const MAX_CANDIDATES = 100;

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

/** Texts by the halves that a slip leaves as they are, so that looking for one does not read all. */
export class Slips {
  readonly #texts = new Map<string, string[]>();
  readonly #counts = new Map<number, number>();

  constructor(texts: Iterable<string>) {
    for (const text of texts) {
      this.#counts.set(text.length, this.countOf(text) + 1);
      for (const key of keysOf(text)) {
        const list = this.#texts.get(key);
        if (list === undefined) this.#texts.set(key, [text]);
        else if (list.length < MAX_CANDIDATES) list.push(text);
      }
    }
  }

  /** How many texts are as long as this one. */
  countOf(text: string): number {
    return this.#counts.get(text.length) ?? 0;
  }

  /** Whether a text is one slip away from one of these. */
  has(text: string): boolean {
    return keysOf(text).some((key) => this.#texts.get(key)?.some((known) => isSlipOf(known, text)) === true);
  }
}

function keysOf(text: string): readonly string[] {
  const half = text.length >> 1;
  return [
    `${text.length}<${text.slice(0, half)}`,
    `${text.length}>${text.slice(half)}`,
    `${text.length}=${text.slice(0, Math.max(0, half - 1))} ${text.slice(half + 1)}`,
  ];
}
