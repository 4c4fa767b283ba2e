/**
 * Reading metrics without an event loop: as the process exits, the SDK's own `collect()`, which is asynchronous, gives
 * nothing any more. Both SDK lines keep the same state; where it is not found, metrics of the last interval are lost.
 */
import { isObject, type JsonObject } from '../json/index.ts';

/** The metrics since the start, or since the last export for back ends with delta temporality. */
export interface CollectedMetrics {
  readonly resource: unknown;
  readonly scopeMetrics: readonly { readonly scope: unknown; readonly metrics: readonly unknown[] }[];
}

/**
 * Collects what a metric reader would export now, without observable instruments, whose callbacks may be asynchronous.
 * @returns undefined if there is nothing, or the reader has another form.
 */
export function collectNow(reader: unknown): CollectedMetrics | undefined {
  const collector = at(reader, '_sdkMetricProducer');
  const state = at(collector, '_sharedState');
  const meters = at(state, 'meterSharedStates');
  if (!(meters instanceof Map)) return undefined;
  const now = Date.now();
  const time = [Math.floor(now / 1000), (now % 1000) * 1_000_000];
  const scopeMetrics = [...meters.values()].flatMap((meter: unknown) => {
    const metrics = storagesOf(meter, collector)
      .map((storage) => storage.collect(collector, time))
      .filter(
        (metric) => isObject(metric) && Array.isArray(metric.dataPoints) && metric.dataPoints.length > 0,
      );
    return metrics.length === 0 ? [] : [{ scope: at(meter, '_instrumentationScope'), metrics }];
  });
  return scopeMetrics.length === 0 ? undefined : { resource: at(state, 'resource'), scopeMetrics };
}

interface Storage {
  collect(collector: unknown, time: readonly number[]): unknown;
}

function storagesOf(meter: unknown, collector: unknown): readonly Storage[] {
  const registry = at(meter, 'metricStorageRegistry') as { getStorages?(of: unknown): unknown } | undefined;
  const storages = registry?.getStorages?.(collector);
  return Array.isArray(storages) ? storages.filter((each) => typeof each?.collect === 'function') : [];
}

function at(value: unknown, key: string): unknown {
  return isObject(value) ? (value as JsonObject)[key] : undefined;
}
