import { firstMarked } from './four-bytes.ts';
import {
  ASCII_CLASS,
  CASE_IGNORABLE,
  CASED,
  classTable,
  DIGIT,
  decodeAt,
  encodeAt,
  isWordBefore,
  previousIndex,
  SPACE,
  simpleLowerCase,
  toClass,
  toWidth,
  UPPER,
} from './unicode.ts';
import { PADDING, type Utf8Text } from './utf8-text.ts';
import { findUuidAround, matchUuid, matchVolatile, UUID_BYTES, VOLATILE_TAGS } from './volatile-patterns.ts';

const SPACE_BYTE = 0x20;

/** Characters that are not copied as they are. */
const NOT_PLAIN = SPACE | UPPER | DIGIT;

/** Spare room in the target: one replacement, and writes of four bytes past the end. */
const SLACK = 32 + PADDING;

/**
 * Writes a text in its normal form: lower case, runs of white space as one space, none at the ends; with
 * `replaceVolatile` also UUIDs, timestamps and numbers as `<uuid>`, `<timestamp>` and `<number>`. White space, case and
 * word characters are those of Unicode 14. Takes time linear in the text, whatever it holds.
 *
 * One loop over local variables: methods and fields make it 50 % slower.
 */
export function normalize(source: Utf8Text, target: Utf8Text, replaceVolatile: boolean): void {
  const { bytes, view: from, length } = source;
  const digitsCount = replaceVolatile ? -1 : 0;
  const classes = source.ascii ? undefined : classTable();
  let read = 0;
  let written = 0;
  let spaceBefore = 0x80;
  do {
    // Repeated whenever the target has grown: a replacement can be longer than the original.
    target.reserve(written + length - read + SLACK);
    const { bytes: out, view: to } = target;
    const room = out.length - length - SLACK;
    while (written - read <= room) {
      // Four plain bytes at a time; see four-bytes.ts for the tests.
      const word = from.getInt32(read, true);
      const low = word & 0x7f7f7f7f;
      const spaces = ~((low ^ 0x20202020) + 0x7f7f7f7f) & 0x80808080;
      const controls = ~(low + 0x60606060);
      const digits = (low + 0x50505050) & ~(low + 0x46464646);
      const capitals = (low + 0x3f3f3f3f) & ~(low + 0x25252525) & 0x80808080;
      const stops =
        ((word | controls | (digits & digitsCount)) & 0x80808080) | (spaces & ((spaces << 8) | spaceBefore));
      // The mark of a capital, shifted to the case bit. Bytes from the stop on are written again.
      to.setInt32(written, word | (capitals >>> 2), true);
      if (stops === 0) {
        spaceBefore = spaces >>> 24;
        read += 4;
        written += 4;
        continue;
      }
      const plain = firstMarked(stops);
      read += plain;
      written += plain;
      if (read >= length) break;

      let byte = bytes[read] as number;
      if (byte >= 0x80 && classes !== undefined) {
        // Words of a script of two or three bytes a letter, with one space between them. None of their bytes changes.
        const begin = read;
        for (;;) {
          const second = bytes[read + 1] as number;
          if (byte < 0x80) {
            if (byte !== SPACE_BYTE || second < 0x80) break;
            out[written++] = byte;
            read += 1;
            byte = second;
            continue;
          }
          if (byte < 0xe0) {
            if (((classes[((byte & 0x1f) << 6) | (second & 0x3f)] as number) & NOT_PLAIN) !== 0) break;
            out[written] = byte;
            out[written + 1] = second;
            read += 2;
            written += 2;
          } else {
            if (byte >= 0xf0) break;
            const third = bytes[read + 2] as number;
            const codePoint = ((byte & 0x0f) << 12) | ((second & 0x3f) << 6) | (third & 0x3f);
            if (((classes[codePoint] as number) & NOT_PLAIN) !== 0) break;
            out[written] = byte;
            out[written + 1] = second;
            out[written + 2] = third;
            read += 3;
            written += 3;
          }
          byte = bytes[read] as number;
        }
        if (read > begin) {
          spaceBefore = 0;
          continue;
        }
      }
      const width = byte < 0x80 ? 1 : toWidth(byte);
      const kind = byte < 0x80 ? (ASCII_CLASS[byte] as number) : toClass(decodeAt(bytes, read));
      if ((kind & SPACE) !== 0) {
        if (written > 0 && out[written - 1] !== SPACE_BYTE) out[written++] = SPACE_BYTE;
        read += width;
        while (ASCII_CLASS[bytes[read] as number] === SPACE) read += 1;
        spaceBefore = 0x80;
        continue;
      }
      spaceBefore = 0;
      if ((kind & UPPER) !== 0) {
        written = lowerAt(source, read, out, written, replaceVolatile);
        read += width;
        continue;
      }
      let match = -1;
      if ((kind & DIGIT) !== 0 && replaceVolatile) {
        const uuid = findUuidAround(bytes, read);
        if (uuid >= 0) {
          // Its letters and dashes have been copied by now.
          written -= read - uuid;
          match = (uuid + UUID_BYTES) * 4;
        } else if (!isWordBefore(bytes, read)) match = matchVolatile(bytes, read);
      }
      if (match >= 0) {
        const tag = VOLATILE_TAGS[match & 3] as (typeof VOLATILE_TAGS)[number];
        to.setInt32(written, tag.first, true);
        to.setInt32(written + 4, tag.second, true);
        to.setInt32(written + 8, tag.third, true);
        written += tag.length;
        read = match >>> 2;
        continue;
      }
      for (let i = 0; i < width; i += 1) out[written++] = bytes[read++] as number;
      if ((kind & DIGIT) === 0) continue;
      // If a digit starts no match, the digits after it do not either.
      while (((ASCII_CLASS[bytes[read] as number] as number) & DIGIT) !== 0)
        out[written++] = bytes[read++] as number;
    }
  } while (read < length);
  const last = written - 1;
  target.end(last >= 0 && target.bytes[last] === SPACE_BYTE ? last : written);
}

