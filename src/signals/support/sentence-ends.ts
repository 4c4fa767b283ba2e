const SENTENCE_END = /[.!?]+["'”’)\]*]{0,3}(?=\s|$)|[。！？]|\n+|;(?=\s)/gu;

/** Where the sentences of a text end: after their mark and what closes with it, at line breaks, at semicolons. */
export function* sentenceEnds(text: string): Generator<number> {
  for (const match of text.matchAll(SENTENCE_END)) yield match.index + match[0].length;
  yield text.length;
}
