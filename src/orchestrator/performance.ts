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

interface Figures {
  calls: number;
  failures: number;
  retries: number;
  cacheHits: number;
  totalTime: number;
  maxTime: number;
}

/** Adds up figures per tool. A cache hit counts as a call that took no time. */
export class PerformanceLog {
  readonly #figures = new Map<string, Figures>();

  record(
    toolName: string,
    call: {
      readonly success: boolean;
      readonly executionTime: number;
      readonly retry: boolean;
      readonly cached: boolean;
    },
  ): void {
    const figures = this.#figures.get(toolName) ?? {
      calls: 0,
      failures: 0,
      retries: 0,
      cacheHits: 0,
      totalTime: 0,
      maxTime: 0,
    };
    this.#figures.set(toolName, figures);
    figures.calls += 1;
    if (!call.success) figures.failures += 1;
    if (call.retry) figures.retries += 1;
    if (call.cached) figures.cacheHits += 1;
    figures.totalTime += call.executionTime;
    figures.maxTime = Math.max(figures.maxTime, call.executionTime);
  }

  /** The figures, slowest tool first. */
  toList(): ToolPerformance[] {
    return [...this.#figures]
      .map(([toolName, figures]) => ({ toolName, ...figures, meanTime: figures.totalTime / figures.calls }))
      .sort((left, right) => right.totalTime - left.totalTime);
  }
}
