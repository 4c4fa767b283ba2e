/**
 * Replaces the secrets of a text. One pass over its characters finds what announces a secret; a rule then looks at a
 * bounded stretch. The time is linear in the length of the text, whatever it says.
 *
 * Redacting twice changes nothing: a replacement is taken as the end of the text before it and the beginning of the text
 * after it, and what is left between replacements has been searched as such.
 */
import type { Steps } from '../../base/index.ts';
import { type Find, Reading } from './find.ts';
import { findAt, finderTable, HASH_MASK } from './finders.ts';

/** Characters before a replacement that are searched again, because a rule may look as far ahead as that. */
const LOOK_AHEAD = 2_048;

/** Characters after which the caller may pause. */
const SLICE = 4_096;

/** Shortest text that can hold a secret. */
const SHORTEST = 6;

const MARK = /\[redacted(?:: [a-z ]{1,20})?\]/y;
const MARK_START = '[redacted';

export function hasMark(text: string): boolean {
  return /\[redacted(?:: [a-z ]{1,20})?\]/.test(text);
}

/** Whether a short text holds nothing to redact, found without the machinery for long ones. */
export function hasNoSecret(text: string): boolean {
  if (text.length < SHORTEST) return true;
  return (
    text.length <= SLICE &&
    !text.includes(MARK_START) &&
    findWithin(text, 0, text.length, new Reading()) === undefined
  );
}

/** The text with each secret replaced by `[redacted: <kind>]`. Yields now and then, for long texts. */
export function* redactSteps(text: string): Steps<string> {
  if (text.length < SHORTEST) return text;
  const out: string[] = [];
  let from = 0;
  let mark = text.indexOf(MARK_START);
  while (mark !== -1) {
    MARK.lastIndex = mark;
    const length = MARK.exec(text)?.[0].length ?? 0;
    if (length > 0) {
      yield* redactPiece(text.slice(from, mark), out);
      out.push(text.slice(mark, mark + length));
      from = mark + length;
    }
    mark = text.indexOf(MARK_START, mark + Math.max(length, 1));
  }
  yield* redactPiece(text.slice(from), out);
  return out.length === 1 ? (out[0] as string) : out.join('');
}

/** A part of a text that has not been searched from `at` on. */
interface Part {
  readonly text: string;
  readonly at: number;
  /** Whether it was searched before, as part of a longer one. */
  readonly isAgain: boolean;
}

/**
 * Redacts a piece between replacements. Each replacement ends the part before it, in which a rule may then find what it
 * did not find before, and so on. Texts made for that have many such finds: after a number of them the whole stretch that
 * was searched again is replaced, so that the time stays linear.
 */
function* redactPiece(piece: string, out: string[]): Steps<void> {
  let spare = 32 + piece.length / (8 * LOOK_AHEAD);
  const todo: (Part | string)[] = [{ text: piece, at: 0, isAgain: false }];
  for (let part = todo.pop(); part !== undefined; part = todo.pop()) {
    if (typeof part === 'string') {
      out.push(part);
      continue;
    }
    const { text, at, isAgain } = part;
    const reading = new Reading();
    let found =
      text.length - at <= SLICE
        ? findWithin(text, at, text.length, reading)
        : yield* firstFind(text, at, reading);
    if (found === undefined) {
      if (text !== '') out.push(text);
      continue;
    }
    if (isAgain && spare < 1) found = { start: at, end: text.length, kind: 'secret' };
    if (isAgain) spare -= 1;
    const finds = [found, ...(found.also ?? [])];
    for (let index = finds.length - 1; index >= 0; index -= 1) {
      const { end, kind } = finds[index] as Find;
      const next = finds[index + 1]?.start ?? text.length;
      if (end < next) todo.push({ text: text.slice(end, next), at: 0, isAgain });
      todo.push(`[redacted: ${kind}]`);
    }
    const { start } = found;
    if (start > 0)
      todo.push({ text: text.slice(0, start), at: Math.max(0, start - LOOK_AHEAD), isAgain: true });
    yield;
  }
}

function* firstFind(text: string, from: number, reading: Reading): Steps<Find | undefined> {
  for (let at = from; at < text.length; at += SLICE) {
    const found = findWithin(text, at, Math.min(text.length, at + SLICE), reading);
    if (found !== undefined) return found;
    if (text.length - at > SLICE) yield;
  }
  return undefined;
}

/** The first secret announced between `from` and `to`. */
function findWithin(text: string, from: number, to: number, reading: Reading): Find | undefined {
  const { slots, entries } = finderTable();
  let hash = 0;
  const end = Math.min(text.length, to + 2);
  for (let at = from; at < end; at += 1) {
    hash = ((hash << 5) | (text.charCodeAt(at) & 31)) & HASH_MASK;
    const slot = slots[hash] as number;
    if (slot === 0 || at < from + 2) continue;
    const found = findAt(entries[slot - 1] as (typeof entries)[number], text, at - 2, reading);
    if (found !== undefined) return found;
  }
  return undefined;
}
