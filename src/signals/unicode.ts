import {
  CASE_IGNORABLE_RANGES,
  CASED_RANGES,
  DIGIT_RANGES,
  LOWERCASE_RUNS,
  WORD_RANGES,
} from './unicode-data.ts';

/** A letter, digit or underscore: what `\w` matches, and what `\b` looks at. */
export const WORD = 1;
/** A decimal digit of any script: what `\d` matches. Digits are word characters too. */
export const DIGIT = 2;
/** White space: what `\s` matches. */
export const SPACE = 4;
/** A capital, with a lower-case form that differs. */
export const UPPER = 8;
/** A cased letter, for the context of a sigma. */
export const CASED = 16;
/** Skipped when finding the context of a sigma. */
export const CASE_IGNORABLE = 32;

/** From here on, only the tags and variation selectors at the start of plane 14 have a class. */
const TABLE_END = 0x40000;
const PLANE_14 = 0xe0000;
const TAGS = 0x200;

/** Non-ASCII white space. U+180E, U+200B and U+FEFF do not count. */
const SPACES = [
  0x85, 0xa0, 0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200a,
  0x2028, 0x2029, 0x202f, 0x205f, 0x3000,
];

/** Classes of ASCII characters by byte; bytes of multi-byte characters have none. */
export const ASCII_CLASS: Uint8Array = asciiClasses();

function asciiClasses(): Uint8Array {
  const table = new Uint8Array(256);
  for (let code = 0; code < 128; code += 1) {
    const character = String.fromCharCode(code);
    // U+001C..U+001F are separators, which `\s` of JavaScript leaves out.
    if ((code >= 0x09 && code <= 0x0d) || (code >= 0x1c && code <= 0x20)) table[code] = SPACE;
    else if (/\d/.test(character)) table[code] = WORD | DIGIT;
    else if (/[a-z]/i.test(character)) table[code] = WORD | CASED;
    else if (character === '_') table[code] = WORD;
    else if (".:'^`".includes(character)) table[code] = CASE_IGNORABLE;
  }
  return table;
}

interface Tables {
  readonly classes: Uint8Array;
  readonly lower: ReadonlyMap<number, number>;
  /** Ranges of digits as pairs of first and last code point. */
  readonly digits: readonly (readonly [number, number])[];
}

let tables: Tables | undefined;

/** Expands the data on the first non-ASCII text; takes a few milliseconds and 256 KiB. */
function load(): Tables {
  const classes = new Uint8Array(TABLE_END + TAGS);
  const digits = [...ranges(DIGIT_RANGES)];
  for (const [first, last] of ranges(WORD_RANGES)) classes.fill(WORD, first, last + 1);
  mark(classes, digits, DIGIT);
  mark(classes, ranges(CASED_RANGES), CASED);
  mark(classes, ranges(CASE_IGNORABLE_RANGES), CASE_IGNORABLE);
  for (const code of SPACES) classes[code] = SPACE;
  const lower = new Map(lowercaseRuns(LOWERCASE_RUNS));
  for (const code of lower.keys()) classes[code] = (classes[code] as number) | UPPER;
  // The one capital whose lower-case form is two characters.
  classes[0x130] = WORD | CASED | UPPER;
  return { classes, lower, digits };
}

function mark(classes: Uint8Array, which: Iterable<readonly [number, number]>, kind: number): void {
  for (const [first, last] of which) {
    for (let i = tableIndex(first); i <= tableIndex(last); i += 1) classes[i] = (classes[i] as number) | kind;
  }
}

/** Index of a code point's classes; outside the table when it has none. */
function tableIndex(codePoint: number): number {
  if (codePoint < TABLE_END) return codePoint;
  return codePoint < PLANE_14 ? -1 : codePoint - PLANE_14 + TABLE_END;
}

function* ranges(data: string): Generator<readonly [number, number]> {
  let position = 0x80;
  for (const pair of data.split(' ')) {
    const [gap, length = 0] = pair.split('.').map((digits) => Number.parseInt(digits, 36));
    const first = position + (gap ?? 0);
    yield [first, first + length];
    position = first + length + 1;
  }
}

function* lowercaseRuns(data: string): Generator<readonly [number, number]> {
  let position = 0x80;
  for (const run of data.split(' ')) {
    const [gap = 0, count = 0, step = 1, delta = 0] = run
      .split('.')
      .map((digits) => Number.parseInt(digits, 36));
    const first = position + gap;
    for (let i = 0; i <= count; i += 1) yield [first + i * step, first + i * step + delta];
    position = first + count * step + 1;
  }
}

