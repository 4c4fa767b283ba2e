/** Spans handled by a `DurableSpanProcessor` since its creation. */
export interface DurableStats {
  /** Sampled spans that ended. */
  readonly received: number;
  /** Exported. */
  readonly exported: number;
  /** Refused by the back end for good; with a spool, kept in its `refused.jsonl`. */
  readonly refused: number;
  /** Lost: memory full, dropped at shutdown, ended after it, or dropped by the limits of the spool. */
  readonly dropped: number;
  /** Spooled so far, without spans of earlier processes. */
  readonly spooled: number;
  /** Exported from disk, including spans of earlier processes. */
  readonly drained: number;
  /** In memory, waiting or being exported. */
  readonly waiting: number;
  /** Size of the spool on disk, in bytes. */
  readonly spoolBytes: number;
  /** Unreadable bytes found on disk: torn by a crash or damaged. */
  readonly damagedBytes: number;
  /** Failed exports. */
  readonly failedExports: number;
  /** Whether the last export failed because the back end was unavailable. */
  readonly isBackEndDown: boolean;
}

/** The counters behind {@link DurableStats}. */
export interface Counters {
  received: number;
  exported: number;
  refused: number;
  dropped: number;
  spooled: number;
  drained: number;
  waiting: number;
  failedExports: number;
}

export function newCounters(): Counters {
  return {
    received: 0,
    exported: 0,
    refused: 0,
    dropped: 0,
    spooled: 0,
    drained: 0,
    waiting: 0,
    failedExports: 0,
  };
}
