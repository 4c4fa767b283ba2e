/**
 * `extractNumbers` of `src/signals/numbers.ts` for texts of ASCII characters only: what it says holds here.
 */

/** The value of the number at these places, which has more than 15 bytes. */
declare function parse(start: i32, end: i32): f64;

const ZERO: i32 = 0x30;
const DOT: i32 = 0x2e;
const PLUS: i32 = 0x2b;
const MINUS: i32 = 0x2d;

/** Up to 15 digits are exact as an integer, and so is the power of ten that divides them. */
const EXACT_BYTES: i32 = 15;

/**
 * Writes the numbers of a text, left to right, at most one for two bytes.
 *
 * @returns how many there are.
 */
export function numbers(text: usize, length: i32, out: usize): i32 {
  let start = 0;
  let inRun: u64 = 0;
  /** Where the number before ends. */
  let last = 0;
  let count = 0;
  for (let base = 0; base <= length; base += 64) {
    const members = digitsOf(text + base);
    const before = (members << 1) | inRun;
    let starts = members & ~before;
    let ends = before & ~members;
    if (inRun === 0) {
      start = base + <i32>ctz(starts);
      starts &= starts - 1;
    }
    inRun = members >>> 63;
    while (ends !== 0) {
      const end = base + <i32>ctz(ends);
      ends &= ends - 1;
      // Otherwise it is the fraction of the number before.
      if (start >= last) {
        last = write(text, start, end, last, out + (count << 3));
        count += 1;
      }
      start = base + <i32>ctz(starts);
      starts &= starts - 1;
    }
  }
  return count;
}

/** Writes the number whose first digits are at these places. @returns its end. */
function write(text: usize, digits: i32, digitsEnd: i32, last: i32, out: usize): i32 {
  let start = digits;
  let end = digitsEnd;
  const isFraction = start > last && load<u8>(text + start - 1) === DOT;
  if (isFraction) start -= 1;
  else if (load<u8>(text + end) === DOT && isDigit(load<u8>(text + end + 1))) {
    end += 2;
    while (isDigit(load<u8>(text + end))) end += 1;
  }
  const sign = start > last ? <i32>load<u8>(text + start - 1) : 0;
  if (sign === MINUS || sign === PLUS) start -= 1;
  if (end - start > EXACT_BYTES) {
    store<f64>(out, parse(start, end));
    return end;
  }
  let value = <f64>integerOf(text + digits, digitsEnd - digits);
  let places = isFraction ? digitsEnd - digits : 0;
  if (end > digitsEnd) {
    places = end - digitsEnd - 1;
    const scale = powerOfTen(places);
    value = (value * scale + <f64>integerOf(text + digitsEnd + 1, places)) / scale;
  } else if (places > 0) value /= powerOfTen(places);
  store<f64>(out, sign === MINUS ? -value : value);
  return end;
}

function isDigit(byte: i32): bool {
  return <u32>(byte - ZERO) < 10;
}

function powerOfTen(exponent: i32): f64 {
  let power: f64 = 1;
  for (let i = 0; i < exponent; i += 1) power *= 10;
  return power;
}

/** The value of up to 15 digits. */
function integerOf(digits: usize, size: i32): i64 {
  if (size <= 8) return upToEight(digits, size);
  return upToEight(digits, size - 8) * 100_000_000 + upToEight(digits + size - 8, 8);
}

/** The value of one to eight digits: pairs of them are put together, then pairs of pairs, then these. */
function upToEight(digits: usize, size: i32): i64 {
  // biome-ignore-start lint/correctness/noPrecisionLoss: integers of 64 bits here
  const bytes = load<u64>(digits + size - 8) & 0x0f0f0f0f0f0f0f0f & ((<u64>-1) << (64 - 8 * size));
  const pairs = ((bytes * 2561) >>> 8) & 0x00ff00ff00ff00ff;
  const fours = ((pairs * 6553601) >>> 16) & 0x0000ffff0000ffff;
  return (fours * 42949672960001) >>> 32;
  // biome-ignore-end lint/correctness/noPrecisionLoss: integers of 64 bits here
}

/** A bit for each of 64 bytes, set where it is a digit. */
function digitsOf(address: usize): u64 {
  const first = <u64>sixteenDigits(v128.load(address));
  const second = <u64>sixteenDigits(v128.load(address, 16));
  const third = <u64>sixteenDigits(v128.load(address, 32));
  const fourth = <u64>sixteenDigits(v128.load(address, 48));
  return first | (second << 16) | (third << 32) | (fourth << 48);
}

function sixteenDigits(bytes: v128): i32 {
  return i8x16.bitmask(i8x16.lt_u(i8x16.sub(bytes, i8x16.splat(0x30)), i8x16.splat(10)));
}
