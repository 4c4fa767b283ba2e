import type { Token, Tokenizer } from './tokens.ts';

/** How much of a sentence its best passage has. */
export interface Alignment {
  /** Words that carry meaning, and how many of them the passage or the prompt has. */
  readonly words: number;
  readonly supported: number;
  /** First and last token of the passage in the sources. */
  readonly passage?: readonly [first: Token, last: Token];
}

/** Above every id of the answer, of which 6144 characters are read: the pair of two ids stays a small integer. */
const ID_SPAN = 8192;
const MARGIN = 8;
const MIN_WINDOW = 25;

/**
 * The sources and the prompt, as far as the answer needs them. The answer has to be read first, by the same tokenizer:
 * its ids are the lowest.
 */
export class Source {
  readonly #tokens: readonly Token[];
  /** Ids of the answer are below this. */
  readonly #limit: number;
  /** How often the sources have a word. */
  readonly #counts: Int32Array;
  /** What a word counts in a window: the rarer, the more. */
  readonly #weights: Float64Array;
  readonly #prompt: ReadonlySet<number>;
  constructor(tokenizer: Tokenizer, limit: number, source: string, prompt: string) {
    this.#limit = limit;
    this.#tokens = tokenizer.read(source);
    this.#counts = new Int32Array(limit);
    for (const { id } of this.#tokens) if (id < limit) (this.#counts[id] as number)++;
    const blocks = 1 + this.#tokens.length / MIN_WINDOW;
    this.#weights = Float64Array.from(this.#counts, (count) => Math.log(1 + blocks / (0.5 + count)));
    this.#prompt = new Set(tokenizer.read(prompt).map(({ id }) => id));
  }

  get size(): number {
    return this.#tokens.length;
  }

  has(id: number): boolean {
    return this.#counts[id] !== 0;
  }

  /** In the sources or in the user's words. */
  supports(id: number): boolean {
    return this.has(id) || this.#prompt.has(id);
  }

  /** Share of the neighbors in the sentences that are neighbors in no source; `undefined` without neighbors. */
  newPairs(sentences: readonly (readonly Token[])[]): number | undefined {
    const pairs = new Map<number, number>();
    let total = 0;
    for (const sentence of sentences)
      for (let i = 1; i < sentence.length; i++, total++) {
        const pair = toPair(sentence, i);
        pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
      }
    if (total === 0) return undefined;
    const tokens = this.#tokens;
    for (let i = 1; i < tokens.length; i++)
      if ((tokens[i - 1] as Token).id < this.#limit && (tokens[i] as Token).id < this.#limit)
        pairs.delete(toPair(tokens, i));
    return [...pairs.values()].reduce((sum, count) => sum + count, 0) / total;
  }

  /** The passage that has most of the sentence's words, rare ones counting more. */
  align(sentence: readonly Token[]): Alignment {
    const content = new Set(sentence.flatMap(({ id, isContent }) => (isContent ? [id] : [])));
    const width = Math.max(MIN_WINDOW, sentence.length * 2);
    const from = this.#findWindow(content, width);
    const passage = from < 0 ? [] : this.#tokens.slice(Math.max(0, from - MARGIN), from + width + MARGIN);
    const ids = new Set(passage.map(({ id }) => id));
    const [first, last] = [passage[0], passage.at(-1)];
    return {
      words: content.size,
      supported: [...content].filter((id) => ids.has(id) || this.#prompt.has(id)).length,
      ...(first !== undefined && last !== undefined && { passage: [first, last] as const }),
    };
  }

  /** The first token of the window with the highest weight, or -1. */
  #findWindow(wanted: ReadonlySet<number>, width: number): number {
    const inside = new Map<number, number>();
    let [sum, best, from] = [0, 0, -1];
    const count = (id: number | undefined, step: 1 | -1) => {
      if (id === undefined || !wanted.has(id)) return;
      const times = (inside.get(id) ?? 0) + step;
      inside.set(id, times);
      if (times === (step === 1 ? 1 : 0)) sum += step * (this.#weights[id] as number);
    };
    for (let at = 0; at < this.#tokens.length; at++) {
      count(this.#tokens[at]?.id, 1);
      count(this.#tokens[at - width]?.id, -1);
      if (sum > best + 1e-9) [best, from] = [sum, Math.max(0, at - width + 1)];
    }
    return from;
  }
}

const toPair = (tokens: readonly Token[], i: number): number =>
  (tokens[i - 1] as Token).id * ID_SPAN + (tokens[i] as Token).id;