/** The classes of a code point: bits from {@link WORD} to {@link CASE_IGNORABLE}. */
export function toClass(codePoint: number): number {
  if (codePoint < 0x80) return ASCII_CLASS[codePoint] as number;
  tables ??= load();
  return tables.classes[tableIndex(codePoint)] ?? 0;
}

/** The classes of all code points below U+40000, for loops that look up many. */
export function classTable(): Uint8Array {
  tables ??= load();
  return tables.classes;
}

/** The lower-case form of a capital beyond ASCII, where it is one character and does not depend on its neighbors. */
export function simpleLowerCase(codePoint: number): number {
  tables ??= load();
  return tables.lower.get(codePoint) ?? codePoint;
}

/** The value of a decimal digit of any script. */
export function digitValue(codePoint: number): number {
  if (codePoint < 0x80) return codePoint - 0x30;
  tables ??= load();
  for (const [first, last] of tables.digits) {
    if (codePoint <= last) return (codePoint - first) % 10;
  }
  return Number.NaN;
}

/** Bytes of the character that begins with this byte, in well-formed UTF-8. */
export function toWidth(byte: number): number {
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

/** The code point at `index` of well-formed UTF-8. */
export function decodeAt(bytes: Uint8Array, index: number): number {
  const first = bytes[index] as number;
  if (first < 0x80) return first;
  const second = (bytes[index + 1] as number) & 0x3f;
  if (first < 0xe0) return ((first & 0x1f) << 6) | second;
  const third = (bytes[index + 2] as number) & 0x3f;
  if (first < 0xf0) return ((first & 0x0f) << 12) | (second << 6) | third;
  return ((first & 0x07) << 18) | (second << 12) | (third << 6) | ((bytes[index + 3] as number) & 0x3f);
}

/** Writes a code point at `index`. @returns the index behind it. */
export function encodeAt(bytes: Uint8Array, index: number, codePoint: number): number {
  let end = index;
  if (codePoint < 0x80) bytes[end++] = codePoint;
  else {
    if (codePoint < 0x800) bytes[end++] = 0xc0 | (codePoint >> 6);
    else {
      if (codePoint < 0x10000) bytes[end++] = 0xe0 | (codePoint >> 12);
      else {
        bytes[end++] = 0xf0 | (codePoint >> 18);
        bytes[end++] = 0x80 | ((codePoint >> 12) & 0x3f);
      }
      bytes[end++] = 0x80 | ((codePoint >> 6) & 0x3f);
    }
    bytes[end++] = 0x80 | (codePoint & 0x3f);
  }
  return end;
}

/** Where the character before `index` begins; `index` must be above 0. */
export function previousIndex(bytes: Uint8Array, index: number): number {
  let start = index - 1;
  while (((bytes[start] as number) & 0xc0) === 0x80) start -= 1;
  return start;
}

/** Whether a word character stands at `index`. */
export function isWordAt(bytes: Uint8Array, index: number): boolean {
  const byte = bytes[index] as number;
  const kind = byte < 0x80 ? (ASCII_CLASS[byte] as number) : toClass(decodeAt(bytes, index));
  return (kind & WORD) !== 0;
}

/** Whether a word character stands before `index`. */
export function isWordBefore(bytes: Uint8Array, index: number): boolean {
  if (index === 0) return false;
  const before = bytes[index - 1] as number;
  if (before < 0x80) return ((ASCII_CLASS[before] as number) & WORD) !== 0;
  return isWordAt(bytes, previousIndex(bytes, index));
}

/** Bytes of the decimal digit at `index`, 0 where there is none. */
export function digitWidthAt(bytes: Uint8Array, index: number): number {
  const first = bytes[index] as number;
  if (first < 0x80) return first >= 0x30 && first <= 0x39 ? 1 : 0;
  return (toClass(decodeAt(bytes, index)) & DIGIT) !== 0 ? toWidth(first) : 0;
}

/** Where the run of decimal digits at `index` ends; `index` itself when there is none. */
export function skipDigits(bytes: Uint8Array, index: number): number {
  let end = index;
  for (;;) {
    const byte = bytes[end] as number;
    const width = byte < 0x80 ? (byte >= 0x30 && byte <= 0x39 ? 1 : 0) : digitWidthAt(bytes, end);
    if (width === 0) return end;
    end += width;
  }
}
