/** A secret in a text. */
export interface Find {
  readonly start: number;
  readonly end: number;
  /** What it is, in lower-case words. */
  readonly kind: string;
  /** Secrets behind it that the same word announces, in order. */
  readonly also?: readonly Find[];
}

/** Where a sign last stood before a place. Places asked about in order are read on from the one before. */
class LastSign {
  readonly #sign: string;
  #to = 0;
  #place = -1;

  constructor(sign: string) {
    this.#sign = sign;
  }

  reset(): void {
    this.#to = 0;
    this.#place = -1;
  }

  /** @returns -1 if it does not stand in the `most` characters before `at` */
  before(text: string, at: number, most: number): number {
    const first = Math.max(0, at - most);
    const from = at < this.#to ? first : Math.max(first, this.#to);
    const found = text.slice(from, at).lastIndexOf(this.#sign);
    if (found !== -1 || at < this.#to) this.#place = found === -1 ? -1 : from + found;
    this.#to = at;
    return this.#place >= first ? this.#place : -1;
  }
}

/** What the finders have read of a text, so that no stretch of it is read again from each word in it. */
export class Reading {
  /** Where the text begins within the one that is redacted. */
  #base = 0;
  readonly newline = new LastSign('\n');
  readonly parenthesis = new LastSign('(');
  #tablesTo = 0;
  #header = -1;
  #valueTo = 0;
  #nested = 0;

  /** Goes on with a part of the text. */
  enter(base: number): void {
    this.#base = base;
    this.#valueTo = 0;
    this.#header = -1;
    this.newline.reset();
    this.parenthesis.reset();
  }

  /** Whether a line that begins at `from` may be the header of a table: it is not in one that was read. */
  mayOpenTable(from: number): boolean {
    return this.#base + from >= this.#tablesTo;
  }

  readTable(to: number): void {
    this.#tablesTo = Math.max(this.#tablesTo, this.#base + to);
  }

  /** Whether this is the first time that somebody asks about the line at `from`. */
  isNewLine(from: number): boolean {
    if (this.#header === from) return false;
    this.#header = from;
    return true;
  }

  /** Takes note of a value that is no secret. @returns how many such values it begins in */
  readValue(from: number, to: number): number {
    this.#nested = from < this.#valueTo ? this.#nested + 1 : 0;
    this.#valueTo = Math.max(this.#valueTo, to);
    return this.#nested;
  }
}

/** Looks for the secret that a word at `at` announces. Its work is bounded, or ends with what it finds. */
export type Finder = (text: string, at: number, reading: Reading) => Find | undefined;

/** Several secrets as one find. */
export function findOf(finds: readonly Find[]): Find | undefined {
  const [first, ...also] = finds;
  return first === undefined || also.length === 0 ? first : { ...first, also };
}
