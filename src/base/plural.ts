/** `1 call`, `12,345 calls`. @param shown the count as it is written. */
export function formatPlural(count: number, word: string, shown = count.toLocaleString('en-US')): string {
  return `${shown} ${inflect(count, word)}`;
}

/** The word alone, as its count wants it. */
export function inflect(count: number, word: string): string {
  return count === 1 ? word : `${word}s`;
}
