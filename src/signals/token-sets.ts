import type { Kernel } from './kernel.ts';
import { endsPair, PAIR_END, PHRASE_TEXTS, phrasesIn } from './phrases.ts';
import type { Utf8Text } from './utf8-text.ts';

/** Bits for the sets that a token can belong to. */
export const ANSWER = 1;
export const CONTEXT = 2;
export const SECOND_ANSWER = 4;
export type TokenSet = typeof ANSWER | typeof CONTEXT | typeof SECOND_ANSWER;

/**
 * Token sets of an answer and the texts it is compared with. A token is a maximal run of ASCII letters and digits,
 * ignoring case.
 */
export interface TokenSets {
  /** Phrases found in the answer: bits of `phrases.ts`. */
  readonly phrases: number;
  /** Clears the sets. `bytes` is the approximate size of the text to come. */
  reset(bytes: number): void;
  /** Adds the tokens of a text to a set. Add the answer first and in normal form, as phrase matching needs it. */
  add(text: Utf8Text, set: TokenSet): void;
  /** Jaccard similarity of a set with the answer's: tokens of both over tokens of either; 0 when both are empty. */
  similarity(set: TokenSet): number;
}

/** Slots for a text of that many bytes; a text of many different words grows the table. A small one stays in the cache. */
const BYTES_PER_SLOT = 8;
const MIN_SLOTS = 256;
const MAX_INITIAL_SLOTS = 131_072;

/** {@link TokenSets} by the kernel. */
export class KernelTokenSets implements TokenSets {
  phrases = 0;
  readonly #kernel: Kernel;
  #text: Utf8Text | undefined;
  readonly #sizes = new Map<TokenSet, number>();
  readonly #shared = new Map<TokenSet, number>();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
    kernel.listener = {
      inspect: (index, size) => this.#inspect(index, size),
      occurs: (index) => this.#occurs(index),
    };
  }

  reset(bytes: number): void {
    let slots = MIN_SLOTS;
    while (slots < MAX_INITIAL_SLOTS && slots * BYTES_PER_SLOT < bytes) slots *= 2;
    this.#kernel.exports.free(0);
    this.#kernel.exports.reset(slots);
    this.#sizes.clear();
    this.#shared.clear();
    this.phrases = 0;
  }

  add(text: Utf8Text, set: TokenSet): void {
    const address = this.#kernel.take(text);
    this.#text = text;
    this.#kernel.exports.add(address, text.length, set);
    this.#text = undefined;
    this.#sizes.set(set, this.#kernel.exports.addedTokens());
    this.#shared.set(set, this.#kernel.exports.sharedTokens());
  }

  similarity(set: TokenSet): number {
    const shared = this.#shared.get(set) ?? 0;
    const union = (this.#sizes.get(ANSWER) ?? 0) + (this.#sizes.get(set) ?? 0) - shared;
    return shared / Math.max(1, union);
  }

  #inspect(index: number, size: number): number {
    if (this.#text === undefined) return 0;
    const found = phrasesIn(this.#text, index, size);
    this.phrases |= found & ~PAIR_END;
    if ((found & PAIR_END) !== 0) this.#occurs(index);
    return found & PAIR_END;
  }

  #occurs(index: number): void {
    if (this.#text !== undefined) this.phrases |= endsPair(this.#text, index);
  }
}

/** {@link TokenSets} in JavaScript: several times slower than the kernel, and the reference it is tested against. */
export class PlainTokenSets implements TokenSets {
  phrases = 0;
  readonly #sets = new Map<TokenSet, ReadonlySet<string>>();

  reset(): void {
    this.phrases = 0;
    this.#sets.clear();
  }

  add(text: Utf8Text, set: TokenSet): void {
    // Bytes of non-ASCII characters decode as Latin-1 characters, none of which counts as a letter here.
    const { buffer } = text.bytes;
    const latin1 = Buffer.from(buffer, 0, text.length).toString('latin1').toLowerCase();
    this.#sets.set(set, new Set(latin1.match(/[a-z0-9]+/g)));
    if (set !== ANSWER) return;
    for (const [phrase, bit] of PHRASE_TEXTS) {
      if (latin1.includes(phrase)) this.phrases |= bit;
    }
  }

  similarity(set: TokenSet): number {
    const answer = this.#sets.get(ANSWER) ?? new Set();
    const other = this.#sets.get(set) ?? new Set();
    let shared = 0;
    for (const token of answer) if (other.has(token)) shared += 1;
    return shared / Math.max(1, answer.size + other.size - shared);
  }
}
