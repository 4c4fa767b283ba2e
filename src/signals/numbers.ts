import { firstMarked } from './four-bytes.ts';
import { clamp01 } from './risk.ts';
import { classTable, DIGIT, decodeAt, digitValue, digitWidthAt, skipDigits, toWidth } from './unicode.ts';
import type { Utf8Text } from './utf8-text.ts';

const SPACE_BYTE = 0x20;
const ZERO = 0x30;
const DOT = 0x2e;
const PLUS = 0x2b;
const MINUS = 0x2d;

/** Up to 15 digits are exact as an integer, and so is the power of ten that divides them. */
const EXACT_BYTES = 15;

/** Lower bound of the denominator of relative differences. */
const SMALLEST_REFERENCE = 1e-9;

/** The numbers of a text. */
export type Numbers = readonly number[] | Float64Array;

const NOT_ASCII = /[\x80-\xff]/;

/** A power of two so small that no sum of scaled numbers overflows, and a division by it is exact. */
const SCALE = 2 ** -64;

/**
 * The numbers in a text, left to right: what the pattern `[-+]?\d*\.?\d+` matches, digits of every script included.
 * There are no exponents and no thousands separators: `1e3` is 1 and 3. Numbers that are too large become Infinity.
 */
export function extractNumbers(text: Utf8Text): number[] {
  const { bytes, view, length } = text;
  const numbers: number[] = [];
  const classes = text.ascii ? undefined : classTable();
  let end = 0;
  for (let i = 0; i < length; ) {
    const word = view.getInt32(i, true);
    // Digits and characters beyond ASCII; see four-bytes.ts.
    const low = word & 0x7f7f7f7f;
    const hits = (word | ((low + 0x50505050) & ~(low + 0x46464646))) & 0x80808080;
    if (hits === 0) {
      i += 4;
      continue;
    }
    i += firstMarked(hits);
    if (classes !== undefined) i = skipLetters(bytes, i, classes);
    if (digitWidthAt(bytes, i) === 0) {
      i += toWidth(bytes[i] as number);
      continue;
    }
    let start = i;
    let point = start > end && bytes[start - 1] === DOT;
    if (point) start -= 1;
    const sign = start > end ? (bytes[start - 1] as number) : 0;
    if (sign === MINUS || sign === PLUS) start -= 1;
    const firstDigit = i;
    const pointBefore = point;
    // Accumulate the value while the digits are ASCII.
    let value = 0;
    let divisor = 1;
    for (;;) {
      const digit = (bytes[i] as number) - ZERO;
      if (digit >= 0 && digit <= 9) {
        value = value * 10 + digit;
        if (point) divisor *= 10;
      } else if (!point && digit === DOT - ZERO && isAsciiDigit(bytes[i + 1] as number)) point = true;
      else break;
      i += 1;
    }
    const next = bytes[i] as number;
    if (i - start > EXACT_BYTES || next >= 0x80 || (next === DOT && (bytes[i + 1] as number) >= 0x80)) {
      i = endOfNumber(bytes, firstDigit, pointBefore);
      numbers.push(parseLongNumber(text, start, i));
    } else numbers.push((sign === MINUS ? -value : value) / divisor);
    end = i;
  }
  return numbers;
}

/** Where the run of two-byte letters and spaces at `index` ends. */
function skipLetters(bytes: Uint8Array, index: number, classes: Uint8Array): number {
  let end = index;
  for (;;) {
    const first = bytes[end] as number;
    if (first === SPACE_BYTE) {
      end += 1;
      continue;
    }
    if (first < 0xc0 || first >= 0xe0) return end;
    const codePoint = ((first & 0x1f) << 6) | ((bytes[end + 1] as number) & 0x3f);
    if (((classes[codePoint] as number) & DIGIT) !== 0) return end;
    end += 2;
  }
}

function isAsciiDigit(byte: number): boolean {
  return byte >= ZERO && byte <= ZERO + 9;
}

/** The end of the number whose first digit is at `index`, digits of every script included. */
function endOfNumber(bytes: Uint8Array, index: number, pointBefore: boolean): number {
  const end = skipDigits(bytes, index);
  if (pointBefore || bytes[end] !== DOT) return end;
  const fraction = skipDigits(bytes, end + 1);
  return fraction > end + 1 ? fraction : end;
}

/** The value of a number that is long or has digits beyond ASCII. */
export function parseLongNumber({ bytes }: Utf8Text, start: number, end: number): number {
  const literal = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');
  return Number(NOT_ASCII.test(literal) ? toAsciiDigits(bytes, start, end) : literal);
}

function toAsciiDigits(bytes: Uint8Array, start: number, end: number): string {
  let literal = '';
  for (let i = start; i < end; i += toWidth(bytes[i] as number)) {
    const codePoint = decodeAt(bytes, i);
    const mark = codePoint === DOT || codePoint === MINUS || codePoint === PLUS;
    literal += mark ? String.fromCharCode(codePoint) : digitValue(codePoint);
  }
  return literal;
}

/**
 * Numeric instability of an answer, 0..1. With a second answer: the mean relative difference of the numbers at the
 * same places, `|a - b| / max(1e-9, |a|)`, 0 when there are none to compare. Alone: the spread of its own numbers,
 * `(max - min) / max(1e-9, |mean|)`, 0 when there are fewer than two.
 */
export function numericVariance(primary: Numbers, secondary: Numbers | undefined): number {
  if (secondary === undefined) return clamp01(spread(primary));
  const pairs = Math.min(primary.length, secondary.length);
  if (pairs === 0) return 0;
  const differences = new Float64Array(pairs);
  for (let i = 0; i < pairs; i += 1) {
    const a = primary[i] as number;
    differences[i] = Math.abs(a - (secondary[i] as number)) / Math.max(SMALLEST_REFERENCE, Math.abs(a));
  }
  return clamp01(meanOfOneSign(differences));
}

function spread(numbers: Numbers): number {
  if (numbers.length < 2) return 0;
  let smallest = Number.POSITIVE_INFINITY;
  let largest = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < numbers.length; i += 1) {
    const value = numbers[i] as number;
    if (value < smallest) smallest = value;
    if (value > largest) largest = value;
  }
  const range = largest - smallest;
  // With mixed signs the range is at least |mean|, so the spread is 1 or more unless the floor applies.
  if (smallest < 0 && largest > 0) return range / SMALLEST_REFERENCE;
  return range / Math.max(SMALLEST_REFERENCE, Math.abs(meanOfOneSign(numbers)));
}

/** The mean with Neumaier summation. All signs must be equal. */
function meanOfOneSign(numbers: Numbers): number {
  let sum = 0;
  let lost = 0;
  for (let i = 0; i < numbers.length; i += 1) {
    const value = (numbers[i] as number) * SCALE;
    const next = sum + value;
    lost += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum;
    sum = next;
  }
  return (sum + lost) / numbers.length / SCALE;
}
