import { formatPlural } from '../base/index.ts';

/** Milliseconds with a unit: `812 ms`, `1.70 s`, `46.6 s`, `4.2 min`, `3.1 h`. */
export function formatDuration(ms: number): string {
  if (ms < 999.5) return `${ms < 10 && ms > 0 ? ms.toFixed(1) : Math.round(ms)} ms`;
  if (ms < 9995) return `${(ms / 1000).toFixed(2)} s`;
  if (ms < 99_950) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 3_600_000) return `${(ms / 60_000).toFixed(1)} min`;
  const hours = ms / 3_600_000;
  return hours < 100 ? `${hours.toFixed(1)} h` : `${formatCount(Math.round(hours / 24))} d`;
}

/** US dollars: `$0.0292` below one, `$12.80` above; what is smaller than a hundredth of a cent says so. */
export function formatUsd(sum: number): string {
  // The same amounts added up in another order differ in their last bits, which must not decide how a half is rounded.
  const usd = Number(sum.toPrecision(12));
  if (usd === 0) return '$0';
  if (usd < 0.0001) return '<$0.0001';
  return `$${usd < 1 ? usd.toFixed(4) : usd.toFixed(2)}`;
}

/** Why a call has no cost, from its `cost_source`: `no price is known for gpt-x`, `not known: tokens`. */
export function formatUnpriced(source: string, model?: string): string {
  const of = model === undefined ? '' : ` for ${model}`;
  const what = /^unpriced: (.+)$/u.exec(source)?.[1];
  return what === undefined ? `no price is known${of}` : `not known${of}: ${what.replaceAll('_', ' ')}`;
}

/** `1 call`, `9,999 calls`. */
export function formatCounted(count: number, word: string): string {
  return formatPlural(count, word, formatCount(count));
}

/** A count: `9,999`, `13.4k`, `148.2M`. */
export function formatCount(count: number): string {
  if (count < 10_000) return Math.round(count).toLocaleString('en-US');
  if (count < 999_950) return `${(count / 1000).toFixed(1)}k`;
  if (count < 999_950_000) return `${(count / 1_000_000).toFixed(1)}M`;
  return `${(count / 1_000_000_000).toFixed(1)}B`;
}
