import { type Difference, differencesBetween } from '../file/index.ts';

interface Entry<T> {
  readonly place: string;
  readonly key: string;
  readonly canonical: unknown;
  readonly value: T;
  used: boolean;
}

/** The recorded entry that is closest to a miss. */
interface Nearest {
  readonly place: string;
  readonly used: boolean;
  readonly differences: readonly Difference[];
}

/** Recorded entries by the hash of their request. Each is used once; entries with equal requests in recorded order. */
export class Entries<T> {
  readonly #entries: Entry<T>[] = [];
  readonly #waiting = new Map<string, Entry<T>[]>();

  /**
   * @param place its place in the file, for messages.
   * @param canonical the value that `key` is the hash of.
   */
  add(place: string, key: string, canonical: unknown, value: T): void {
    const entry: Entry<T> = { place, key, canonical, value, used: false };
    this.#entries.push(entry);
    const waiting = this.#waiting.get(key);
    if (waiting === undefined) this.#waiting.set(key, [entry]);
    else waiting.push(entry);
  }

  /** The next unused entry of a key. */
  take(key: string): T | undefined {
    const entry = this.#waiting.get(key)?.shift();
    if (entry === undefined) return undefined;
    entry.used = true;
    return entry.value;
  }

  /** Places of the unused entries. */
  unused(): string[] {
    return this.#entries.filter((entry) => !entry.used).map((entry) => entry.place);
  }

  /** The entry with the fewest differences, among the unused ones if there are any. */
  nearest(canonical: unknown): Nearest | undefined {
    const unused = this.#entries.filter((entry) => !entry.used);
    let best: Nearest | undefined;
    for (const { place, used, canonical: recorded } of unused.length > 0 ? unused : this.#entries) {
      const differences = differencesBetween(recorded, canonical);
      if (best === undefined || differences.length < best.differences.length)
        best = { place, used, differences };
    }
    return best;
  }
}
