import type { ResolvedLimits } from './options.ts';
import type { ShadowSkip } from './types.ts';

/**
 * Runs that are over and yet not at their end, for each one that may be under way. They hold memory and perhaps a
 * connection, so that a candidate which hangs must not pile them up.
 */
const STUCK_PER_SLOT = 4;

/** Decides whether one more run may begin: concurrency, what hangs, and the budget. */
export class ShadowAdmission {
  readonly #limits: ResolvedLimits;
  readonly #now: () => number;
  #underWay = 0;
  #stuck = 0;
  #windowEnd = Number.NEGATIVE_INFINITY;
  #spentUsd = 0;
  /** The largest cost seen in this window, which each run under way is expected to have. */
  #largestUsd: number | undefined;

  constructor(limits: ResolvedLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  get underWay(): number {
    return this.#underWay;
  }

  get stuck(): number {
    return this.#stuck;
  }

  get spentUsd(): number {
    this.#turnWindow();
    return this.#spentUsd;
  }

  /** Takes a place for a run, or says why there is none. */
  enter(): Extract<ShadowSkip, 'concurrency' | 'budget' | 'stuck'> | undefined {
    const { maxConcurrency, budgetUsd } = this.#limits;
    if (this.#underWay >= maxConcurrency) return 'concurrency';
    if (this.#stuck >= STUCK_PER_SLOT * maxConcurrency) return 'stuck';
    this.#turnWindow();
    // What is under way will cost something too: without it a burst would overrun the budget.
    if (this.#spentUsd + (this.#underWay + 1) * this.#expectedUsd > budgetUsd) return 'budget';
    this.#underWay += 1;
    return undefined;
  }

  /**
   * Gives the place back.
   * @param costUsd what the run cost; one whose cost is not known is charged what was expected of it.
   */
  leave(costUsd: number | undefined): void {
    this.#underWay -= 1;
    this.#turnWindow();
    this.#spentUsd += costUsd ?? this.#expectedUsd;
    if (costUsd !== undefined) this.#largestUsd = Math.max(this.#largestUsd ?? 0, costUsd);
  }

  /** A run was given up and goes on; call what is returned when it has come to its end. */
  strand(): () => void {
    this.#stuck += 1;
    return () => {
      this.#stuck -= 1;
    };
  }

  get #expectedUsd(): number {
    return this.#largestUsd ?? this.#limits.assumedCostUsd;
  }

  #turnWindow(): void {
    const now = this.#now();
    if (now < this.#windowEnd) return;
    this.#windowEnd = now + this.#limits.budgetWindowMs;
    this.#spentUsd = 0;
    this.#largestUsd = undefined;
  }
}
