import { type Difference, differencesBetween } from '../file/index.ts';

interface Entry<T> {
  readonly place: string;
  readonly key: string;
  readonly canonical: unknown;
  readonly value: T;
  used: boolean;
}

/** What a miss came closest to. */
interface Nearest {
  readonly place: string;
  readonly used: boolean;
  readonly differences: readonly Difference[];
}

/** Recorded entries by the hash of what asks for them. Each is given once; equal ones in the order of the recording. */
export class Entries<T> {
  readonly #entries: Entry<T>[] = [];
  readonly #waiting = new Map<string, Entry<T>[]>();

  /**
   * @param place where it stands in the file, for messages.
   * @param canonical what its key is the hash of.
   */
  add(place: string, key: string, canonical: unknown, value: T): void {
    const entry: Entry<T> = { place, key, canonical, value, used: false };
    this.#entries.push(entry);
    const waiting = this.#waiting.get(key);
    if (waiting === undefined) this.#waiting.set(key, [entry]);
    else waiting.push(entry);
  }

  /** The next entry of a key that has not been used. */
  take(key: string): T | undefined {
    const entry = this.#waiting.get(key)?.shift();
    if (entry === undefined) return undefined;
    entry.used = true;
    return entry.value;
  }

  /** Places of the entries nobody asked for. */
  unused(): string[] {
    return this.#entries.filter((entry) => !entry.used).map((entry) => entry.place);
  }

  /** The entry with the fewest differences; an unused one where there is any. */
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
