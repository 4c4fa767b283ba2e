/** Lines, list items and sentences around a quote. */

/** A stretch of a leaf, in UTF-16 units. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** How far a sentence is looked for on each side; a longer one counts as ending there. */
const MAX_REACH = 4_000;

const LIST_MARK = /^\s*(?:[-*•‣–—]|\d{1,3}[.)]|[a-z][.)])\s+/;

/**
 * The stretch from the start of the sentence that holds `start` to the end of the one that holds `end`. A sentence ends
 * at `.`, `!` or `?` before white space, and at the end of a line, unless the next line goes on with a small letter.
 */
export function sentenceAround(text: string, span: Span): Span {
  const from = Math.max(0, span.start - MAX_REACH);
  let start = from;
  for (let at = span.start - 1; at >= from; at -= 1) {
    if (endsSentence(text, at)) {
      start = at + 1;
      break;
    }
  }
  const to = Math.min(text.length, span.end + MAX_REACH);
  let end = to;
  // A quote that ends with its full stop ends its sentence.
  for (let at = Math.max(span.end - 1, span.start); at < to; at += 1) {
    if (endsSentence(text, at)) {
      end = at + 1;
      break;
    }
  }
  return { start, end };
}

/** Ends of sentences that need no white space after them: of Chinese and Japanese, Hindi, Arabic and Urdu. */
const FULL_STOPS = '。！？｡।؟۔';

/** True when the unit at `at` is the last of a sentence. */
function endsSentence(text: string, at: number): boolean {
  const char = text.charAt(at);
  if (char === '\n') {
    const rest = text.slice(at + 1, at + 80);
    const isContinued =
      /^[ \t]*\p{Ll}/u.test(rest) &&
      !LIST_MARK.test(rest) &&
      !/[.!?:;]\s*$/.test(text.slice(Math.max(0, at - 8), at));
    return !isContinued;
  }
  if (FULL_STOPS.includes(char)) return true;
  if (char !== '.' && char !== '!' && char !== '?') return false;
  const next = text.charAt(at + 1);
  if (next !== '' && !/[\s"')\]]/.test(next)) return false;
  // `No. 5`, `e.g. this`, `Dr. Who`: an abbreviation does not end a sentence.
  return !(
    char === '.' &&
    /(?:^|[\s(])(?:no|nr|mr|mrs|ms|dr|st|vs|etc|e\.g|i\.e|cf|fig|approx|inc|ltd|co|[A-Z])$/i.test(
      text.slice(Math.max(0, at - 8), at),
    )
  );
}

/** The line before a list item that introduces it (`Never:`), or an empty text. */
export function leadIn(text: string, span: Span): string {
  let lineStart = text.lastIndexOf('\n', span.start - 1) + 1;
  if (!LIST_MARK.test(text.slice(lineStart, lineStart + 12))) return '';
  const floor = Math.max(0, span.start - MAX_REACH);
  while (lineStart > floor) {
    const previousStart = text.lastIndexOf('\n', lineStart - 2) + 1;
    const line = text.slice(previousStart, lineStart - 1);
    if (line.trim() !== '' && !LIST_MARK.test(line)) return line.trimEnd().endsWith(':') ? line : '';
    lineStart = previousStart;
  }
  return '';
}

/** True when the span is a whole leaf, line, list item or sentence, give or take marks and punctuation around it. */
export function isWholeUnit(text: string, span: Span): boolean {
  const before = text.slice(Math.max(0, span.start - 24), span.start);
  const after = text.slice(span.end, span.end + 8);
  const startsLine =
    span.start <= 24 || before.includes('\n')
      ? /(?:^|\n)\s*(?:(?:[-*•‣#>–—]{1,6}|\d{1,3}[.)]|[a-z][.)])\s+)?["']?$/.test(before)
      : false;
  const startsSentence =
    startsLine || /[.!?]["')\]]?\s+["'(]?$|[。！？｡।؟۔][」』”’）]?\s*[「『“‘（]?$/.test(before);
  const last = text.charAt(span.end - 1);
  const endsLine = /^[.!?;:,]?["')]?[ \t]*(?:\r?\n|$)/.test(after) && (after.length < 8 || /\n/.test(after));
  const endsSentenceHere =
    endsLine ||
    FULL_STOPS.includes(last) ||
    FULL_STOPS.includes(after.charAt(0) || ' ') ||
    /^[.!?]["')]?(?:\s|$)/.test(after) ||
    (/[.!?]/.test(last) && /^["')]?\s/.test(after));
  return startsSentence && endsSentenceHere;
}
