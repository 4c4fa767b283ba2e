/** A secret in a text. */
export interface Find {
  readonly start: number;
  readonly end: number;
  /** What it is, in lower-case words. */
  readonly kind: string;
  /** Secrets behind it that the same word announces, in order. */
  readonly also?: readonly Find[];
}

/** Looks for the secret that a word at `at` announces. Its work is bounded, or ends with what it finds. */
export type Finder = (text: string, at: number) => Find | undefined;

/** Several secrets as one find. */
export function findOf(finds: readonly Find[]): Find | undefined {
  const [first, ...also] = finds;
  return first === undefined || also.length === 0 ? first : { ...first, also };
}
