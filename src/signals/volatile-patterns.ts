/**
 * The three patterns that {@link normalize} replaces, as matchers of one pass over UTF-8. In the notation of regular
 * expressions, with `\b`, `\d` and `\s` in their Unicode sense:
 *
 * - UUID: `\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-5][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}\b`
 * - timestamp: `\b\d{4}-\d{2}-\d{2}(?:[T\s]\d{2}:\d{2}:\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?\b`
 * - number: `\b\d+(?:\.\d+)?\b`
 *
 * They are defined as three replacements one after the other, UUIDs first. One pass gives the same, because only the
 * digits after a decimal point can belong to a match of a later and of an earlier pattern: the matchers give these up.
 * Matchers take the index of a possible start and give the end of the match, or -1. Each reads a bounded number of
 * characters beyond what it matches, or digits that no other start can read again, so that a text takes linear time.
 */
import {
  decodeAt,
  digitWidthAt,
  isWordAt,
  isWordBefore,
  SPACE,
  skipDigits,
  toClass,
  toWidth,
} from './unicode.ts';

const DASH = 0x2d;
const DOT = 0x2e;
const COLON = 0x3a;
const PLUS = 0x2b;
const UPPER_T = 0x54;
const UPPER_Z = 0x5a;

export const UUID_BYTES = 36;
/** Where the second and third group of a UUID begin. */
const SECOND_GROUP = 9;
const THIRD_GROUP = 14;

/** Roles of a character in a UUID, as bits. The kernel has copies of these tables. */
const HEX = 1;
const VERSION = 2;
const VARIANT = 4;
const HYPHEN = 8;
const HEX_LETTER = 16;

export const UUID_CHARACTERS: Uint8Array = new Uint8Array(256);
for (const [characters, bit] of [
  ['0123456789abcdefABCDEF', HEX],
  ['12345', VERSION],
  ['89abAB', VARIANT],
  ['-', HYPHEN],
  ['abcdefABCDEF', HEX_LETTER],
] as const) {
  for (const character of characters) {
    const code = character.charCodeAt(0);
    UUID_CHARACTERS[code] = (UUID_CHARACTERS[code] as number) | bit;
  }
}

/** The role required at each position of a UUID. */
export const UUID_PLACES: Uint8Array = Uint8Array.from('hhhhhhhh-hhhh-vhhh-rhhh-hhhhhhhhhhhh', (place) => {
  if (place === '-') return HYPHEN;
  return place === 'v' ? VERSION : place === 'r' ? VARIANT : HEX;
});

/** A replacement tag as words to write; only `length` bytes of them count. */
interface Tag {
  readonly first: number;
  readonly second: number;
  readonly third: number;
  readonly length: number;
}

/** Tags by the two low bits of the result of {@link matchVolatile}, UUIDs first. */
export const VOLATILE_TAGS: readonly Tag[] = ['<uuid>', '<timestamp>', '<number>'].map(toTag);
const UUID = 0;
const TIMESTAMP = 1;
const NUMBER = 2;

function toTag(text: string): Tag {
  const bytes = new Uint8Array(12);
  const { written: length } = new TextEncoder().encodeInto(text, bytes);
  const view = new DataView(bytes.buffer);
  const words = [view.getInt32(0, true), view.getInt32(4, true), view.getInt32(8, true)] as const;
  return { first: words[0], second: words[1], third: words[2], length };
}

/**
 * The match of the first of the three patterns that matches at `index`, which must be a digit at the beginning of a
 * word: four times its end, plus the number of its tag; -1 when there is none.
 */
export function matchVolatile(bytes: Uint8Array, index: number): number {
  const digits = skipDigits(bytes, index);
  const next = bytes[digits];
  // Otherwise neither a UUID nor a timestamp can continue.
  if (next === DASH || isWordAt(bytes, digits)) {
    const uuid = matchUuid(bytes, index);
    if (uuid >= 0) return uuid * 4 + UUID;
    const timestamp = matchTimestamp(bytes, index);
    if (timestamp >= 0) return timestamp * 4 + TIMESTAMP;
  } else if (next !== DOT) return digits * 4 + NUMBER;
  const number = matchNumber(bytes, index);
  return number < 0 ? -1 : number * 4 + NUMBER;
}

/** The end of a UUID that begins at `index`. */
export function matchUuid(bytes: Uint8Array, index: number): number {
  // The first dash decides nearly every case.
  if (bytes[index + 8] !== DASH) return -1;
  for (let place = 0; place < UUID_BYTES; place += 1) {
    const is = UUID_CHARACTERS[bytes[index + place] as number] as number;
    if ((is & (UUID_PLACES[place] as number)) === 0) return -1;
  }
  const end = index + UUID_BYTES;
  return isWordBefore(bytes, index) || isWordAt(bytes, end) ? -1 : end;
}

