/** Where the results of a run hold a word or a value, by the places where it stands. */
import type { ResultField } from './fields.ts';
import { ENTRY_BYTES, listEntries, readPhrase, type SourceText, type Wanted } from './source-text.ts';
import { isOneWord } from './words.ts';

/** Where a value stood in a result. */
export interface ResultOrigin extends ResultField {
  readonly kind: 'result';
  /** The value is the whole of what stood there. */
  readonly isWhole: boolean;
}

/** A result of a run. Each came later than the one before it. */
export interface KnownResult {
  readonly at: number;
  readonly bytes: number;
  readonly entries: readonly string[];
  look: number;
  told: number;
}

/** A leaf is where a value of one word stood. */
interface KnownLeaf extends ResultOrigin {
  readonly joined: string;
  readonly result: KnownResult;
  /** The number of its tool and of its path without the indexes; negative for more than one word. */
  readonly place: number;
}

/** The leaves that hold a word or a value: a list for each place, the oldest leaf first. */
interface Standing {
  size: number;
  places: KnownLeaf[][];
}

/** Most places told of a value in one result. */
const MAX_TOLD = 16;
/** Leaves are put to one of the first places of an entry, else they stand alone. */
const MAX_JOINED = 256;
/** Places that have a number. Those beyond have one for each leaf. */
const MAX_PLACES = 4_000;
const MAX_PLACE_CHARS = 400;

export class ResultIndex {
  readonly #standing = new Map<string, Standing>();
  readonly #numbers = new Map<string, number>();
  #last = 0;
  #looks = 0;
  /** Of the numbers of places: those of the entries are counted with their results. */
  bytes = 0;

  /** Takes over what was read of a result. */
  add(server: string, tool: string, at: number, text: SourceText): KnownResult {
    const result = { at, bytes: text.bytes, entries: [...text.index.keys()], look: 0, told: 0 };
    const leaves = text.leaves.map(({ path, joined }): KnownLeaf => {
      const isWhole = isOneWord(joined);
      const place = this.#numberOf([server, tool, ...path]) * (isWhole ? 1 : -1);
      return { kind: 'result', server, tool, path, isWhole, joined, result, place };
    });
    for (const [entry, numbers] of text.index) {
      const standing = this.#standing.get(entry) ?? { size: 0, places: [] };
      this.#standing.set(entry, standing);
      const { places } = standing;
      standing.size += numbers.length;
      for (const number of numbers) {
        const leaf = leaves[number] as KnownLeaf;
        let at = 0;
        while (at < places.length && at < MAX_JOINED && places[at]?.[0]?.place !== leaf.place) at += 1;
        if (at < places.length && at < MAX_JOINED) places[at]?.push(leaf);
        else places.push([leaf]);
      }
    }
    return result;
  }

  drop(oldest: KnownResult): void {
    for (const entry of oldest.entries) {
      const standing = this.#standing.get(entry) as Standing;
      for (const leaves of standing.places)
        for (; leaves[0]?.result === oldest; standing.size -= 1) leaves.shift();
      standing.places = standing.places.filter(({ length }) => length > 0);
      if (standing.size === 0) this.#standing.delete(entry);
    }
  }

  #numberOf(path: readonly (string | number)[]): number {
    const name = JSON.stringify(path.map((key) => (typeof key === 'number' ? 0 : key)));
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    this.#last += 1;
    if (name.length > MAX_PLACE_CHARS || this.#numbers.size >= MAX_PLACES) return this.#last;
    this.#numbers.set(name, this.#last);
    this.bytes += 2 * name.length + ENTRY_BYTES;
    return this.#last;
  }

  /** Where a value stands, once for each place, and once more where it is the whole of it. @param until no later. */
  find(wanted: Wanted, until: number): readonly ResultOrigin[] {
    const entries = listEntries(wanted, (word) => this.#standing.get(word)?.size ?? 0);
    const standing = entries.flatMap((entry) => this.#standing.get(entry) ?? []);
    // Most of what is looked for stands nowhere.
    if (standing.length === 0) return [];
    const phrase = readPhrase(wanted);
    const found: KnownLeaf[] = [];
    const told = new Set<number>();
    this.#looks += 1;
    for (const { places } of standing)
      for (const leaves of places)
        for (const leaf of leaves) {
          const { joined, place, result } = leaf;
          if (result.at > until) break;
          // A place may hold several words, and be them.
          const isPhrase = joined === phrase;
          const key = isPhrase ? -place : place;
          const isTold = told.has(key);
          if (!isTold && (phrase === undefined || isPhrase || joined.includes(phrase))) {
            if (result.look !== this.#looks) result.told = 0;
            result.look = this.#looks;
            if (result.told >= MAX_TOLD) continue;
            told.add(key);
            result.told += 1;
            found.push(isPhrase ? { ...leaf, isWhole: true } : leaf);
          }
          // All leaves of the list are of this place.
          if (phrase === undefined || isPhrase) break;
        }
    return found.sort((a, b) => a.result.at - b.result.at);
  }
}