const CAPITAL_I_WITH_DOT = 0x130;
const COMBINING_DOT = 0x307;
const CAPITAL_SIGMA = 0x3a3;
const SIGMA = 0x3c3;
const FINAL_SIGMA = 0x3c2;

/**
 * Writes the lower-case form of the capital beyond ASCII at `index` of `source`, as Unicode's full mapping has it.
 *
 * @param out the target, already holding the text before it.
 * @param replaceUuids whether UUIDs will be replaced and so do not count as letters beside a sigma.
 * @returns the new end of `out`.
 */
function lowerAt(
  source: Utf8Text,
  index: number,
  out: Uint8Array,
  end: number,
  replaceUuids: boolean,
): number {
  const codePoint = decodeAt(source.bytes, index);
  if (codePoint === CAPITAL_I_WITH_DOT) return encodeAt(out, encodeAt(out, end, 0x69), COMBINING_DOT);
  if (codePoint !== CAPITAL_SIGMA) return encodeAt(out, end, simpleLowerCase(codePoint));
  const final = followsLetter(out, end) && !precedesLetter(source, index + 2, replaceUuids);
  return encodeAt(out, end, final ? FINAL_SIGMA : SIGMA);
}

/** Whether the character before `end` is a cased letter, case-ignorable ones aside. */
function followsLetter(bytes: Uint8Array, end: number): boolean {
  for (let i = end; i > 0; ) {
    i = previousIndex(bytes, i);
    const kind = toClass(decodeAt(bytes, i));
    if ((kind & CASE_IGNORABLE) === 0) return (kind & CASED) !== 0;
  }
  return false;
}

/** Whether the character at `index` is a cased letter, case-ignorable ones aside. */
function precedesLetter({ bytes, length }: Utf8Text, index: number, replaceUuids: boolean): boolean {
  for (let i = index; i < length; i += toWidth(bytes[i] as number)) {
    const kind = toClass(decodeAt(bytes, i));
    if ((kind & CASE_IGNORABLE) !== 0) continue;
    return (kind & CASED) !== 0 && !(replaceUuids && matchUuid(bytes, i) >= 0);
  }
  return false;
}
