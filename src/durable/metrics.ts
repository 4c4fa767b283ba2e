import type { BatchObservableCallback, MeterProvider } from '@opentelemetry/api';
import { VERSION } from '../version.ts';
import type { DurableStats } from './stats.ts';

/**
 * Metrics of a processor, read when they are collected: the counter `observatory.spans` by `observatory.outcome`
 * (`exported`, `refused`, `dropped`, `spooled`, `drained`), and the gauges `observatory.spans.waiting` in spans and
 * `observatory.spool.size` in bytes.
 *
 * @returns a function that ends them.
 */
export function observe(meterProvider: MeterProvider, stats: () => DurableStats): () => void {
  const meter = meterProvider.getMeter('mcp-observatory', VERSION);
  const spans = meter.createObservableCounter('observatory.spans', {
    unit: '{span}',
    description: 'Spans by what became of them',
  });
  const waiting = meter.createObservableGauge('observatory.spans.waiting', {
    unit: '{span}',
    description: 'Spans in memory, waiting or being exported',
  });
  const spool = meter.createObservableGauge('observatory.spool.size', {
    unit: 'By',
    description: 'Size of the spans on disk',
  });
  const callback: BatchObservableCallback = (result) => {
    const now = stats();
    for (const outcome of ['exported', 'refused', 'dropped', 'spooled', 'drained'] as const) {
      result.observe(spans, now[outcome], { 'observatory.outcome': outcome });
    }
    result.observe(waiting, now.waiting);
    result.observe(spool, now.spoolBytes);
  };
  meter.addBatchObservableCallback(callback, [spans, waiting, spool]);
  return () => meter.removeBatchObservableCallback(callback, [spans, waiting, spool]);
}
