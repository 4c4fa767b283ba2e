/** Spans handled by a `DurableSpanProcessor` since it was made. */
export interface DurableStats {
  /** Sampled spans that ended. */
  readonly received: number;
  /** Taken by the exporter. */
  readonly exported: number;
  /** Never to be taken by the back end for what they are; with a spool, kept in its `refused.jsonl`. */
  readonly refused: number;
  /** Lost: no room in memory, given up at shutdown, ended after it, or dropped from the spool by its bounds. */
  readonly dropped: number;
  /** Put on disk so far; spans of earlier processes not counted. */
  readonly spooled: number;
  /** Taken by the exporter from the disk, spans of earlier processes included. */
  readonly drained: number;
  /** In memory now, waiting or being exported. */
  readonly waiting: number;
  /** Size of the spool on disk, in bytes. */
  readonly spoolBytes: number;
  /** Bytes found on disk that were no spans: torn by a crash, or damaged. */
  readonly damagedBytes: number;
  /** Exports that failed. */
  readonly failedExports: number;
  /** Whether the last export failed because the back end was out of order. */
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
