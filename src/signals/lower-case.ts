import {
  CASE_IGNORABLE,
  CASED,
  classOf,
  decodeAt,
  encodeAt,
  previousIndex,
  simpleLowerCase,
  widthOf,
} from './unicode.ts';
import type { Utf8Text } from './utf8-text.ts';
import { matchUuid } from './volatile-patterns.ts';

const CAPITAL_I_WITH_DOT = 0x130;
const COMBINING_DOT = 0x307;
const CAPITAL_SIGMA = 0x3a3;
const SIGMA = 0x3c3;
const FINAL_SIGMA = 0x3c2;

/**
 * Writes the lower-case form of the capital beyond ASCII at `index` of `source`, as Unicode's full mapping has it.
 *
 * @param out where to, behind what the text before it became.
 * @param replaceUuids whether a UUID will be replaced, and so is no letter beside a sigma.
 * @returns the new end of `out`.
 */
export function lowerAt(
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
    const kind = classOf(decodeAt(bytes, i));
    if ((kind & CASE_IGNORABLE) === 0) return (kind & CASED) !== 0;
  }
  return false;
}

/** Whether the character at `index` is a cased letter, case-ignorable ones aside. */
function precedesLetter({ bytes, length }: Utf8Text, index: number, replaceUuids: boolean): boolean {
  for (let i = index; i < length; i += widthOf(bytes[i] as number)) {
    const kind = classOf(decodeAt(bytes, i));
    if ((kind & CASE_IGNORABLE) !== 0) continue;
    return (kind & CASED) !== 0 && !(replaceUuids && matchUuid(bytes, i) >= 0);
  }
  return false;
}
