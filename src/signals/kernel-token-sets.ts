import type { Kernel } from './kernel.ts';
import { endsPair, PAIR_END, phrasesIn } from './phrases.ts';
import { ANSWER, type TokenSet, type TokenSets } from './token-sets.ts';
import type { Utf8Text } from './utf8-text.ts';

/** Slots for a text of that many bytes: most texts fill half of them; others grow the table. */
const BYTES_PER_SLOT = 4;
const MIN_SLOTS = 256;
const MAX_INITIAL_SLOTS = 65_536;

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
