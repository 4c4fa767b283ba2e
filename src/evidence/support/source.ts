import type { Token, Tokenizer } from './tokens.ts';

/** How much of a sentence its best passage has. */
export interface Alignment {
  /** Words that carry meaning, and how many of them the passage or the prompt has. */
  readonly words: number;
  readonly supported: number;
  /** Where the passage is in the sources. */
  readonly passage?: readonly [start: number, end: number];
}

/** Above every id, since 6144 characters of the answer and 24,576 of the sources are read: a pair of ids is a small integer. */
const ID_SPAN = 32_768;
const MARGIN = 8;
const MIN_WINDOW = 25;

/**
 * The sources and the prompt, as far as the answer needs them. The answer has to be read first, by the same tokenizer:
 * its ids are the lowest, below `limit`.
 */
export class Source {
  /** Of each token its id and its place. */
  readonly #ids: number[] = [];
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  /** How often the sources have a word. */
  readonly #counts: Int32Array;
  /** What a word counts in a window: the rarer, the more. */
  readonly #weights: Float64Array;
  /** How often the window that is looked at has a wanted word; -1 for others. */
  readonly #inside: Int32Array;
  readonly #prompt = new Set<number>();
  /** Places among the tokens of those that the answer has too, and that carry meaning. */
  readonly #shared: number[] = [];
  readonly #sharedIds: number[] = [];

  constructor(tokenizer: Tokenizer, limit: number, source: string, prompt: string) {
    this.#counts = new Int32Array(limit);
    tokenizer.read(source, ({ id, start, end, isContent }, at) => {
      const size = this.#ids.push(id);
      this.#starts.push(at + start);
      this.#ends.push(at + end);
      if (id >= limit) return;
      (this.#counts[id] as number)++;
      if (!isContent) return;
      this.#shared.push(size - 1);
      this.#sharedIds.push(id);
    });
    const blocks = 1 + this.size / MIN_WINDOW;
    this.#weights = new Float64Array(this.#counts).map((count) => Math.log(1 + blocks / (0.5 + count)));
    this.#inside = new Int32Array(limit);
    tokenizer.read(prompt, ({ id }) => this.#prompt.add(id));
  }

  get size(): number {
    return this.#ids.length;
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
        const pair = toPair((sentence[i - 1] as Token).id, (sentence[i] as Token).id);
        pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
      }
    if (total === 0) return undefined;
    const ids = this.#ids;
    for (let i = 1; i < ids.length; i++) pairs.delete(toPair(ids[i - 1] as number, ids[i] as number));
    return [...pairs.values()].reduce((sum, count) => sum + count, 0) / total;
  }

  /** The passage that has most of the sentence's words, rare ones counting more. */
  align(sentence: readonly Token[]): Alignment {
    const content = new Set(sentence.flatMap(({ id, isContent }) => (isContent ? [id] : [])));
    const width = Math.max(MIN_WINDOW, sentence.length * 2);
    const from = this.#findWindow(content, width);
    const [first, last] = [Math.max(0, from - MARGIN), Math.min(this.size, from + width + MARGIN) - 1];
    const ids = new Set(from < 0 ? [] : this.#ids.slice(first, last + 1));
    return {
      words: content.size,
      supported: [...content].filter((id) => ids.has(id) || this.#prompt.has(id)).length,
      ...(from >= 0 && { passage: [this.#starts[first] as number, this.#ends[last] as number] as const }),
    };
  }

  /** The first token of the window with the highest weight, or -1. */
  #findWindow(wanted: ReadonlySet<number>, width: number): number {
    const [places, ids, weights, inside] = [this.#shared, this.#sharedIds, this.#weights, this.#inside];
    inside.fill(-1);
    let most = 0;
    for (const id of wanted) {
      inside[id] = 0;
      if (this.has(id)) most += weights[id] as number;
    }
    let [head, sum, best, from] = [0, 0, 0, -1];
    // A window that has all of them is not excelled.
    for (let at = 0; at < places.length && best < most - 1e-10; at++) {
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

const toPair = (before: number, id: number): number => before * ID_SPAN + id;
