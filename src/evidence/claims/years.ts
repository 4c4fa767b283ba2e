import type { Sentence } from './types.ts';

const YEAR = /(?<![\d.,:/-])(1[5-9]\d\d|20\d\d)(?!\d|[.,:/-]\d)/g;
const MAX_TEXT_CHARS = 24_576;
const MAX_YEARS = 12;
const MAX_CHECKED = 32;
const REACH = 40;
const MIN_WORD = 5;

/** "founded in 1976" where a result has "Founded in 1967": two digits in each other's place, of the same thing. */
export class Years {
  #text: string;
  #left = MAX_CHECKED;
  readonly #knows: (text: string) => boolean;
  #places: ReadonlyMap<string, readonly number[]> | undefined;

  constructor(text: string, knows: (text: string) => boolean) {
    this.#text = text;
    this.#knows = knows;
  }

  swapped({ isQuestion, lower }: Sentence): boolean {
    if (isQuestion) return false;
    for (const { 0: said, index } of lower.matchAll(YEAR)) {
      if (this.#left-- <= 0) return false;
      if (this.#knows(said)) continue;
      const words = lower.slice(Math.max(0, index - REACH), index).match(/\p{L}{5,20}/gu) ?? [];
      const others = [swap(said, 2), swap(said, 1)].filter((year) => year !== said);
      if (others.some((year) => this.#stands(year, words))) return true;
    }
    return false;
  }

  /** Whether the results have a year, and one of the words before it. */
  #stands(year: string, words: readonly string[]): boolean {
    if (this.#places === undefined) {
      this.#text = this.#text.slice(-MAX_TEXT_CHARS).toLowerCase();
      this.#places = placesIn(this.#text);
    }
    if (this.#places.size > MAX_YEARS) return false;
    return (this.#places.get(year) ?? []).some((at) => {
      const before = this.#text.slice(Math.max(0, at - REACH), at);
      return words.some((word) => before.includes(word.slice(0, Math.max(MIN_WORD, word.length - 2))));
    });
  }
}

const swap = (year: string, at: number): string =>
  `${year.slice(0, at)}${year[at + 1]}${year[at]}${year.slice(at + 2)}`;

function placesIn(text: string): ReadonlyMap<string, readonly number[]> {
  const places = new Map<string, number[]>();
  for (const { 0: year, index } of text.matchAll(YEAR)) {
    const known = places.get(year);
    if (known === undefined) places.set(year, [index]);
    else if (known.length < MAX_YEARS) known.push(index);
    if (places.size > MAX_YEARS) break;
  }
  return places;
}
