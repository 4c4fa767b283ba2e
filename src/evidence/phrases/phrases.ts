/** Words and phrases found in texts by tables instead of expressions: in time linear in the text. */

/** A word in lower case, contractions whole, with its place. */
export interface Word {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** A text as tables are looked up in it. */
export interface Passage {
  /** In lower case, as long as the text. */
  readonly lower: string;
  readonly words: readonly Word[];
  /** Has letters of a language that is written without spaces. */
  readonly isUnspaced: boolean;
}

/**
 * A list for each language: phrases with a comma between, of whole words, where `fail*` is any word that begins so. In
 * Japanese and Chinese a phrase may stand anywhere.
 */
export type PhrasesByLanguage = Readonly<
  Partial<Record<'en' | 'de' | 'es' | 'fr' | 'pt' | 'ja' | 'zh', string>>
>;

const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;

const WORD = /[\p{L}\p{N}]+(?:['’]\p{L}+)*/gu;
const MAX_WORDS = 4000;

export function readPassage(text: string): Passage {
  const lower = toLower(text);
  const words: Word[] = [];
  for (const match of lower.matchAll(WORD)) {
    if (words.length >= MAX_WORDS) break;
    const { 0: word, index } = match;
    words.push({ text: word.replace('’', "'"), start: index, end: index + word.length });
  }
  return { lower, words, isUnspaced: UNSPACED.test(lower) };
}

/** Few letters are longer in lower case; a text with one of them stays as it is, so that places are kept. */
const toLower = (text: string): string => {
  const lower = text.toLowerCase();
  return lower.length === text.length ? lower : text;
};

/** A phrase that was found, in code units. */
export interface Hit {
  readonly start: number;
  readonly end: number;
  /** Of the first word; -1 in a language without spaces. */
  readonly word: number;
}

/** The first two letters of a word as a number, which costs less than a text of its own. */
const toStart = (word: string): number => (word.charCodeAt(0) << 16) | word.charCodeAt(1);

/** Phrases by the first two letters of their first word. */
export class Phrases {
  readonly #byStart = new Map<number, (readonly string[])[]>();
  readonly #anywhere: string[] = [];

  constructor(table: PhrasesByLanguage) {
    for (const phrases of Object.values(table))
      for (const phrase of phrases.split(',').map((one) => one.trim())) {
        if (phrase === '') continue;
        if (UNSPACED.test(phrase)) this.#anywhere.push(phrase);
        else {
          const parts = phrase.split(' ');
          const start = toStart(parts[0] as string);
          const known = this.#byStart.get(start);
          if (known === undefined) this.#byStart.set(start, [parts]);
          else known.push(parts);
        }
      }
  }

  has(passage: Passage, from = 0): boolean {
    return this.find(passage, from) !== undefined;
  }

  /** The first one that begins at this place or after it. */
  find(passage: Passage, from = 0): Hit | undefined {
    const { words } = passage;
    for (let i = 0; i < words.length; i++) {
      if ((words[i] as Word).start < from) continue;
      const length = this.#lengthAt(words, i);
      if (length > 0)
        return { start: (words[i] as Word).start, end: (words[i + length - 1] as Word).end, word: i };
    }
    if (passage.isUnspaced)
      for (const phrase of this.#anywhere) {
        const at = passage.lower.indexOf(phrase, from);
        if (at >= 0) return { start: at, end: at + phrase.length, word: -1 };
      }
    return undefined;
  }

  /** Whether a phrase begins with this word of the passage. */
  beginsAt({ words }: Passage, index: number): boolean {
    return this.#lengthAt(words, index) > 0;
  }

  /** Whether this word alone is one of them, or holds one where words are not divided. */
  hasWord(word: string): boolean {
    return (
      this.#lengthAt([{ text: word, start: 0, end: word.length }], 0) > 0 ||
      this.#anywhere.some((phrase) => word.includes(phrase))
    );
  }

  #lengthAt(words: readonly Word[], index: number): number {
    for (const parts of this.#byStart.get(toStart(words[index]?.text ?? '')) ?? [])
      if (parts.every((part, i) => isSame(part, words[index + i]?.text))) return parts.length;
    return 0;
  }
}

const isSame = (part: string, word: string | undefined): boolean =>
  word !== undefined && (part.endsWith('*') ? word.startsWith(part.slice(0, -1)) : part === word);

/** Families of words, each with its own phrases. */
export class Families {
  readonly #families: readonly (readonly [name: string, phrases: Phrases])[];
  readonly #known = new Map<string, readonly string[]>();

  constructor(tables: Readonly<Record<string, PhrasesByLanguage>>) {
    this.#families = Object.entries(tables).map(([name, table]) => [name, new Phrases(table)]);
  }

  /** The families that one word belongs to. */
  of(word: string): readonly string[] {
    let families = this.#known.get(word);
    if (families === undefined) {
      families = this.#families.flatMap(([name, phrases]) => (phrases.hasWord(word) ? [name] : []));
      if (this.#known.size < MAX_WORDS) this.#known.set(word, families);
    }
    return families;
  }

  in({ words, lower, isUnspaced }: Passage): Set<string> {
    const found = new Set<string>();
    for (const { text } of words) for (const family of this.of(text)) found.add(family);
    if (isUnspaced)
      for (const [name, phrases] of this.#families)
        if (phrases.find({ lower, words: [], isUnspaced }) !== undefined) found.add(name);
    return found;
  }
}

const NAME_BREAKS = /[^\p{L}\p{N}]+/u;
const MAX_NAME_CHARS = 200;

/** The words of a name: `cancelPendingOrder` and `cancel_pending_order` have three. */
export const wordsOfName = (name: string): readonly string[] =>
  name
    .slice(0, MAX_NAME_CHARS)
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(NAME_BREAKS)
    .filter((word) => word !== '');
