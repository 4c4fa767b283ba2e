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

/** The mean without the lowest and the highest quarter: steadier than the median, and as deaf to outliers. */
export function middleMean(list: readonly number[]): number {
  const sorted = [...list].sort((a, b) => a - b);
  const cut = Math.floor(sorted.length / 4);
  const middle = sorted.slice(cut, sorted.length - cut);
  return middle.reduce((sum, value) => sum + value, 0) / middle.length;
}

/** `12.3 (11.0-14.2)`: the mean of the middle half, and its ends. */
export function around(list: readonly number[], digits = 1): string {
  const [low, high] = [0.25, 0.75].map((share) => quantile(list, share).toFixed(digits));
  return `${middleMean(list).toFixed(digits)} (${low}-${high})`;
}
