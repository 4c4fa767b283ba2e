/** Budgets and rate limits of calls. They count allowed calls only, and are checked last. */
import type { BudgetDocument } from './policy-file.ts';
import type { ReasonCode } from './reasons/index.ts';

const MINUTE_MS = 60_000;
/** Most runs whose calls are counted; the oldest is dropped first. */
const MAX_RUNS = 10_000;

/** Calls in a sliding minute: a ring of the last `limit` times, so a check is one comparison. */
class MinuteWindow {
  readonly #times: Float64Array;
  #next = 0;

  constructor(limit: number) {
    this.#times = new Float64Array(Math.max(limit, 1)).fill(Number.NEGATIVE_INFINITY);
  }

  /** The window under another limit: the calls of the last minute still count. */
  resized(limit: number): MinuteWindow {
    if (Math.max(limit, 1) === this.#times.length) return this;
    const window = new MinuteWindow(limit);
    for (let i = 0; i < this.#times.length; i += 1) {
      window.add(this.#times[(this.#next + i) % this.#times.length] as number);
    }
    return window;
  }

  isFull(now: number): boolean {
    return now - (this.#times[this.#next] ?? 0) < MINUTE_MS;
  }

  add(now: number): void {
    this.#times[this.#next] = now;
    this.#next = (this.#next + 1) % this.#times.length;
  }
}

export class Budgets {
  #limits: BudgetDocument = {};
  readonly #byRun = new Map<string, number>();
  readonly #byTool = new Map<string, MinuteWindow>();
  #all: MinuteWindow | undefined;

  /** Sets the limits from now on. What was used before counts against them. */
  setLimits(limits: BudgetDocument = {}): void {
    if (limits === this.#limits) return;
    this.#limits = limits;
    const { calls_per_minute: perMinute, calls_per_minute_per_tool: perTool } = limits;
    this.#all =
      perMinute === undefined ? undefined : (this.#all?.resized(perMinute) ?? new MinuteWindow(perMinute));
    if (perTool === undefined) this.#byTool.clear();
    else for (const [tool, window] of this.#byTool) this.#byTool.set(tool, window.resized(perTool));
  }

  /** Takes one call from every budget, or from none. @returns why not, or undefined. */
  take(run: string, server: string, tool: string): { reasonCode: ReasonCode; message: string } | undefined {
    const {
      calls_per_run: perRun,
      calls_per_minute: perMinute,
      calls_per_minute_per_tool: perTool,
    } = this.#limits;
    const now = performance.now();
    const used = this.#byRun.get(run) ?? 0;
    if (perRun !== undefined && used >= perRun) {
      return { reasonCode: 'budget_exceeded', message: `The run has made its ${perRun} calls` };
    }
    if (perMinute === 0 || this.#all?.isFull(now) === true) {
      return { reasonCode: 'rate_limited', message: `${perMinute} calls were made in the last minute` };
    }
    const window = perTool === undefined ? undefined : this.#findWindow(`${server}\0${tool}`, perTool);
    if (perTool === 0 || window?.isFull(now) === true) {
      return {
        reasonCode: 'rate_limited',
        message: `${perTool} calls of ${tool} were made in the last minute`,
      };
    }
    this.#count(run, used + 1);
    this.#all?.add(now);
    window?.add(now);
    return undefined;
  }

  #count(run: string, used: number): void {
    if (!this.#byRun.has(run) && this.#byRun.size >= MAX_RUNS) {
      const oldest = this.#byRun.keys().next();
      if (oldest.done !== true) this.#byRun.delete(oldest.value);
    }
    this.#byRun.set(run, used);
  }

  #findWindow(key: string, limit: number): MinuteWindow {
    let window = this.#byTool.get(key);
    if (window === undefined) {
      window = new MinuteWindow(limit);
      this.#byTool.set(key, window);
    }
    return window;
  }
}
