/** Texts that arguments can come from, indexed by their words and values. Bounded. */
import { type Steps, takeAll } from '../../base/index.ts';
import type { FieldPath } from './fields.ts';
import { cutPieces, joinWords, MAX_PIECE_CHARS, readForms, readValueKeys, readWords } from './words.ts';

export interface SourceLeaf {
  readonly path: FieldPath;
  readonly joined: string;
  /** When it was said. */
  readonly at: number;
}

/** What is looked for: words in a row, or any of these values. */
export type Wanted =
  | { readonly words: readonly string[]; readonly joined: string }
  | { readonly keys: readonly string[] };

/** What a text has one of, to hold what is looked for: a value, or the word that is rarest. */
export function listEntries(wanted: Wanted, count: (word: string) => number): readonly string[] {
  if ('keys' in wanted) return wanted.keys;
  let [rarest, least] = ['', Number.POSITIVE_INFINITY];
  for (const word of wanted.words) {
    const found = count(word);
    if (found < least) [rarest, least] = [word, found];
    if (found === 0) break;
  }
  return [rarest];
}

/** The words that have to stand in a row; none of a value or of one word, which its entry finds. */
export function readPhrase(wanted: Wanted): string | undefined {
  return 'words' in wanted && wanted.words.length > 1 ? wanted.joined : undefined;
}

const MAX_CHARS = 262_144;
const MAX_LEAVES = 4_000;
const MAX_ENTRIES = 40_000;
/** What an entry of the index takes beside its text, here or in the index of its run, in bytes. */
export const ENTRY_BYTES = 96;
/** Characters that are indexed at once when a value is looked for: 1,000 take up to 2 ms. */
const MAX_AT_ONCE = 10_000;
/** Words between two steps. */
const STEP_WORDS = 500;

/** A part of a text keeps the whole in memory, which may be many times as long. */
function copyPart(part: string): string {
  return Buffer.from(part, 'utf16le').toString('utf16le');
}

export class SourceText {
  /** Texts that are not yet indexed, and how many characters. */
  readonly #waiting: { readonly text: string; readonly path: FieldPath; readonly at: number }[] = [];
  #unread = 0;
  #reading: Steps<void> | undefined;
  readonly #leaves: SourceLeaf[] = [];
  readonly #index = new Map<string, number[]>();
  #chars = 0;
  #entries = 0;
  #isCut = false;

  /** Something was left out, or is not indexed: what is not found may have been there. */
  get isCut(): boolean {
    return this.#isCut || this.#unread > MAX_AT_ONCE;
  }

  /** Roughly what it takes in memory. */
  get bytes(): number {
    return 2 * this.#chars + ENTRY_BYTES * this.#entries;
  }

  /** Adds a text. A long one is found once {@link read} has indexed it. */
  add(text: string, path: FieldPath = [], at = 0): this {
    const left = MAX_CHARS - this.#chars;
    const count = this.#leaves.length + this.#waiting.length;
    if (left <= 0 || count >= MAX_LEAVES || this.#entries >= MAX_ENTRIES) {
      this.#isCut = true;
      return this;
    }
    if (text.length > left) this.#isCut = true;
    const taken = copyPart(text.slice(0, left));
    this.#chars += taken.length;
    this.#unread += taken.length;
    this.#waiting.push({ text: taken, path, at });
    return this;
  }

  /** Indexes what was added. Who reads while another does takes the steps of both. */
  *read(): Steps<void> {
    while (this.#reading !== undefined || this.#waiting.length > 0) {
      this.#reading ??= this.#readWaiting();
      if (this.#reading.next().done === true) this.#reading = undefined;
      yield;
    }
  }

  *#readWaiting(): Steps<void> {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const { text, path, at } = next;
      const leaf = this.#leaves.push({ path, joined: '', at }) - 1;
      try {
        const words = yield* this.#readLeaf(text, leaf);
        const joined = words.map(joinWords).join('');
        this.#leaves[leaf] = { path, joined, at };
      } catch {
        this.#isCut = true;
      }
      this.#unread -= text.length;
    }
  }

  /** Indexes a text by its words and values. Gives its words, and those that it stands for when it is decoded. */
  *#readLeaf(text: string, leaf: number): Steps<readonly (readonly string[])[]> {
    const words: string[] = [];
    for (const cut of cutPieces(text)) {
      // One character may stand for 18.
      const piece = cut.normalize('NFKC').slice(0, 2 * MAX_PIECE_CHARS);
      if (piece.length > MAX_PIECE_CHARS) this.#isCut = true;
      for (const word of readWords(piece)) words.push(word);
      for (const key of readValueKeys(piece)) this.#put(key, leaf);
      yield;
    }
    const decoded: string[] = [];
    for (const [i, word] of words.entries()) {
      this.#put(word, leaf);
      if (word.length >= 8)
        for (const form of readForms(word).slice(1)) for (const one of readWords(form)) decoded.push(one);
      if (i % STEP_WORDS === 0) yield;
    }
    for (const word of decoded) this.#put(word, leaf);
    return decoded.length === 0 ? [words] : [words, decoded];
  }

  #put(entry: string, leaf: number): void {
    const known = this.#index.get(entry);
    if (known === undefined) this.#index.set(entry, [leaf]);
    else if (known.at(-1) !== leaf) known.push(leaf);
    else return;
    this.#entries += 1;
  }

  get leaves(): readonly SourceLeaf[] {
    return this.#leaves;
  }

  /** What it is found by, and in which leaves. */
  get index(): ReadonlyMap<string, readonly number[]> {
    return this.#index;
  }

  /** The first leaf that holds what is looked for; the first of each of several values. */
  find(wanted: Wanted): readonly SourceLeaf[] {
    if (this.#unread > 0 && this.#unread <= MAX_AT_ONCE) takeAll(this.read());
    if (this.#index.size === 0) return [];
    const phrase = readPhrase(wanted);
    return listEntries(wanted, (word) => this.#index.get(word)?.length ?? 0).flatMap((entry) => {
      const leaves = this.#index.get(entry) ?? [];
      const at = leaves.find((at) => phrase === undefined || this.#leaves[at]?.joined.includes(phrase));
      return at === undefined ? [] : [this.#leaves[at] as SourceLeaf];
    });
  }
}
