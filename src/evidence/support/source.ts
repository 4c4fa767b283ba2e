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
  readonly #prompt: ReadonlySet<number>;
  /** Places among the tokens of those that the answer has too, and that carry meaning. */
  readonly #shared: readonly number[];

  constructor(tokenizer: Tokenizer, limit: number, source: string, prompt: string) {
    this.#limit = limit;
    this.#tokens = tokenizer.read(source);
    this.#counts = new Int32Array(limit);
    const shared: number[] = [];
    for (const [at, { id, isContent }] of this.#tokens.entries()) {
      if (id >= limit) continue;
      (this.#counts[id] as number)++;
      if (isContent) shared.push(at);
    }
    this.#shared = shared;
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
    const tokens = this.#tokens;
    const blocks = 1 + tokens.length / MIN_WINDOW;
    const inside = new Map<number, number>();
    const places: number[] = [];
    let [head, sum, best, from] = [0, 0, 0, -1];
    const count = (place: number, change: 1 | -1, bound: 0 | 1) => {
      const { id } = tokens[place] as Token;
      const times = (inside.get(id) ?? 0) + change;
      inside.set(id, times);
      if (times === bound) sum += change * Math.log(1 + blocks / (0.5 + (this.#counts[id] as number)));
    };
    for (const place of this.#shared) {
      if (!wanted.has((tokens[place] as Token).id)) continue;
      places.push(place);
      count(place, 1, 1);
      for (; (places[head] as number) <= place - width; head++) count(places[head] as number, -1, 0);
      if (sum > best + 1e-9) [best, from] = [sum, places[head] as number];
    }
    return from;
  }
}

const toPair = (tokens: readonly Token[], i: number): number =>
  (tokens[i - 1] as Token).id * ID_SPAN + (tokens[i] as Token).id;
