import type { ResolvedLimits } from './options.ts';
import type { ShadowSkip } from './types.ts';

/**
 * Maximum number of abandoned but still running candidates, per allowed concurrent run. They hold memory and perhaps
 * connections, so hanging candidates must not pile up.
 */
const STUCK_PER_SLOT = 4;

/** Decides whether another run may start, by concurrency, hanging runs and budget. */
export class ShadowAdmission {
  readonly #limits: ResolvedLimits;
  #underWay = 0;
  #stuck = 0;
  #windowEnd = Number.NEGATIVE_INFINITY;
  #spentUsd = 0;
  /** The largest cost seen in this window, assumed for each run in progress. */
  #largestUsd: number | undefined;

  constructor(limits: ResolvedLimits) {
    this.#limits = limits;
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

  /** Reserves a slot for a run, or returns why there is none. */
  enter(): Extract<ShadowSkip, 'concurrency' | 'budget' | 'stuck'> | undefined {
    const { maxConcurrency, budgetUsd } = this.#limits;
    if (this.#underWay >= maxConcurrency) return 'concurrency';
    if (this.#stuck >= STUCK_PER_SLOT * maxConcurrency) return 'stuck';
    this.#turnWindow();
    // Include runs in progress, or a burst would exceed the budget.
    if (this.#spentUsd + (this.#underWay + 1) * this.#expectedUsd > budgetUsd) return 'budget';
    this.#underWay += 1;
    return undefined;
  }

  /**
   * Releases the slot.
   * @param costUsd the run's cost; if unknown, the expected cost is charged.
   */
  leave(costUsd: number | undefined): void {
    this.#underWay -= 1;
    this.#turnWindow();
    this.#spentUsd += costUsd ?? this.#expectedUsd;
    if (costUsd !== undefined) this.#largestUsd = Math.max(this.#largestUsd ?? 0, costUsd);
  }

  /** Marks a run as abandoned but still running; call the returned function when it ends. */
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
    const now = performance.now();
    if (now < this.#windowEnd) return;
    this.#windowEnd = now + this.#limits.budgetWindowMs;
    this.#spentUsd = 0;
    this.#largestUsd = undefined;
  }
}
