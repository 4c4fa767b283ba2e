import type { ToolChainEntry } from './result.ts';

/** How one tool fared over a run. Times in seconds. */
export interface ToolPerformance {
  readonly toolName: string;
  readonly calls: number;
  readonly failures: number;
  readonly retries: number;
  readonly cacheHits: number;
  readonly totalTime: number;
  readonly meanTime: number;
  readonly maxTime: number;
}

/** The figures of each tool, slowest tool first. A cache hit counts as a call that took no time. */
export function toolPerformance(chain: readonly ToolChainEntry[]): ToolPerformance[] {
  const byTool = new Map<string, ToolChainEntry[]>(chain.map(({ toolName }) => [toolName, []]));
  for (const entry of chain) byTool.get(entry.toolName)?.push(entry);
  return [...byTool]
    .map(([toolName, entries]) => {
      const count = (counts: (entry: ToolChainEntry) => boolean): number => entries.filter(counts).length;
      const times = entries.map(({ executionTime }) => executionTime);
      const totalTime = times.reduce((sum, time) => sum + time, 0);
      return {
        toolName,
        calls: entries.length,
        failures: count(({ success }) => !success),
        retries: count(({ retryAttempt }) => retryAttempt > 0),
        cacheHits: count(({ cached }) => cached),
        totalTime,
        meanTime: totalTime / entries.length,
        maxTime: times.reduce((most, time) => Math.max(most, time), 0),
      };
    })
    .sort((left, right) => right.totalTime - left.totalTime);
}
