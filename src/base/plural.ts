/** `1 call`, `12,345 calls`. @param shown the count as it is written. */
export function formatPlural(count: number, word: string, shown = count.toLocaleString('en-US')): string {
  return `${shown} ${word}${count === 1 ? '' : 's'}`;
}
