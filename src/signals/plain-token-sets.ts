import { PHRASE_TEXTS } from './phrases.ts';
import { ANSWER, type TokenSet, type TokenSets } from './token-sets.ts';
import type { Utf8Text } from './utf8-text.ts';

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
