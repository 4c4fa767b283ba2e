import { FUNCTION_WORDS, findStem } from '../language/index.ts';
import { sentenceEnds } from './sentence-ends.ts';

/** What a token is: bits of {@link Tokens.flags}. */
export const NUMBER = 1;
/** Begins with a capital letter. */
export const NAME = 2;
/** Carries meaning: no article, preposition, pronoun or auxiliary. */
export const CONTENT = 4;

/**
 * The tokens of a text, a column each: words, or characters of scripts that are written without spaces. Equal stems
 * have equal ids. A stem is the word in lower case, without endings that inflect, cut to seven letters; of a number, the
 * text without separators of thousands.
 */
export interface Tokens {
  readonly ids: number[];
  readonly starts: number[];
  readonly ends: number[];
  readonly flags: number[];
}

const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
const HIRAGANA = /\p{Script=Hiragana}/u;
const DIGIT = /\p{N}/u;
const CAPITAL = /\p{Lu}/u;
const WORD_PART = /[\p{L}\p{M}\p{N}]/u;
const JOINERS = ".,'’:/-";

const ALL_FUNCTION_WORDS: ReadonlySet<string> = new Set(
  Object.values(FUNCTION_WORDS).flatMap((list) => [...list]),
);
/** At most this many tokens are read of a text. */
export const MAX_TOKENS = 16_384;

/** Stems are cut to these many letters. */
const MAX_STEM = 7;
export const toShortStem = (word: string): string => findStem(word).slice(0, MAX_STEM);

/** Classes of characters: a part of a word, a whole word, or what joins two parts. */
const OTHER = 1;
const PART = 2;
const WHOLE = 3;
const JOINER = 4;
/** Class of each UTF-16 code unit, 0 until it is first met. */
const CLASSES = new Uint8Array(65_536);

function toClass(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  const known = CLASSES[unit] as number;
  if (known !== 0) return known;
  // Halves of a pair have no class of their own: they are looked up as a pair, each time.
  if (unit >= 0xd800 && unit < 0xe000) return classOfCharacter(pairAround(text, at, unit));
  CLASSES[unit] = classOfCharacter(text[at] as string);
  return CLASSES[unit] as number;
}

const pairAround = (text: string, at: number, unit: number): string =>
  unit < 0xdc00 ? text.slice(at, at + 2) : text.slice(at - 1, at + 1);

const classOfCharacter = (character: string): number => {
  if (JOINERS.includes(character)) return JOINER;
  if (UNSPACED.test(character)) return WHOLE;
  return WORD_PART.test(character) ? PART : OTHER;
};

/** A part of a word as the texts of one answer share it. */
interface KnownPart {
  readonly id: number;
  readonly flags: number;
  readonly offset: number;
  readonly length: number;
}

/** Reads texts into tokens. Every word is analyzed once, where it is first met. */
export class Tokenizer {
  /** Stems by id. */
  readonly stems: string[] = [];
  readonly #ids = new Map<string, number>();
  readonly #words = new Map<string, readonly KnownPart[]>();

  read(text: string, from = 0, to = text.length): Tokens {
    const tokens: Tokens = { ids: [], starts: [], ends: [], flags: [] };
    for (let at = from; at < to && tokens.ids.length < MAX_TOKENS; ) {
      const type = toClass(text, at);
      if (type !== PART && type !== WHOLE) {
        at++;
        continue;
      }
      const end = endOfWord(text, at, to, type);
      const parts = this.#listParts(text.slice(at, end));
      for (let i = 0; i < parts.length; i++) {
        const { id, flags, offset, length } = parts[i] as KnownPart;
        tokens.ids.push(id);
        tokens.starts.push(at + offset);
        tokens.ends.push(at + offset + length);
        tokens.flags.push(flags);
      }
      at = end;
    }
    return tokens;
  }

  #listParts(word: string): readonly KnownPart[] {
    const known = this.#words.get(word);
    if (known !== undefined) return known;
    if (PLAIN_WORD.test(word)) {
      const parts = [
        { id: this.#toId(toShortStem(word)), flags: toPlainMeaning(word), offset: 0, length: word.length },
      ];
      this.#words.set(word, parts);
      return parts;
    }
    const isNumber = DIGIT.test(word);
    const isName = CAPITAL.test(String.fromCodePoint(word.codePointAt(0) as number));
    const parts: KnownPart[] = [];
    let offset = 0;
    for (const raw of isNumber ? [word] : word.split(/[.,:/-]/)) {
      const part = raw.toLowerCase();
      if (part !== '') {
        const stem = isNumber ? toNumberStem(part) : toShortStem(part);
        parts.push({
          id: this.#toId(stem),
          flags: (isNumber ? NUMBER : 0) | (isName ? NAME : 0) | toMeaning(part, isNumber),
          offset,
          length: raw.length,
        });
      }
      offset += raw.length + 1;
    }
    this.#words.set(word, parts);
    return parts;
  }

  #toId(stem: string): number {
    const known = this.#ids.get(stem);
    if (known !== undefined) return known;
    const id = this.stems.push(stem) - 1;
    this.#ids.set(stem, id);
    return id;
  }
}

/** Most words: nothing to split, to fold or to look up in the tables of Unicode. */
const PLAIN_WORD = /^[a-z]+$/;
const toPlainMeaning = (word: string): number =>
  word.length > 1 && !ALL_FUNCTION_WORDS.has(word) ? CONTENT : 0;

const toNumberStem = (part: string): string => {
  const plain = part.normalize('NFKC');
  return plain.includes(',') ? plain.replace(/,(?=\d{3})/g, '') : plain;
};

function toMeaning(part: string, isNumber: boolean): number {
  const isContent = UNSPACED.test(part)
    ? !HIRAGANA.test(part)
    : isNumber || (part.length > 1 && !ALL_FUNCTION_WORDS.has(part));
  return isContent ? CONTENT : 0;
}

/** A word goes on over a joiner if a part follows: "co-operate", "2019-05-04", "isn't". */
function endOfWord(text: string, start: number, to: number, type: number): number {
  if (type === WHOLE) return start + ((text.codePointAt(start) as number) > 0xffff ? 2 : 1);
  let end = start + 1;
  for (; end < to; end++) {
    const next = toClass(text, end);
    if (next === PART || next === WHOLE) continue;
    const after = next === JOINER && end + 1 < to ? toClass(text, end + 1) : OTHER;
    if (after !== PART && after !== WHOLE) break;
  }
  return end;
}

const LIST_MARKER = /^[^\S\n]{0,12}(?:\d{1,2}[.)]|[-*•]{1,3})(?=\s)/gm;

/** The sentences of a text by their tokens; markers of lists are no part of them. */
export function tokenSentences(text: string, tokenizer: Tokenizer): readonly Tokens[] {
  const unmarked = text.replace(LIST_MARKER, (marker) => ' '.repeat(marker.length));
  const sentences: Tokens[] = [];
  let start = 0;
  const take = (end: number) => {
    const tokens = tokenizer.read(unmarked, start, end);
    if (tokens.flags.some((flags) => (flags & CONTENT) !== 0)) sentences.push(tokens);
    start = end;
  };
  for (const end of sentenceEnds(unmarked)) take(end);
  return sentences;
}
