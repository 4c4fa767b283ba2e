/** Texts that arguments can come from, indexed by their words and values. Bounded. */
import type { Steps } from '../../base/index.ts';
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

const MAX_CHARS = 262_144;
const MAX_LEAVES = 4_000;
const MAX_ENTRIES = 40_000;
/** What an entry of the index takes beside its text, in bytes. */
const ENTRY_BYTES = 64;

/** A part of a text keeps the whole in memory, which may be many times as long. */
function copyPart(part: string): string {
  return Buffer.from(part, 'utf16le').toString('utf16le');
}

export class SourceText {
  readonly #leaves: SourceLeaf[] = [];
  readonly #index = new Map<string, number[]>();
  #chars = 0;
  #entries = 0;
  #isCut = false;

  /** Something was left out: what is not found may have been there. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** Roughly what it takes in memory. */
  get bytes(): number {
    return 2 * this.#chars + ENTRY_BYTES * this.#entries;
  }

  *add(text: string, path: FieldPath = [], at = 0): Steps<void> {
    const left = MAX_CHARS - this.#chars;
    if (left <= 0 || this.#leaves.length >= MAX_LEAVES || this.#entries >= MAX_ENTRIES) {
      this.#isCut = true;
      return;
    }
    if (text.length > left) this.#isCut = true;
    const taken = copyPart(text.slice(0, left));
    this.#chars += taken.length;
    const words: string[] = [];
    for (const cut of cutPieces(taken)) {
      // One character may stand for 18.
      const piece = cut.normalize('NFKC').slice(0, 2 * MAX_PIECE_CHARS);
      if (piece.length > MAX_PIECE_CHARS) this.#isCut = true;
      for (const word of readWords(piece)) words.push(word);
      for (const key of readValueKeys(piece)) this.#put(key, this.#leaves.length);
      yield;
    }
    const decoded = words.flatMap((word) =>
      word.length < 8 ? [] : readForms(word).slice(1).flatMap(readWords),
    );
    for (const word of words) this.#put(word, this.#leaves.length);
    for (const word of decoded) this.#put(word, this.#leaves.length);
    const joined = decoded.length === 0 ? joinWords(words) : joinWords(words) + joinWords(decoded);
    this.#leaves.push({ path, joined, at });
  }

  #put(entry: string, leaf: number): void {
    const known = this.#index.get(entry);
    if (known === undefined) this.#index.set(entry, [leaf]);
    else if (known.at(-1) !== leaf) known.push(leaf);
    else return;
    this.#entries += 1;
  }

  find(wanted: Wanted): readonly SourceLeaf[] {
    if ('keys' in wanted) {
      const found = new Set(wanted.keys.flatMap((key) => this.#index.get(key) ?? []));
      return [...found].map((leaf) => this.#leaves[leaf] as SourceLeaf);
    }
    const [longest = ''] =
      wanted.words.length === 1 ? wanted.words : [...wanted.words].sort((a, b) => b.length - a.length);
    const found = (this.#index.get(longest) ?? []).map((leaf) => this.#leaves[leaf] as SourceLeaf);
    return wanted.words.length === 1 ? found : found.filter(({ joined }) => joined.includes(wanted.joined));
  }
}
