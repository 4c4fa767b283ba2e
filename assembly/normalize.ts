import { CLASSES, UUID_CHARACTERS, UUID_PLACES } from './memory';

/**
 * `src/signals/normalize.ts` and `volatile-patterns.ts` for texts of ASCII characters only, sixteen at a time. What
 * they say of the patterns and of the order in which they are tried holds here.
 */

const WORD: i32 = 1;
const DIGIT: i32 = 2;
const SPACE: i32 = 4;

const HEX_LETTER: i32 = 16;

const SPACE_BYTE: i8 = 0x20;
const PLUS: i32 = 0x2b;
const DASH: i32 = 0x2d;
const DOT: i32 = 0x2e;
const COLON: i32 = 0x3a;

const UUID_BYTES: i32 = 36;
const SECOND_GROUP: i32 = 9;
const THIRD_GROUP: i32 = 14;

/** Where the text begins and the normal form goes, for all functions. */
let text: usize = 0;
let out: usize = 0;

/**
 * Writes the normal form of a text, which can be five times as long.
 *
 * @returns its length.
 */
export function normalize(source: usize, length: i32, target: usize, replaceVolatile: bool): i32 {
  text = source;
  out = target;
  const digitsCount = i8x16.splat(replaceVolatile ? -1 : 0);
  let read = 0;
  let written = 0;
  let spaceBefore = 1;
  while (true) {
    const bytes = v128.load(text + read);
    const spaces = i8x16.bitmask(i8x16.eq(bytes, i8x16.splat(SPACE_BYTE)));
    const controls = i8x16.lt_u(bytes, i8x16.splat(SPACE_BYTE));
    const digits = v128.and(i8x16.lt_u(i8x16.sub(bytes, i8x16.splat(0x30)), i8x16.splat(10)), digitsCount);
    const capitals = i8x16.lt_u(i8x16.sub(bytes, i8x16.splat(0x41)), i8x16.splat(26));
    const stops = i8x16.bitmask(v128.or(controls, digits)) | (spaces & ((spaces << 1) | spaceBefore));
    // Bytes from the stop on are written again.
    v128.store(out + written, v128.or(bytes, v128.and(capitals, i8x16.splat(0x20))));
    if (stops === 0) {
      spaceBefore = spaces >>> 15;
      read += 16;
      written += 16;
      continue;
    }
    const plain = ctz(stops);
    read += plain;
    written += plain;
    if (read >= length) break;

    const kind = kindAt(read);
    if (kind === SPACE) {
      if (written > 0 && load<u8>(out + written - 1) !== SPACE_BYTE) {
        store<u8>(out + written, SPACE_BYTE);
        written += 1;
      }
      do read += 1;
      while (kindAt(read) === SPACE);
      spaceBefore = 1;
      continue;
    }
    spaceBefore = 0;
    if ((kind & DIGIT) === 0) {
      store<u8>(out + written, load<u8>(text + read));
      read += 1;
      written += 1;
      continue;
    }
    const uuid = findUuidAround(read);
    if (uuid >= 0) {
      written = putUuid(written - (read - uuid));
      read = uuid + UUID_BYTES;
      continue;
    }
    const digitsEnd = skipDigits(read);
    let end = -1;
    if (read === 0 || (kindAt(read - 1) & WORD) === 0) {
      const next = byteAt(digitsEnd);
      if (next === DASH || (kindAt(digitsEnd) & WORD) !== 0) {
        end = matchUuid(read);
        if (end >= 0) {
          written = putUuid(written);
          read = end;
          continue;
        }
        end = matchTimestamp(read);
        if (end >= 0) {
          written = putTimestamp(written);
          read = end;
          continue;
        }
      }
      end = matchNumber(digitsEnd);
    }
    if (end >= 0) {
      written = putNumber(written);
      read = end;
    } else {
      // Digits behind one that begins nothing begin nothing either.
      const size = digitsEnd - read;
      memory.copy(out + written, text + read, size);
      written += size;
      read = digitsEnd;
    }
  }
  return written > 0 && load<u8>(out + written - 1) === SPACE_BYTE ? written - 1 : written;
}

function byteAt(index: i32): i32 {
  return load<u8>(text + index);
}

function kindAt(index: i32): i32 {
  return load<u8>(CLASSES + load<u8>(text + index));
}

function skipDigits(index: i32): i32 {
  let end = index;
  while ((kindAt(end) & DIGIT) !== 0) end += 1;
  return end;
}

