import { canonicalHash, type Difference, differencesBetween } from '../../json/index.ts';
import { GoldenMismatchError } from '../file/index.ts';

interface Entry<T> {
  readonly place: string;
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
   * @param canonical what the entry is found by.
   */
  add(place: string, canonical: unknown, value: T): void {
    const entry: Entry<T> = { place, canonical, value, used: false };
    const key = canonicalHash(canonical);
    this.#entries.push(entry);
    const waiting = this.#waiting.get(key);
    if (waiting === undefined) this.#waiting.set(key, [entry]);
    else waiting.push(entry);
  }

  /** The next unused entry that is found by a value. */
  take(canonical: unknown): T | undefined {
    const entry = this.#waiting.get(canonicalHash(canonical))?.shift();
    if (entry === undefined) return undefined;
    entry.used = true;
    return entry.value;
  }

  /** Places of the unused entries. */
  unused(): string[] {
    return this.#entries.filter((entry) => !entry.used).map((entry) => entry.place);
  }

  /**
   * The error for a value that finds no entry.
   * @param what the missing entry, in words.
   * @param noun of the entries.
   * @param inside place of the differing part in an entry.
   */
  miss(canonical: unknown, what: string, noun: string, inside = ''): GoldenMismatchError {
    const nearest = this.#nearest(canonical);
    if (nearest === undefined) return new GoldenMismatchError(`${what}: it holds no ${noun}`);
    const { place, used, differences } = nearest;
    const where = used
      ? `every ${noun} is used; the nearest was ${place}`
      : `the nearest is ${place}, which differs at`;
    return new GoldenMismatchError(
      `${what}: ${where}`,
      differences.map((one) => ({ ...one, place: `${place}${inside}.${one.place}` })),
    );
  }

  /** The entry with the fewest differences, among the unused ones if there are any. */
  #nearest(canonical: unknown): Nearest | undefined {
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
