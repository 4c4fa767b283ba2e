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
  /** How often the window that is looked at has a wanted word; -1 for others. */
  readonly #inside: Int32Array;
  readonly #prompt: ReadonlySet<number>;
  /** Places among the tokens of those that the answer has too, and that carry meaning. */
  readonly #shared: Int32Array;
  readonly #sharedIds: Int32Array;

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
    this.#shared = Int32Array.from(shared);
    this.#sharedIds = this.#shared.map((at) => (this.#tokens[at] as Token).id);
    const blocks = 1 + this.#tokens.length / MIN_WINDOW;
    this.#weights = Float64Array.from(this.#counts, (count) => Math.log(1 + blocks / (0.5 + count)));
    this.#inside = new Int32Array(limit);
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
    const [places, ids, weights, inside] = [this.#shared, this.#sharedIds, this.#weights, this.#inside];
    inside.fill(-1);
    for (const id of wanted) inside[id] = 0;
    let [head, sum, best, from] = [0, 0, 0, -1];
    for (let at = 0; at < places.length; at++) {
      const id = ids[at] as number;
      if ((inside[id] as number) < 0) continue;
      if ((inside[id] as number)++ === 0) sum += weights[id] as number;
      for (; (places[head] as number) <= (places[at] as number) - width; head++) {
        const left = ids[head] as number;
        if ((inside[left] as number) > 0 && --(inside[left] as number) === 0) sum -= weights[left] as number;
      }
      while ((inside[ids[head] as number] as number) < 0) head++;
      if (sum > best + 1e-9) {
        best = sum;
        from = places[head] as number;
      }
    }
    return from;
  }
}

const toPair = (tokens: readonly Token[], i: number): number =>
  (tokens[i - 1] as Token).id * ID_SPAN + (tokens[i] as Token).id;
