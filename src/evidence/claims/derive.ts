/** Of so many of the last fractions sums of three are formed. */
const MAX_PAIRED = 32;
/** Of more numbers products are chance. */
const MAX_COUNTED = 48;
/** Of so many numbers a product may be rounded to a whole one. */
const MAX_ROUNDED = 12;
const FACTORS = [2, 3, 4, 5, 6, 7, 8, 9];
const UNITS = [60, 3600, 24, 7, 1000, 1024, 100];
const ROUNDINGS = [-1, 0, 1];
/** Sums may be off by a cent. */
const CENT = 0.0101;
/** What is left of hundredths where there are none. */
const ABOVE_CENT = 1e-6;

/** Numbers in ascending order, so that a range is found without reading all. */
export class Addends {
  readonly #numbers: Float64Array;
  /** The last ones. */
  readonly #fractions: readonly number[];
  /** Sums and differences of two fractions, in cents. */
  #pairs: ReadonlySet<number> | undefined;

  constructor(numbers: readonly number[]) {
    this.#fractions = numbers.filter((number) => !Number.isInteger(number)).slice(-MAX_PAIRED);
    this.#numbers = Float64Array.from(numbers).sort();
  }

  get size(): number {
    return this.#numbers.length;
  }

  /** Whether a number is in the range, bounds included. */
  hasWithin(low: number, high: number): boolean {
    const numbers = this.#numbers;
    let [from, to] = [0, numbers.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((numbers[middle] as number) < low) from = middle + 1;
      else to = middle;
    }
    return from < numbers.length && (numbers[from] as number) <= high;
  }

  /** Whether the value is a sum, difference, small multiple, share or another unit; `isWide` allows sums of three and shares. */
  derive(value: number, isWide: boolean): boolean {
    if (this.#hasSum(value) || this.#hasDifference(Math.abs(value))) return true;
    const isMultiple = FACTORS.some(
      (factor) =>
        this.hasWithin((value - 0.011) / factor, (value + 0.011) / factor) ||
        this.hasWithin((value - 0.006) * factor, (value + 0.006) * factor),
    );
    if (isMultiple) return true;
    const isOtherUnit = UNITS.some(
      (unit) =>
        (value >= 1 && this.hasWithin((value - 0.51) * unit, (value + 0.51) * unit)) ||
        this.hasWithin((value - 0.01) / unit, (value + 0.01) / unit),
    );
    if (isOtherUnit || this.#isProduct(value) || this.#isExchanged(value)) return true;
    if (!isWide) return false;
    const isFew = this.size <= MAX_ROUNDED;
    return this.#isSumOfThree(value) || (isFew && (this.#isShare(value) || this.#isComputed(value)));
  }

  /** Whether the value is a sum or difference of two numbers, so far off at most. */
  pairs(value: number, off: number): boolean {
    return this.#hasSum(value, off) || this.#hasDifference(value, off);
  }

  /** Whether the value is a share of another number: "about $50k" of 84,000 and 0.6. */
  shares(value: number, off: number): boolean {
    return this.#fractions.some(
      (share) => share > 0 && share < 1 && this.hasWithin((value - off) / share, (value + off) / share),
    );
  }

  /** As {@link pairs}, of numbers with decimals alone, where they are few: a whole number is near many sums by chance. */
  pairsOfFractions(value: number, off: number): boolean {
    const fractions = this.#fractions;
    if (fractions.length > MAX_ROUNDED) return false;
    return fractions.some((left, i) =>
      fractions
        .slice(i + 1)
        .some(
          (right) => Math.abs(left + right - value) <= off || Math.abs(Math.abs(left - right) - value) <= off,
        ),
    );
  }

  #hasSum(value: number, off = CENT): boolean {
    const numbers = this.#numbers;
    for (let i = 0, j = numbers.length - 1; i <= j; ) {
      const rest = (numbers[i] as number) + (numbers[j] as number) - value;
      if (Math.abs(rest) <= off) return true;
      if (rest < 0) i++;
      else j--;
    }
    return false;
  }

  #hasDifference(value: number, off = CENT): boolean {
    const numbers = this.#numbers;
    for (let i = 0, j = 0; j < numbers.length; ) {
      const rest = (numbers[j] as number) - (numbers[i] as number) - value;
      if (Math.abs(rest) <= off) return true;
      if (rest < 0) j++;
      else i++;
    }
    return false;
  }

  /** A price times a quantity. */
  #isProduct(value: number): boolean {
    if (this.size > MAX_COUNTED) return false;
    const off = this.size <= MAX_ROUNDED && Number.isInteger(value) ? 0.51 : CENT;
    return this.#numbers.some(
      (count) =>
        Number.isInteger(count) &&
        count > 9 &&
        count <= 1000 &&
        this.hasWithin((value - off) / count, (value + off) / count),
    );
  }

  /** An amount times or by a rate, which has more decimals than money. */
  #isExchanged(value: number): boolean {
    if (this.size > MAX_COUNTED || Math.abs(value) < 1) return false;
    const off = Number.isInteger(value) ? 0.51 : CENT;
    return this.#fractions.some(
      (rate) =>
        rate > 0 &&
        Math.abs(rate * 100 - Math.round(rate * 100)) > ABOVE_CENT &&
        (this.hasWithin((value - off) / rate, (value + off) / rate) ||
          this.hasWithin((value - off) * rate, (value + off) * rate)),
    );
  }

  #isSumOfThree(value: number): boolean {
    const fractions = this.#fractions;
    if (this.#pairs === undefined) {
      const pairs = new Set<number>();
      for (const [i, left] of fractions.entries())
        for (const right of fractions.slice(i + 1))
          pairs.add(Math.round((left + right) * 100)).add(Math.abs(Math.round((left - right) * 100)));
      this.#pairs = pairs;
    }
    const pairs = this.#pairs;
    const target = Math.round(value * 100);
    return fractions.some((third) => {
      const cents = Math.round(third * 100);
      return ROUNDINGS.some((off) => pairs.has(target - cents + off) || pairs.has(target + cents + off));
    });
  }

  /** A price times a quantity and a fee, or a price by its quantity. */
  #isComputed(value: number): boolean {
    const numbers = this.#numbers;
    return numbers.some((left) =>
      numbers.some(
        (right) =>
          (right > 1 && Math.abs(left / right - value) <= 0.0051) ||
          [-1, 1].some((sign) => {
            const rest = (value - left * right) * sign;
            return left * right > 1 && rest > 0 && this.hasWithin(rest - CENT, rest + CENT);
          }),
      ),
    );
  }

  #isShare(value: number): boolean {
    const numbers = this.#numbers;
    return numbers.some((part) =>
      numbers.some(
        (whole) =>
          part !== whole &&
          whole !== 0 &&
          (Math.abs(Math.abs(((part - whole) / whole) * 100) - value) < 0.51 ||
            (value > 1 && Math.abs((part / whole) * 100 - value) < 0.51)),
      ),
    );
  }
}

/** Whether a count is a sum, difference or small multiple of counts. */
export const combines = (count: number, given: readonly number[]): boolean =>
  given.reduce((sum, one) => sum + one, 0) === count || new Addends(given).derive(count, true);
