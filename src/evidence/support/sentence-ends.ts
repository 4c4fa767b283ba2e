/** "am 3. Juli": an ordinal, not an end. */
const ORDINAL =
  /(?<!\d)\d{1,2}\. (?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez|janv|févr|mars|avr|juin|juil|sept|oct)/y;
const SENTENCE_END = /[.!?]+["'”’)\]*]{0,3}(?=\s|$)|[。！？]|\n+|(?:\\n)+|;(?=\s)/gu;

/** Where the sentences of a text end: after their mark and what closes with it, at line breaks, at semicolons. */
export function* sentenceEnds(text: string): Generator<number> {
  for (const match of text.matchAll(SENTENCE_END)) {
    if (match[0] === '.' && isOrdinal(text, match.index)) continue;
    yield match.index + match[0].length;
  }
  yield text.length;
}

function isOrdinal(text: string, point: number): boolean {
  for (const start of [point - 1, point - 2]) {
    ORDINAL.lastIndex = start;
    if (start >= 0 && ORDINAL.test(text)) return true;
  }
  return false;
}
