import type { BatchObservableCallback, MeterProvider } from '@opentelemetry/api';
import { VERSION } from '../base/index.ts';

/** Spans handled by a `DurableSpanProcessor` or `DurableSpanWriter` since its creation. */
export interface DurableStats {
  /** Sampled spans that ended. */
  readonly received: number;
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
  /** Unreadable bytes found on disk and moved to `unreadable`: torn by a crash, damaged, or of a newer form. */
  readonly damagedBytes: number;
  readonly failedExports: number;
  /** Whether the last export failed because the back end was unavailable. */
  readonly isBackEndDown: boolean;
}

const COUNTED = [
  'received',
  'exported',
  'refused',
  'dropped',
  'spooled',
  'drained',
  'waiting',
  'failedExports',
] as const;

/** The counters behind {@link DurableStats}. */
export type Counters = Record<(typeof COUNTED)[number], number>;

export function newCounters(): Counters {
  return Object.fromEntries(COUNTED.map((name) => [name, 0])) as Counters;
}

/**
 * Metrics of a processor, read when they are collected: the counter `observatory.spans` by `observatory.outcome`
 * (`exported`, `refused`, `dropped`, `spooled`, `drained`), the gauges `observatory.spans.waiting` in spans and
 * `observatory.spool.size` in bytes; and for health the counters `observatory.exporter.failures` (exports that failed)
 * and `observatory.spool.damaged` (unreadable bytes on disk), and the gauge `observatory.exporter.up`, 0 while the back
 * end is unavailable.
 *
 * @returns a function that ends them.
 */
export function observe(meterProvider: MeterProvider, stats: () => DurableStats): () => void {
  const meter = meterProvider.getMeter('mcp-observatory', VERSION);
  const spans = meter.createObservableCounter('observatory.spans', {
    unit: '{span}',
    description: 'Spans by outcome',
  });
  const waiting = meter.createObservableGauge('observatory.spans.waiting', {
    unit: '{span}',
    description: 'Spans in memory, waiting or being exported',
  });
  const spool = meter.createObservableGauge('observatory.spool.size', {
    unit: 'By',
    description: 'Size of the spool on disk',
  });
  const failures = meter.createObservableCounter('observatory.exporter.failures', {
    unit: '{export}',
    description: 'Failed exports; their spans are retried or spooled',
  });
  const up = meter.createObservableGauge('observatory.exporter.up', {
    unit: '1',
    description: '1 while the back end accepts spans, 0 after an export failed because it was unavailable',
  });
  const damaged = meter.createObservableCounter('observatory.spool.damaged', {
    unit: 'By',
    description: 'Unreadable bytes found on disk',
  });
  const all = [spans, waiting, spool, failures, up, damaged];
  const callback: BatchObservableCallback = (result) => {
    const now = stats();
    for (const outcome of ['exported', 'refused', 'dropped', 'spooled', 'drained'] as const) {
      result.observe(spans, now[outcome], { 'observatory.outcome': outcome });
    }
    result.observe(waiting, now.waiting);
    result.observe(spool, now.spoolBytes);
    result.observe(failures, now.failedExports);
    result.observe(up, now.isBackEndDown ? 0 : 1);
    result.observe(damaged, now.damagedBytes);
  };
  meter.addBatchObservableCallback(callback, all);
  return () => meter.removeBatchObservableCallback(callback, all);
}
