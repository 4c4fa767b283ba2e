import { canonicalHash, type Difference, differencesBetween, type Tolerance } from '../../json/index.ts';
import { readTolerance } from '../compare/index.ts';
import {
  type ComparisonRules,
  GoldenMismatchError,
  isSameButForSecrets,
  learnMatcher,
  type Matcher,
  withRecordedParts,
} from '../file/index.ts';

interface Entry<T> {
  readonly place: string;
  readonly canonical: unknown;
  readonly value: T;
  used: boolean;
}

/** A recorded entry that was found, and its place in the file. */
export interface Found<T> {
  readonly place: string;
  readonly value: T;
}

/** The recorded entry that is closest to a miss. */
interface Nearest {
  readonly place: string;
  readonly used: boolean;
  readonly differences: readonly Difference[];
}

/** Recorded entries by the hash of their request. Each is used once; entries with equal requests in recorded order. */
export class Entries<T> {
  /** Place of a canonical value in an entry, for matchers and messages. */
  readonly #inside: string;
  readonly #matchers: ComparisonRules['matchers'];
  readonly #tolerance: Tolerance;
  readonly #learned: Record<string, Matcher> | undefined;
  readonly #entries: Entry<T>[] = [];
  readonly #waiting = new Map<string, Entry<T>[]>();

  /**
   * @param inside place of what an entry is found by in the entry.
   * @param matchers for what need not be equal, by its place in the golden.
   * @param learned takes the matchers for what differs besides, if it is no more than numbers and parts of texts.
   */
  constructor(
    inside: string,
    matchers: ComparisonRules['matchers'],
    learned: Record<string, Matcher> | undefined,
  ) {
    this.#inside = inside;
    this.#matchers = matchers;
    this.#tolerance = readTolerance(matchers);
    this.#learned = learned;
  }

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

  /**
   * The next unused entry that is found by a value; if there is none, the first that differs where it may.
   * @param other found in the same way, if nothing is found by the first: the value without known secrets
   */
  take(canonical: unknown, other: unknown): Found<T> | undefined {
    const entry = this.#find(canonical) ?? this.#find(other) ?? this.#learn(other);
    if (entry === undefined) return undefined;
    entry.used = true;
    return entry;
  }

  /** As {@link take}; once all that are equal are used, the last of them again. */
  takeOrRepeat(canonical: unknown): (Found<T> & { readonly isAgain: boolean }) | undefined {
    const next = this.#find(canonical);
    const entry = next ?? this.#waiting.get(canonicalHash(canonical))?.at(-1);
    if (entry === undefined) return undefined;
    entry.used = true;
    return { ...entry, isAgain: next === undefined };
  }

  #find(canonical: unknown): Entry<T> | undefined {
    return (
      this.#waiting.get(canonicalHash(canonical))?.find(({ used }) => !used) ??
      this.#entries.find((one) => !one.used && this.#differences(one, canonical).length === 0)
    );
  }

  /** The unused entry that differs the least. @returns undefined if what differs cannot be learned, or need not be */
  #learn(canonical: unknown): Entry<T> | undefined {
    if (this.#learned === undefined) return undefined;
    const [best] = this.#entries
      .filter(({ used }) => !used)
      .map((entry) => ({ entry, differences: this.#differences(entry, canonical) }))
      .sort((left, right) => left.differences.length - right.differences.length);
    const matchers: Record<string, Matcher> = {};
    for (const { place, expected, actual } of best?.differences ?? []) {
      const matcher = learnMatcher(expected, actual, this.#matchers[place]);
      if (matcher === undefined) return undefined;
      matchers[place] = matcher;
    }
    Object.assign(this.#learned, matchers);
    return best?.entry;
  }

  /** Whether an entry is found by something, used or not. */
  some(isFound: (value: T) => boolean): boolean {
    return this.#entries.some(({ value }) => isFound(value));
  }

  used(): T[] {
    return this.#entries.filter((entry) => entry.used).map(({ value }) => value);
  }

  /** @param repeatable leave out entries that are equal to used ones */
  unused(repeatable = false): string[] {
    return this.#entries
      .filter(({ used, canonical }) => !used && !(repeatable && this.hasUsed(canonical)))
      .map(({ place }) => place);
  }

  /** Whether an entry that a value finds was used. */
  hasUsed(canonical: unknown): boolean {
    return this.#entries.some((one) => one.used && this.#differences(one, canonical).length === 0);
  }

  /**
   * The error for a value that finds no entry.
   * @param what the missing entry, in words.
   * @param noun of the entries.
   */
  miss(canonical: unknown, what: string, noun: string): GoldenMismatchError {
    const nearest = this.#nearest(canonical);
    if (nearest === undefined) return new GoldenMismatchError(`${what}: it holds no ${noun}`);
    const { place, used, differences } = nearest;
    const again = this.#entries.filter((one) => one.used && this.#differences(one, canonical).length === 0);
    if (again.length > 0) {
      const places = again.map((one) => one.place).join(', ');
      return new GoldenMismatchError(`${what}: every ${noun} is used that is equal to it: ${places}`);
    }
    const where = used
      ? `every ${noun} is used; the nearest was ${place}`
      : `the nearest is ${place}, which differs at`;
    return new GoldenMismatchError(
      `${what}: ${where}`,
      differences.map((one) => this.#withoutVolatile(one)),
    );
  }

  /** With the recorded volatile parts, so that a message shows what else differs. */
  #withoutVolatile(difference: Difference): Difference {
    const { place, expected, actual } = difference;
    const matcher = this.#matchers[place];
    if (typeof matcher !== 'object' || !('volatile' in matcher)) return difference;
    if (typeof expected !== 'string' || typeof actual !== 'string') return difference;
    return { ...difference, actual: withRecordedParts(matcher.volatile, expected, actual) };
  }

  #differences({ place, canonical: recorded }: Entry<T>, canonical: unknown): Difference[] {
    const at = `${place}${this.#inside}`;
    return differencesBetween(recorded, canonical, at, this.#tolerance, isSameButForSecrets);
  }

  /** The entry with the fewest differences, among the unused ones if there are any. */
  #nearest(canonical: unknown): Nearest | undefined {
    const unused = this.#entries.filter((entry) => !entry.used);
    let best: Nearest | undefined;
    for (const entry of unused.length > 0 ? unused : this.#entries) {
      const { place, used } = entry;
      const differences = this.#differences(entry, canonical);
      if (best === undefined || differences.length < best.differences.length)
        best = { place, used, differences };
    }
    return best;
  }
}