/**
 * The start of the UUID that begins with a letter and whose first digit is at `index`; -1 when there is none. Its third
 * group begins with a digit, so that digit is in one of the first three groups, and every UUID has one.
 */
export function findUuidAround(bytes: Uint8Array, index: number): number {
  let group = index;
  while (group > 0 && ((UUID_CHARACTERS[bytes[group - 1] as number] as number) & HEX_LETTER) !== 0)
    group -= 1;
  if (group === index && (group === 0 || bytes[group - 1] !== DASH)) return -1;
  if (group < index && matchUuid(bytes, group) >= 0) return group;
  const second = group - SECOND_GROUP;
  if (second >= 0 && matchUuid(bytes, second) >= 0) return second;
  const third = group - THIRD_GROUP;
  return third >= 0 && matchUuid(bytes, third) >= 0 ? third : -1;
}

/** The end of a timestamp at `index`, which must be at the beginning of a word. */
function matchTimestamp(bytes: Uint8Array, index: number): number {
  const date = matchDate(bytes, index);
  if (date < 0) return -1;
  const time = matchTime(bytes, date);
  if (time < 0) return endOfTimestamp(bytes, date);
  const fraction = matchFraction(bytes, time);
  const withFraction = fraction < 0 ? -1 : endOfTimestamp(bytes, fraction);
  if (withFraction >= 0) return withFraction;
  const withTime = endOfTimestamp(bytes, time);
  return withTime >= 0 ? withTime : endOfTimestamp(bytes, date);
}

/** The end of a number at `index`, which must be at the beginning of a word. */
function matchNumber(bytes: Uint8Array, index: number): number {
  const integer = skipDigits(bytes, index);
  if (integer === index || isWordAt(bytes, integer)) return -1;
  const fraction = matchFraction(bytes, integer);
  if (fraction < 0 || isWordAt(bytes, fraction) || matchTimestamp(bytes, integer + 1) >= 0) return integer;
  return fraction;
}

/** A decimal point and digits that are not part of a UUID. */
function matchFraction(bytes: Uint8Array, index: number): number {
  if (bytes[index] !== DOT || matchUuid(bytes, index + 1) >= 0) return -1;
  const end = skipDigits(bytes, index + 1);
  return end === index + 1 ? -1 : end;
}

/** `\d{4}-\d{2}-\d{2}` */
function matchDate(bytes: Uint8Array, index: number): number {
  const year = matchDigits(bytes, index, 4);
  if (year < 0 || bytes[year] !== DASH) return -1;
  const month = matchDigits(bytes, year + 1, 2);
  if (month < 0 || bytes[month] !== DASH) return -1;
  return matchDigits(bytes, month + 1, 2);
}

/** `[T\s]\d{2}:\d{2}:\d{2}` */
function matchTime(bytes: Uint8Array, index: number): number {
  const separator = bytes[index] as number;
  if (separator !== UPPER_T && (toClass(decodeAt(bytes, index)) & SPACE) === 0) return -1;
  const hour = matchDigits(bytes, index + toWidth(separator), 2);
  if (hour < 0 || bytes[hour] !== COLON) return -1;
  const minute = matchDigits(bytes, hour + 1, 2);
  if (minute < 0 || bytes[minute] !== COLON) return -1;
  return matchDigits(bytes, minute + 1, 2);
}

/** `(?:Z|[+-]\d{2}:?\d{2})?\b` after a digit: the zone if the word ends behind it, else none if it ends here. */
function endOfTimestamp(bytes: Uint8Array, index: number): number {
  const zone = matchZone(bytes, index);
  if (zone >= 0 && !isWordAt(bytes, zone)) return zone;
  return isWordAt(bytes, index) ? -1 : index;
}

function matchZone(bytes: Uint8Array, index: number): number {
  const sign = bytes[index];
  if (sign === UPPER_Z) return index + 1;
  if (sign !== PLUS && sign !== DASH) return -1;
  const hours = matchDigits(bytes, index + 1, 2);
  if (hours < 0) return -1;
  return matchDigits(bytes, bytes[hours] === COLON ? hours + 1 : hours, 2);
}

function matchDigits(bytes: Uint8Array, index: number, count: number): number {
  let end = index;
  for (let i = 0; i < count; i += 1) {
    const byte = bytes[end] as number;
    if (byte >= 0x30 && byte <= 0x39) end += 1;
    else {
      const width = byte < 0x80 ? 0 : digitWidthAt(bytes, end);
      if (width === 0) return -1;
      end += width;
    }
  }
  return end;
}
