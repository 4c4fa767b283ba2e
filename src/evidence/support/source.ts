import { Opposites } from './opposites.ts';
import { CONTENT, type Tokenizer, type Tokens } from './tokens.ts';

/** How much of a sentence its best passage has. */
export interface Alignment {
  /** Words that carry meaning, and how many of them the passage or the prompt has. */
  readonly words: number;
  readonly supported: number;
  /** Groups of words that exclude each other of which the passage has another one. */
  readonly opposites: number;
  /** First and last token of the passage in the sources. */
  readonly passage?: readonly [first: number, last: number];
}

/**
 * Above every id of the answer, of which 8192 characters are read. The pair of two ids, and the pair of a
 * pair's number and an id, stay small integers.
 */
const ID_SPAN = 8192;
const MARGIN = 8;

/**
 * The sources and the prompt, as far as the answer needs them. The answer has to be read first, by the same tokenizer:
 * its ids are the lowest, and all that is kept of a source is kept by them.
 */
export class Source {
  readonly #tokens: Tokens;
  readonly #opposites: Opposites;
  /** Ids of the answer are below this. */
  readonly #limit: number;
  readonly #counts: Int32Array;
  /** How much a word counts: rare ones count more. */
  readonly #weights: Float64Array;
  readonly #prompt: Uint8Array;
  /** Tokens of the sources that the answer has too, and carry meaning. */
  readonly #shared: Int32Array;
  readonly #sharedIds: Int32Array;
  /** Scratch: the last sentence that has the word, and how often the window has it. */
  readonly #mark: Int32Array;
  readonly #inside: Int32Array;
  readonly #queue: Int32Array;
  #round = 0;

  constructor(tokenizer: Tokenizer, limit: number, source: string, prompt: string) {
    this.#limit = limit;
    this.#opposites = new Opposites(tokenizer);
    this.#tokens = tokenizer.read(source);
    this.#counts = new Int32Array(limit);
    this.#mark = new Int32Array(limit);
    this.#inside = new Int32Array(limit);
    const shared: number[] = [];
    const { ids, flags } = this.#tokens;
    for (let i = 0; i < ids.length; i++) {
      const id = ids[i] as number;
      if (id >= limit) continue;
      (this.#counts[id] as number)++;
      if (((flags[i] as number) & CONTENT) !== 0) shared.push(i);
    }
    this.#shared = new Int32Array(shared);
    this.#sharedIds = new Int32Array(shared.length);
    for (let i = 0; i < shared.length; i++) this.#sharedIds[i] = ids[shared[i] as number] as number;
    this.#queue = new Int32Array(shared.length);
    const blocks = 1 + ids.length / 25;
    this.#weights = new Float64Array(limit);
    for (let id = 0; id < limit; id++)
      this.#weights[id] = Math.log(1 + blocks / (0.5 + (this.#counts[id] as number)));
    this.#prompt = new Uint8Array(limit);
    for (const id of tokenizer.read(prompt).ids) if (id < limit) this.#prompt[id] = 1;
  }

  get size(): number {
    return this.#tokens.ids.length;
  }

  has(id: number): boolean {
    return this.#counts[id] !== 0;
  }

  /** In the sources or in the user's words. */
  supports(id: number): boolean {
    return this.#counts[id] !== 0 || this.#prompt[id] === 1;
  }

  /** Place of a token of the sources. */
  placeOf(token: number): readonly [start: number, end: number] {
    return [this.#tokens.starts[token] as number, this.#tokens.ends[token] as number];
  }

  /** Share of the neighbors in the sentences that are neighbors in no source; `undefined` without neighbors. */
  newPairs(sentences: readonly Tokens[]): number | undefined {
    const pairs = new Map<number, number>();
    let total = 0;
    for (const { ids } of sentences)
      for (let i = 0; i + 1 < ids.length; i++, total++) {
        const pair = (ids[i] as number) * ID_SPAN + (ids[i + 1] as number);
        pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
      }
    if (total === 0) return undefined;
    const { ids } = this.#tokens;
    for (let i = 0; i + 1 < ids.length; i++) {
      const left = ids[i] as number;
      const right = ids[i + 1] as number;
      if (left < this.#limit && right < this.#limit) pairs.delete(left * ID_SPAN + right);
    }
    return [...pairs.values()].reduce((sum, count) => sum + count, 0) / total;
  }

  /** The passage that has most of the sentence's words, rare ones counting more. */
  align(sentence: Tokens): Alignment {
    const { ids, flags } = sentence;
    const content = ids.filter((_, i) => ((flags[i] as number) & CONTENT) !== 0);
    const round = ++this.#round;
    let [words, wanted] = [0, 0];
    for (const id of content) {
      if (this.#mark[id] === round) continue;
      this.#mark[id] = round;
      words++;
      if (this.has(id)) wanted++;
    }
    const width = Math.max(25, ids.length * 2);
    const from = this.#bestWindow(round, width, wanted);
    const first = Math.max(0, from - MARGIN);
    const end = from < 0 ? first : Math.min(this.size, from + width + MARGIN);
    const passageIds = new Set(this.#tokens.ids.slice(first, end));
    return {
      words,
      opposites: this.#opposites.count(sentence, passageIds),
      supported: this.#countSupported(content, passageIds),
      ...(end > first && { passage: [first, end - 1] as const }),
    };
  }

  /** The first token of the window with the highest weight, or -1. `wanted` is how many words the sources have at all. */
  #bestWindow(round: number, width: number, wanted: number): number {
    if (wanted === 0) return -1;
    const [ids, places, mark, weights] = [this.#sharedIds, this.#shared, this.#mark, this.#weights];
    const inside = this.#inside.fill(0);
    // The words of the window, by their index among the shared ones.
    const queue = this.#queue;
    let [head, tail] = [0, 0];
    let [sum, best, from] = [0, 0, -1];
    let held = 0;
    for (let i = 0; i < ids.length; i++) {
      const id = ids[i] as number;
      if (mark[id] !== round) continue;
      queue[tail++] = i;
      const count = inside[id] as number;
      inside[id] = count + 1;
      if (count === 0) {
        sum += weights[id] as number;
        held++;
      }
      const least = (places[i] as number) - width;
      while ((places[queue[head] as number] as number) <= least) {
        const gone = ids[queue[head++] as number] as number;
        const rest = (inside[gone] as number) - 1;
        inside[gone] = rest;
        if (rest === 0) {
          sum -= weights[gone] as number;
          held--;
        }
      }
      if (sum > best + 1e-9) {
        best = sum;
        from = places[queue[head] as number] as number;
        // No later window can have more than all.
        if (held === wanted) break;
      }
    }
    return from;
  }

  #countSupported(content: readonly number[], passage: ReadonlySet<number>): number {
    let supported = 0;
    for (const id of new Set(content)) if (passage.has(id) || this.#prompt[id] === 1) supported++;
    return supported;
  }
}
