import { Numbered } from './numbered.ts';
import { Opposites } from './opposites.ts';
import { CONTENT, NEGATION, NUMBER, type Tokenizer, type Tokens } from './tokens.ts';

/** How much of a sentence its best passage has. */
export interface Alignment {
  /** Words that carry meaning, and how many of them the passage or the prompt has. */
  readonly words: number;
  readonly supported: number;
  /** Share of the words that follow in the passage in the same order. */
  readonly ordered: number;
  /** Numbers that are in no passage of their sentence. */
  readonly newNumbers: number;
  /** Groups of words that exclude each other of which the passage has another one. */
  readonly opposites: number;
  /** First and last token of the passage in the sources. */
  readonly passage?: readonly [first: number, last: number];
  readonly isNegated: boolean;
}

/** How many neighbors and pairs of content words the answer has, and how many of them are in no source. */
export interface Novelty {
  readonly pairs: number;
  readonly newPairs: number;
  readonly farPairs: number;
  readonly newFarPairs: number;
}

/**
 * Above every id of the answer, of which 8192 characters are read. The pair of two ids, and the pair of a
 * pair's number and an id, stay small integers.
 */
const ID_SPAN = 8192;
/** Content words this near each other are a pair. */
const FAR = 4;
const MARGIN = 8;

/**
 * The sources and the prompt, as far as the answer needs them. The answer has to be read first, by the same tokenizer:
 * its ids are the lowest, and all that is kept of a source is kept by them.
 */
export class Source {
  readonly #tokens: Tokens;
  readonly #stems: readonly string[];
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
  readonly #knownParts = new Set<number>();
  /** Scratch: the last sentence that has the word, and how often the window has it. */
  readonly #mark: Int32Array;
  readonly #inside: Int32Array;
  readonly #queue: Int32Array;
  #round = 0;

  constructor(tokenizer: Tokenizer, limit: number, source: string, prompt: string) {
    const { stems } = tokenizer;
    this.#limit = limit;
    this.#stems = stems;
    this.#opposites = new Opposites(tokenizer);
    this.#tokens = tokenizer.read(source);
    const end = stems.length;
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
    this.#collectParts(end);
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

  /** Share of the parts of four letters that words of the sources have too; 1 for a word that they have. */
  likeness(id: number): number {
    if (this.has(id)) return 1;
    const stem = this.#stems[id] as string;
    if (stem.length < 4) return this.#prompt[id] as number;
    let known = 0;
    for (let i = 0; i + 4 <= stem.length; i++) if (this.#knownParts.has(partAt(stem, i))) known++;
    return known / (stem.length - 3);
  }

  /** Compares the order of the answer's words with the order in the sources. */
  novelty(sentences: readonly Tokens[]): Novelty {
    const pairs = new Numbered();
    const farPairs = new Numbered();
    for (const { ids, flags } of sentences) {
      let before = -1;
      for (let i = 0; i < ids.length; i++) {
        const id = ids[i] as number;
        if (i + 1 < ids.length) {
          pairs.add(id * ID_SPAN + (ids[i + 1] as number));
        }
        if (((flags[i] as number) & CONTENT) === 0) continue;
        if (before >= 0) farPairs.add(toFarPair(before, id));
        before = id;
      }
    }
    this.#seeNeighbors(pairs);
    this.#seeFarPairs(farPairs);
    return {
      pairs: pairs.total,
      newPairs: pairs.unseen(),
      farPairs: farPairs.total,
      newFarPairs: farPairs.unseen(),
    };
  }

  #seeNeighbors(pairs: Numbered): void {
    const { ids } = this.#tokens;
    const limit = this.#limit;
    for (let i = 0; i + 1 < ids.length; i++) {
      const left = ids[i] as number;
      const right = ids[i + 1] as number;
      if (left >= limit || right >= limit) continue;
      pairs.see(left * ID_SPAN + right);
    }
  }

  #seeFarPairs(farPairs: Numbered): void {
    const { ids, flags } = this.#tokens;
    const limit = this.#limit;
    /** The last content words of the source. */
    const last: number[] = [limit, limit, limit, limit];
    let at = 0;
    for (let i = 0; i < ids.length; i++) {
      if (((flags[i] as number) & CONTENT) === 0) continue;
      const id = ids[i] as number;
      if (id < limit)
        for (let j = 0; j < FAR; j++) {
          const other = last[j] as number;
          if (other < limit) farPairs.see(toFarPair(other, id));
        }
      last[at] = id;
      at = (at + 1) % FAR;
    }
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
    const numbers = new Set(ids.filter((_, i) => ((flags[i] as number) & NUMBER) !== 0));
    const passageIds = new Set(this.#tokens.ids.slice(first, end));
    let newNumbers = 0;
    for (const id of numbers) if (!passageIds.has(id)) newNumbers++;
    return {
      words,
      newNumbers,
      opposites: this.#opposites.count(sentence, passageIds),
      ...this.#compare(content, first, end),
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

  #compare(content: readonly number[], first: number, end: number) {
    const { ids, flags } = this.#tokens;
    const passage: number[] = [];
    const has = ++this.#round;
    let isNegated = false;
    for (let i = first; i < end; i++) {
      const id = ids[i] as number;
      if (id < this.#limit) this.#mark[id] = has;
      if (((flags[i] as number) & CONTENT) !== 0) passage.push(id);
      if (((flags[i] as number) & NEGATION) !== 0) isNegated = true;
    }
    const counted = new Set(content);
    let supported = 0;
    for (const id of counted) if (this.#mark[id] === has || this.#prompt[id] === 1) supported++;
    const ordered = content.length === 0 ? 1 : commonLength(content, passage) / content.length;
    return { supported, ordered, isNegated };
  }

  /** Marks the parts of four letters that the words of the answer share with words of the sources. */
  #collectParts(end: number): void {
    const wanted = new Set<number>();
    for (let id = 0; id < this.#limit; id++) {
      if (this.has(id)) continue;
      const stem = this.#stems[id] as string;
      for (let i = 0; i + 4 <= stem.length; i++) wanted.add(partAt(stem, i));
    }
    if (wanted.size === 0) return;
    for (let id = 0; id < end; id++) {
      if (id < this.#limit && !this.has(id)) continue;
      const stem = this.#stems[id] as string;
      for (let i = 0; i + 4 <= stem.length; i++) {
        const part = partAt(stem, i);
        if (wanted.has(part)) this.#knownParts.add(part);
      }
    }
  }
}

/** A number for the four letters at a place. */
const partAt = (stem: string, at: number): number => {
  let hash = 0;
  for (let i = at; i < at + 4; i++) hash = (Math.imul(hash, 16_777_619) ^ stem.charCodeAt(i)) & 0x3fffffff;
  return hash;
};

const toFarPair = (left: number, right: number): number =>
  left < right ? left * ID_SPAN + right : right * ID_SPAN + left;

/** Length of the longest common subsequence. */
function commonLength(left: readonly number[], right: readonly number[]): number {
  let row = new Uint16Array(right.length + 1);
  let next = new Uint16Array(right.length + 1);
  for (const id of left) {
    for (let j = 1; j <= right.length; j++)
      next[j] =
        id === right[j - 1] ? (row[j - 1] as number) + 1 : Math.max(row[j] as number, next[j - 1] as number);
    [row, next] = [next, row];
  }
  return row[right.length] as number;
}
