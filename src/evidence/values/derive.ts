/** Of more numbers shares are chance. */
const MAX_FACTORS = 48;
const MAX_SHARES = 48;
const UNITS = [60, 3600, 24, 7, 12, 1000, 1024, 100, 365];
const MULTIPLES = [2, 3, 4, 5, 6, 7, 8, 9, 10];
/** Sums may be off by a cent. */
const CENT = 0.0101;

/** Numbers in ascending order, and what can be computed from them. */
export class Addends {
  readonly #numbers: Float64Array;

  constructor(numbers: readonly number[]) {
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

  /** Whether the value is a number, a sum or difference of two, a small multiple or the same in another unit. */
  gives(value: number, off = CENT): boolean {
    const total = this.#numbers.reduce((sum, one) => sum + one, 0);
    if (this.hasWithin(value - off, value + off) || Math.abs(total - value) <= off) return true;
    if (this.hasSum(value, off) || this.hasSum(-value, off) || this.hasDifference(Math.abs(value), off))
      return true;
    const isMultiple = MULTIPLES.some(
      (factor) =>
        this.hasWithin((value - CENT) / factor, (value + CENT) / factor) ||
        this.hasWithin((value - CENT) * factor, (value + CENT) * factor),
    );
    return isMultiple || this.#isOtherUnit(value) || this.#isProduct(value, off);
  }

  #isOtherUnit(value: number): boolean {
    return UNITS.some(
      (unit) =>
        (Math.abs(value) >= 1 && this.hasWithin((value - 0.51) * unit, (value + 0.51) * unit)) ||
        this.hasWithin((value - 0.01) / unit, (value + 0.01) / unit),
    );
  }

  hasSum(value: number, off: number): boolean {
    const numbers = this.#numbers;
    for (let i = 0, j = numbers.length - 1; i <= j; ) {
      const rest = (numbers[i] as number) + (numbers[j] as number) - value;
      if (Math.abs(rest) <= off) return true;
      if (rest < 0) i++;
      else j--;
    }
    return false;
  }

  hasDifference(value: number, off: number): boolean {
    const numbers = this.#numbers;
    for (let i = 0, j = 0; j < numbers.length; ) {
      const rest = (numbers[j] as number) - (numbers[i] as number) - value;
      if (Math.abs(rest) <= off && i !== j) return true;
      if (rest <= 0) j++;
      else i++;
    }
    return false;
  }

  /** A price times a rate, or by one. */
  #isProduct(value: number, off: number): boolean {
    if (this.size > MAX_FACTORS || Math.abs(value) < 1) return false;
    return this.#numbers.some(
      (factor) =>
        factor > 0 &&
        factor !== 1 &&
        (factor > 9 || !Number.isInteger(factor)) &&
        this.hasWithin((value - off) / factor, (value + off) / factor),
    );
  }

  /** The share of one number in another one, or the change between them, in per cent; or a quotient. */
  isShare(value: number, off: number): boolean {
    const numbers = this.#numbers;
    if (numbers.length > MAX_SHARES) return false;
    return numbers.some((part) =>
      numbers.some(
        (whole) =>
          part !== whole &&
          whole !== 0 &&
          (Math.abs(Math.abs(((part - whole) / whole) * 100) - value) < off ||
            (value > 1 && Math.abs((part / whole) * 100 - value) < off)),
      ),
    );
  }
}
