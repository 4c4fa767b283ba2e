import { Addends } from './derive.ts';
import { type Figure, figuresOf } from './figures.ts';
import type { ReadStep, Sentence } from './types.ts';

/** Figures of the answer around one that may be their sum. Sums with signs of half of them are three to the power of half of this. */
const MAX_SAID = 8;
/** Values of one key of a list: of so many all partial sums count, of more the whole sum. */
const MAX_PARTS = 8;
/** Larger whole numbers are ids. */
const MAX_COUNT = 100_000;
const MAX_LISTS = 24;
const MAX_LIST = 500;
/** Of a sentence. */
const MAX_FIGURES = 12;
const MAX_NODES = 3000;
/** Figures for which sums are formed. */
const MAX_ASKED = 12;
/** Travelers, nights, pieces. */
const FACTORS = [1, 2, 3, 4, 5, 6];
const CENT = 0.0101;
/** For a sum that the answer rounds to a whole number. */
const MOST_OFF = 0.51;
/** Values of a column of which one may be given as a share. */
const MAX_SHARED = 12;
const ABOVE_ZERO = 1e-9;
/** For a sum in watt-hours, minutes or bytes, which the answer gives in a larger unit. */
const UNITS = [60, 1000, 1024, 1_048_576];
/** Whether a figure of an answer is a number to as many digits as it has. */
const isRounded = (given: number, said: number) =>
  said >= 1 && Math.abs(given - said) <= 0.51 * 10 ** -(String(said).split('.')[1]?.length ?? 0);
const isNear = (left: number, right: number) => Math.abs(left - right) <= CENT;

/** What can be computed from figures that belong together: those near each other in the answer, and those of one list. */
export class Sums {
  readonly #sentences: readonly Sentence[];
  readonly #steps: readonly ReadStep[];
  readonly #states: (figure: Figure) => boolean;
  #said: readonly { readonly at: number; readonly value: number; readonly isPrice: boolean }[] | undefined;
  #listed: ReturnType<typeof listsOf> | undefined;
  #left = MAX_ASKED;

  constructor(
    sentences: readonly Sentence[],
    steps: readonly ReadStep[],
    states: (figure: Figure) => boolean,
  ) {
    this.#sentences = sentences;
    this.#steps = steps;
    this.#states = states;
  }

  /** Whether a figure at a place of the answer is a sum or difference of others there, or the sum or a share of a list. */
  give({ value, tolerance, isPercent }: Figure, at: number): boolean {
    if (this.#left-- <= 0) return true;
    const size = Math.abs(value);
    return (
      this.#isOfAnswer(size, at) ||
      this.#isOfList(size, Math.min(tolerance, MOST_OFF)) ||
      (isPercent && this.#isShareOfList(size))
    );
  }

  #isOfAnswer(value: number, at: number): boolean {
    this.#said ??= this.#sentences.flatMap((sentence) =>
      figuresOf(sentence)
        .slice(0, MAX_FIGURES)
        .filter((figure) => Math.abs(figure.value) >= 1 && this.#states(figure))
        .map(({ start, value, isMoney }) => ({
          at: sentence.start + start,
          value: Math.abs(value),
          isPrice: isMoney || !Number.isInteger(value),
        })),
    );
    const near = this.#said
      .filter((one) => one.at !== at && !isNear(one.value, value))
      .sort((left, right) => Math.abs(left.at - at) - Math.abs(right.at - at));
    const prices = near.filter((one) => one.isPrice);
    const kin = prices.length > 1 ? prices : near.filter((one) => one.value < MAX_COUNT);
    const values = [...new Set(kin.map((one) => one.value))].slice(0, MAX_SAID);
    // Sums of the one half, and what they lack among those of the other.
    const left = signedSums(values.filter((_, i) => i % 2 === 0));
    const right = new Addends(signedSums(values.filter((_, i) => i % 2 === 1)));
    return FACTORS.some((factor) => {
      const low = (value - CENT) / factor;
      const high = (value + CENT) / factor;
      return left.some((sum) => right.hasWithin(Math.max(low - sum, ABOVE_ZERO - sum), high - sum));
    });
  }

  /** "52 %" of a column whose sum the results do not give. */
  #isShareOfList(value: number): boolean {
    this.#listed ??= listsOf(this.#steps);
    const off = Number.isInteger(value) ? 0.51 : 0.06;
    return this.#listed.lists.some((list) => {
      const whole = total(list);
      return (
        list.length <= MAX_SHARED &&
        list.some((part) => whole > 0 && Math.abs((part / whole) * 100 - value) <= off)
      );
    });
  }

  #isOfList(value: number, tolerance: number): boolean {
    this.#listed ??= listsOf(this.#steps);
    const { lists, totals } = this.#listed;
    // "roughly $1,231" of 734.38 and 496.40
    const isNear = (left: number, right: number) => Math.abs(left - right) <= Math.max(CENT, tolerance);
    if (totals.some((sum) => isNear(sum, value))) return true;
    const isOfWhole = lists.some((list) => {
      const sum = total(list);
      return UNITS.some((unit) => isRounded(sum / unit, value) || isRounded(sum / unit / list.length, value));
    });
    if (isOfWhole) return true;
    return lists.some((list) => {
      const off = Math.abs(total(list) / list.length - value);
      if (isNear(total(list), value) || off <= (Number.isInteger(value) ? 0.5 : 0.0051)) return true;
      if (list.length > MAX_PARTS) return false;
      let sums: readonly number[] = [0];
      for (const one of list) if (!isNear(one, value)) sums = sums.flatMap((sum) => [sum, sum + one]);
      return sums.some((sum) => isNear(sum, value));
    });
  }
}

/** All sums in which each of a few numbers is added, subtracted or left out. */
function signedSums(numbers: readonly number[]): readonly number[] {
  const sums = [0];
  for (const number of numbers) for (const sum of sums.slice()) sums.push(sum + number, sum - number);
  return sums;
}

const total = (list: readonly number[]) => list.reduce((sum, one) => sum + one, 0);

/** The numbers that the records of a list have under one key, the last lists first, and the sums of records that hold nothing else. */
function listsOf(steps: readonly ReadStep[]) {
  const lists: number[][] = [];
  const totals: number[] = [];
  let left = MAX_NODES;
  const walk = (value: unknown, depth: number): void => {
    if (typeof value !== 'object' || value === null || depth > 6 || left-- <= 0) return;
    const members = Object.values(value).slice(0, MAX_LIST);
    const columns = new Map<string, number[]>();
    for (const member of members)
      if (typeof member === 'object' && member !== null)
        for (const [key, cell] of Object.entries(member).slice(0, 40))
          if (typeof cell === 'number') {
            const column = columns.get(key);
            if (column === undefined) columns.set(key, [Math.abs(cell)]);
            else column.push(Math.abs(cell));
          }
    const numbers = members.filter((member) => typeof member === 'number');
    const plain = Array.isArray(value) ? numbers : [];
    // The numbers of one record may be the parts of one thing.
    if (plain.length === 0 && numbers.length > 2 && numbers.length === members.length)
      totals.push(Math.abs(total(numbers)));
    for (const list of [...columns.values(), plain])
      if (list.length > 1 && lists.length < MAX_LISTS) lists.push(list);
    for (const member of members) walk(member, depth + 1);
  };
  for (let i = steps.length - 1; i >= 0; i--) walk((steps[i] as ReadStep).value, 0);
  return { lists, totals };
}
