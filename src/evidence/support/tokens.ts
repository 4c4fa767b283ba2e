import { FUNCTION_WORDS, findStem } from '../language/index.ts';
import { sentenceEnds } from './sentence-ends.ts';

/** A word, or a character of a script that is written without spaces. Equal stems have equal ids. */
export interface Token {
  /** Of the word in lower case, without endings that inflect, cut to seven letters; of a number without commas. */
  readonly id: number;
  readonly start: number;
  readonly end: number;
  readonly isNumber: boolean;
  /** Begins with a capital letter, and has no digit. */
  readonly isName: boolean;
  /** No article, preposition, pronoun or auxiliary. */
  readonly isContent: boolean;
}

const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
const HIRAGANA = /\p{Script=Hiragana}/u;
/** A word goes on over a sign if a part follows: "co-operate", "2019-05-04", "isn't". */
const WORD =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{M}\p{N}]+(?:[.,'’:/-][\p{L}\p{M}\p{N}]+)*/gu;
/** "27-year-old", "1708-1765", "15km", "1,250.The" have parts; "2019-05-04" and "W24" have none. */
const NUMBER_ENDS = /-(?!\d+-\d)(?<!\d-\d+-)|[.,:](?=\p{L})|(?<=\d)(?=\p{L}+(?:-|$))/u;

const ALL_FUNCTION_WORDS = new Set(Object.values(FUNCTION_WORDS).flatMap((list) => [...list]));
/** At most this many tokens are read of a text. */
const MAX_TOKENS = 16_384;
const MAX_STEM = 7;

/** Reads texts into tokens. Every word is analyzed once, where it is first met. */
export class Tokenizer {
  readonly #ids = new Map<string, number>();
  /** Words as the texts of one answer share them; the places of their parts are those in the word. */
  readonly #words = new Map<string, readonly Token[]>();

  /** Calls back with each token of a text, whose place is that in its word, and with the place of the word. */
  read(text: string, take: (token: Token, at: number) => void, most = MAX_TOKENS): void {
    let count = 0;
    for (const { 0: word, index } of text.matchAll(WORD)) {
      const parts = this.#listParts(word);
      for (const token of parts) take(token, index);
      count += parts.length;
      if (count >= most) return;
    }
  }

  #listParts(word: string): readonly Token[] {
    let parts = this.#words.get(word);
    if (parts !== undefined) return parts;
    let end = 0;
    parts = word.split(/\p{N}/u.test(word) ? NUMBER_ENDS : /[.,:/-]/).map((raw) => {
      const [isNumber, isName] = [/\p{N}/u.test(raw), /^\p{Lu}\P{N}*$/u.test(raw)];
      const part = raw.toLowerCase();
      const at = word.indexOf(raw, end);
      end = at + raw.length;
      const isContent = UNSPACED.test(part)
        ? !HIRAGANA.test(part)
        : isNumber || (part.length > 1 && !ALL_FUNCTION_WORDS.has(part));
      const stem = isNumber
        ? part.normalize('NFKC').replace(/,(?=\d{3})/g, '')
        : findStem(part).slice(0, MAX_STEM);
      const id = this.#ids.get(stem) ?? this.#ids.size;
      this.#ids.set(stem, id);
      return { id, start: at, end, isNumber, isName, isContent };
    });
    this.#words.set(word, parts);
    return parts;
  }
}

const LIST_MARKER = /^[^\S\n]{0,12}(?:\d{1,2}[.)]|[-*•]{1,3})(?=\s)|^[^\n\d]{0,200}[:：][*_ ]{0,4}(?=\n)/gm;

/** The sentences of a text by their first tokens, without markers of lists and "Here is a summary:" on a line. */
export function tokenSentences(text: string, tokenizer: Tokenizer, most: number): readonly Token[][] {
  const unmarked = text.replace(LIST_MARKER, (marker) => ' '.repeat(marker.length));
  let start = 0;
  return [...sentenceEnds(unmarked)].flatMap((end) => {
    const tokens: Token[] = [];
    const take = (token: Token, at: number) =>
      tokens.push({ ...token, start: start + at + token.start, end: start + at + token.end });
    tokenizer.read(unmarked.slice(start, end), take, most);
    start = end;
    return tokens.some(({ isContent }) => isContent) ? [tokens] : [];
  });
}