function findUuidAround(index: i32): i32 {
  let group = index;
  while (group > 0 && (load<u8>(UUID_CHARACTERS + byteAt(group - 1)) & HEX_LETTER) !== 0) group -= 1;
  if (group === index && (group === 0 || byteAt(group - 1) !== DASH)) return -1;
  if (group < index && matchUuid(group) >= 0) return group;
  const second = group - SECOND_GROUP;
  if (second >= 0 && matchUuid(second) >= 0) return second;
  const third = group - THIRD_GROUP;
  return third >= 0 && matchUuid(third) >= 0 ? third : -1;
}

function matchUuid(index: i32): i32 {
  if (byteAt(index + 8) !== DASH) return -1;
  for (let place = 0; place < UUID_BYTES; place += 1) {
    const is = load<u8>(UUID_CHARACTERS + byteAt(index + place));
    if ((is & load<u8>(UUID_PLACES + place)) === 0) return -1;
  }
  const end = index + UUID_BYTES;
  if (index > 0 && (kindAt(index - 1) & WORD) !== 0) return -1;
  return (kindAt(end) & WORD) !== 0 ? -1 : end;
}

function matchTimestamp(index: i32): i32 {
  const date = matchDate(index);
  if (date < 0) return -1;
  const time = matchTime(date);
  if (time < 0) return endOfTimestamp(date);
  const fraction = matchFraction(time);
  const withFraction = fraction < 0 ? -1 : endOfTimestamp(fraction);
  if (withFraction >= 0) return withFraction;
  const withTime = endOfTimestamp(time);
  return withTime >= 0 ? withTime : endOfTimestamp(date);
}

/** The number whose integer part ends at `integer`. */
function matchNumber(integer: i32): i32 {
  if ((kindAt(integer) & WORD) !== 0) return -1;
  const fraction = matchFraction(integer);
  if (fraction < 0 || (kindAt(fraction) & WORD) !== 0 || matchTimestamp(integer + 1) >= 0) return integer;
  return fraction;
}

function matchFraction(index: i32): i32 {
  if (byteAt(index) !== DOT || matchUuid(index + 1) >= 0) return -1;
  const end = skipDigits(index + 1);
  return end === index + 1 ? -1 : end;
}

function matchDate(index: i32): i32 {
  if (byteAt(index + 4) !== DASH || byteAt(index + 7) !== DASH) return -1;
  return areDigits(index, 4) && areDigits(index + 5, 2) && areDigits(index + 8, 2) ? index + 10 : -1;
}

function matchTime(index: i32): i32 {
  if (byteAt(index) !== 0x54 && (kindAt(index) & SPACE) === 0) return -1;
  if (byteAt(index + 3) !== COLON || byteAt(index + 6) !== COLON) return -1;
  return areDigits(index + 1, 2) && areDigits(index + 4, 2) && areDigits(index + 7, 2) ? index + 9 : -1;
}

function endOfTimestamp(index: i32): i32 {
  const zone = matchZone(index);
  if (zone >= 0 && (kindAt(zone) & WORD) === 0) return zone;
  return (kindAt(index) & WORD) !== 0 ? -1 : index;
}

function matchZone(index: i32): i32 {
  const sign = byteAt(index);
  if (sign === 0x5a) return index + 1;
  if ((sign !== PLUS && sign !== DASH) || !areDigits(index + 1, 2)) return -1;
  const minutes = byteAt(index + 3) === COLON ? index + 4 : index + 3;
  return areDigits(minutes, 2) ? minutes + 2 : -1;
}

function areDigits(index: i32, count: i32): bool {
  for (let i = 0; i < count; i += 1) if ((kindAt(index + i) & DIGIT) === 0) return false;
  return true;
}

/** Writes `<uuid>`, four bytes at a time as they stand in memory. @returns the new end. */
function putUuid(written: i32): i32 {
  store<u32>(out + written, 0x6975753c);
  store<u32>(out + written, 0x3e64, 4);
  return written + 6;
}

/** Writes `<timestamp>`. */
function putTimestamp(written: i32): i32 {
  store<u32>(out + written, 0x6d69743c);
  store<u32>(out + written, 0x61747365, 4);
  store<u32>(out + written, 0x3e706d, 8);
  return written + 11;
}

/** Writes `<number>`. */
function putNumber(written: i32): i32 {
  store<u32>(out + written, 0x6d756e3c);
  store<u32>(out + written, 0x3e726562, 4);
  return written + 8;
}
