/** A secret in a text. */
export interface Find {
  readonly start: number;
  readonly end: number;
  /** What it is, in lower-case words. */
  readonly kind: string;
  /** Secrets behind it that the same word announces, in order. */
  readonly also?: readonly Find[];
}

/** Which values the finders have read, so that no stretch of a text is read again from each word in it. */
export class Reading {
  #valueTo = 0;
  #nested = 0;

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
export function pickFind(finds: readonly Find[]): Find | undefined {
  const [first, ...also] = finds;
  return first === undefined || also.length === 0 ? first : { ...first, also };
}
