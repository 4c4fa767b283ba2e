/** Middle and spread of readings, as every table of a bench prints them. */

export function median(list: readonly number[]): number {
  return quantile(list, 0.5);
}

export function quantile(list: readonly number[], share: number): number {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** `12.3 (11.0-14.2)`: the median and the quartiles. */
export function distribution(list: readonly number[], digits = 1): string {
  const [low, middle, high] = [0.25, 0.5, 0.75].map((share) => quantile(list, share).toFixed(digits));
  return `${middle} (${low}-${high})`;
}
