import { formatPlural } from '../../../base/index.ts';
import type { ModelStep, Outcome, ToolStep, Totals } from './story.ts';

/** Formatting of numbers and names, for the terminal and the page. */

/** `850 ms`, `3.2 s`, `2 min 5 s`. */
export function durationWords(ms: number | undefined): string {
  if (ms === undefined) return 'unknown';
  if (ms < 1000) return `${ms < 10 && ms > 0 ? ms.toFixed(1) : Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** `$0.0021`; two significant digits below a cent. */
export function costWords(usd: number | undefined): string {
  if (usd === undefined) return 'cost unknown';
  if (usd === 0) return '$0';
  return usd < 0.01 ? `$${Number(usd.toPrecision(2))}` : `$${usd.toFixed(2)}`;
}

/** `12,345`. */
export function countWords(count: number): string {
  return count.toLocaleString('en-US');
}

/** `432 in, 111 out`; empty if the provider reported nothing. */
export function tokenWords(input: number | undefined, output: number | undefined): string {
  const parts = [
    ...(input === undefined ? [] : [`${countWords(input)} in`]),
    ...(output === undefined ? [] : [`${countWords(output)} out`]),
  ];
  return parts.join(', ');
}

export function outcomeWords({ success, stopReason }: Outcome): string {
  if (success === undefined) return 'not kept';
  return spaced(stopReason ?? (success ? 'completed' : 'failed'));
}

/** Input and output tokens together; undefined if the provider reported nothing. */
export function totalTokens({ promptTokens, completionTokens }: Totals): number | undefined {
  if (promptTokens === undefined && completionTokens === undefined) return undefined;
  return (promptTokens ?? 0) + (completionTokens ?? 0);
}

/** Figures of a step, empty where there is nothing to say. */
export function stepFigures(step: ModelStep | ToolStep): string[] {
  const duration = step.ms === undefined ? '' : durationWords(step.ms);
  if (step.kind === 'tool') {
    return [step.retry === 0 ? '' : `retry ${step.retry}`, step.cached ? 'from the cache' : '', duration];
  }
  const { usage, costUsd } = step;
  return [
    usage === undefined ? '' : `${tokenWords(usage.inputTokens, usage.outputTokens)} tokens`,
    costUsd === undefined ? '' : costWords(costUsd),
    duration,
  ];
}

/** Which model call of the run a step is. */
export function turnWords({ turn, attempt }: ModelStep): string {
  return `turn ${turn}${attempt === 1 ? '' : `, try ${attempt}`}`;
}

/** Relative time: `3 days ago`, `in 2 hours`. */
export function ageWords(iso: string, now: Date): string {
  const minutes = Math.round((now.getTime() - Date.parse(iso)) / 60_000);
  const size = Math.abs(minutes);
  const [count, unit] =
    size < 60
      ? [size, 'minute']
      : size < 48 * 60
        ? [Math.round(size / 60), 'hour']
        : [Math.round(size / 1440), 'day'];
  return minutes >= 0 ? `${formatPlural(count, unit)} ago` : `in ${formatPlural(count, unit)}`;
}

export function spaced(word: string): string {
  return word.replaceAll('_', ' ');
}

/** A value as JSON on one line; strings that are not JSON are unchanged. */
export function inlineJson(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
