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
  /** Of the lengths that were asked for: the texts by their halves, of which a slip leaves one. */
  readonly #halves = new Map<number, ReadonlyMap<string, readonly string[]>>();

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
    const texts = this.#texts.get(text.length) ?? [];
    if (texts.length <= FEW) return texts.some((known) => isSlip(known, text));
    const halves = this.#halves.get(text.length) ?? byHalves(texts);
    this.#halves.set(text.length, halves);
    return splitHalves(text).some((half) => halves.get(half)?.some((known) => isSlip(known, text)));
  }
}

/** So many are compared one by one. */
const FEW = 24;

/** What a slip may leave: the first half, the second half, or, if neighbors on both sides of the middle changed places, the rest. */
const splitHalves = (text: string): readonly string[] => {
  const at = text.length >> 1;
  const [head, tail] = [text.slice(0, at), text.slice(at)];
  return [`${head}+`, `+${tail}`, `${head.slice(0, -1)}++${tail.slice(1)}`];
};

function byHalves(texts: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const halves = new Map<string, string[]>();
  for (const text of texts)
    for (const half of splitHalves(text)) {
      const list = halves.get(half);
      if (list === undefined) halves.set(half, [text]);
      else list.push(text);
    }
  return halves;
}
