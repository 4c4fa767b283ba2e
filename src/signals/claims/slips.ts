const MAX_CANDIDATES = 1000;

/** Equal length, and one character that differs or two neighbors that changed places: a slip, not another name. */
function isSlipOf(left: string, right: string): boolean {
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

/** Texts by their length, which a slip leaves as it is, and by their halves, of which it leaves one. */
export class Slips {
  readonly #counts = new Map<number, number>();
  readonly #halves = new Map<string, string[]>();
  readonly #texts = new Set<string>();

  constructor(texts: Iterable<string>) {
    for (const text of texts) {
      const count = this.#counts.get(text.length) ?? 0;
      if (count >= MAX_CANDIDATES) continue;
      this.#counts.set(text.length, count + 1);
      this.#texts.add(text);
      for (const half of halvesOf(text)) {
        const list = this.#halves.get(half);
        if (list === undefined) this.#halves.set(half, [text]);
        else list.push(text);
      }
    }
  }

  /** How many texts are as long as this one. */
  countOf(text: string): number {
    return this.#counts.get(text.length) ?? 0;
  }

  /** Whether a text is one slip away from one of these. */
  has(text: string): boolean {
    if (this.countOf(text) === 0) return false;
    if (halvesOf(text).some((half) => this.#halves.get(half)?.some((known) => isSlipOf(known, text))))
      return true;
    // Two neighbors of which each half has one.
    const at = text.length >> 1;
    const swapped = `${text.slice(0, at - 1)}${text[at]}${text[at - 1]}${text.slice(at + 1)}`;
    return at > 0 && swapped !== text && this.#texts.has(swapped);
  }
}

/** The halves of a text, each with the place and the length of the other one. */
const halvesOf = (text: string): readonly string[] => {
  const at = text.length >> 1;
  return [`${text.slice(0, at)}+${text.length - at}`, `${at}+${text.slice(at)}`];
};
