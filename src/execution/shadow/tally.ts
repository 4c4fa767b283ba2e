import type { ShadowOutcome, ShadowSkip, ShadowStats } from './types.ts';

/** The counters behind `ShadowStats`. */
export class ShadowTally {
  calls = 0;
  unsampled = 0;
  started = 0;
  faults = 0;
  readonly skipped: Record<ShadowSkip, number> = {
    concurrency: 0,
    budget: 0,
    stuck: 0,
    nested: 0,
    shut_down: 0,
  };
  readonly outcomes: Record<ShadowOutcome, number> = {
    compared: 0,
    not_comparable: 0,
    candidate_failed: 0,
    primary_failed: 0,
    timed_out: 0,
    primary_pending: 0,
    abandoned: 0,
  };

  /** The current counts. */
  get counts(): Omit<ShadowStats, 'underWay' | 'stuck' | 'spentUsd'> {
    const { calls, unsampled, started, faults } = this;
    return {
      calls,
      unsampled,
      started,
      faults,
      skipped: { ...this.skipped },
      outcomes: { ...this.outcomes },
    };
  }
}
