import { cleanText } from './clean-text.ts';

/** The key of a JSON entry and its colon. */
export interface EntryHead {
  readonly first: string;
  /** After a comma. */
  readonly later: string;
}

/** Facts that follow from an attribute's name alone. */
interface KnownName<T> {
  /** The decision on the name. */
  readonly is: T;
  /** Only if the name is stored as it is. */
  readonly head: EntryHead | undefined;
}

/** Bounds of the cache (half a megabyte), because anyone may invent attribute names. */
const MAX_NAMES = 256;
const MAX_NAME_CHARS = 128;

/**
 * Caches a decision for each attribute name. Spans of one kind have the same names in the same order, so most names are
 * found by their position in the last span, which is cheaper than a lookup.
 */
export class KnownNames<T> {
  readonly #decide: (name: string) => T;
  readonly #known = new Map<string, KnownName<T>>();
  readonly #last: string[] = [];
  readonly #found: KnownName<T>[] = [];

  constructor(decide: (name: string) => T) {
    this.#decide = decide;
  }

  /** The entry of the name at this position of a span's attributes. */
  at(place: number, name: string): KnownName<T> {
    if (this.#last[place] === name) return this.#found[place] as KnownName<T>;
    const known = this.#known.get(name) ?? this.#learn(name);
    if (place < MAX_NAMES && name.length <= MAX_NAME_CHARS) {
      this.#last[place] = name;
      this.#found[place] = known;
    }
    return known;
  }

  #learn(name: string): KnownName<T> {
    const isShort = name.length <= MAX_NAME_CHARS;
    const isKept = isShort && cleanText(name) === name;
    const known = { is: this.#decide(name), head: isKept ? toEntryHead(name) : undefined };
    if (!isShort) return known;
    if (this.#known.size >= MAX_NAMES) this.#known.clear();
    this.#known.set(name, known);
    return known;
  }
}

/** Joined, because texts that are put together by a sign are only so when they are read, which is each time here. */
function toEntryHead(name: string): EntryHead {
  const key = JSON.stringify(name);
  return { first: [key, ':'].join(''), later: [',', key, ':'].join('') };
}
