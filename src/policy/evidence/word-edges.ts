/** Where words, numbers, dates and addresses begin and end: a quote must not cut one. */
import { UNSPACED_LETTER } from './words.ts';

const WORD = /[\p{L}\p{N}\p{M}_]/u;
const DIGIT = /\p{N}/u;

/** True when `at` lies inside a word, number, date, address or contraction. */
export function cutsWord(text: string, at: number): boolean {
  if (at <= 0 || at >= text.length) return false;
  const [before, after] = [charBefore(text, at), charAfter(text, at)];
  if (WORD.test(before) && WORD.test(after)) {
    return !(UNSPACED_LETTER.test(before) || UNSPACED_LETTER.test(after)) || !isSegmentEdge(text, at);
  }
  // `3|,500`, `10|:30`, `don|'t`, `a|@b`: the joint belongs to both sides.
  if (WORD.test(before)) return joins(before, after, charAfter(text, at + after.length));
  return WORD.test(after) && joins(charBefore(text, at - before.length), before, after);
}

function joins(left: string, joint: string, right: string): boolean {
  if (left === '' || right === '' || !WORD.test(left) || !WORD.test(right)) return false;
  if (joint === ',' || joint === ':') return DIGIT.test(left) && DIGIT.test(right);
  if (joint === '.') return DIGIT.test(left) === DIGIT.test(right);
  return "'’@-/".includes(joint);
}

/** How much of a text on each side of a place decides where its words end. */
const SEGMENT_REACH = 40;
let segmenter: Intl.Segmenter | undefined;

/** Whether a word ends at a place in a script that is written without spaces, by the dictionaries of ICU. */
function isSegmentEdge(text: string, at: number): boolean {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'word' });
  const from = Math.max(0, at - SEGMENT_REACH);
  return segmenter.segment(text.slice(from, at + SEGMENT_REACH)).containing(at - from)?.index === at - from;
}

/** True when a minus or plus sign right before the number at `at` is left out. */
export function cutsSign(text: string, at: number): boolean {
  const sign = text.charAt(at - 1);
  if (at === 0 || !'-−'.includes(sign) || !DIGIT.test(text.charAt(at))) return false;
  return at === 1 || /[\s(=:]/.test(text.charAt(at - 2));
}

function charBefore(text: string, at: number): string {
  if (at <= 0) return '';
  const low = text.charCodeAt(at - 1);
  return low >= 0xdc00 && low <= 0xdfff ? text.slice(Math.max(0, at - 2), at) : text.charAt(at - 1);
}

function charAfter(text: string, at: number): string {
  const code = text.codePointAt(at);
  return code === undefined ? '' : String.fromCodePoint(code);
}
