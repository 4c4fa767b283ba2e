import type { BatchObservableCallback, Counter, Histogram, MeterProvider } from '@opentelemetry/api';
import { VERSION } from '../base/index.ts';
import type { Answered, RequestAdmission } from './receiver/index.ts';

/** Bucket bounds in seconds; answers take milliseconds, or a timeout. */
const BOUNDARIES = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/**
 * Metrics of the collector itself, beside those of its writer (`observatory.spans` and so on): the counter
 * `observatory.collector.requests` and the histogram `observatory.collector.request.duration` by
 * `observatory.transport` and `observatory.outcome`, the counter `observatory.collector.ignored` by
 * `observatory.signal`, the counter `observatory.collector.ahead`, and the gauges `observatory.collector.requests.active` and
 * `observatory.collector.memory`, the bytes held by requests in progress.
 */
export class CollectorMetrics {
  readonly #requests: Counter;
  readonly #duration: Histogram;
  readonly #ignored: Counter;
  readonly #ahead: Counter;
  /** Removes the gauges. */
  readonly end: () => void;

  constructor(meterProvider: MeterProvider, admission: RequestAdmission) {
    const meter = meterProvider.getMeter('mcp-observatory', VERSION);
    this.#requests = meter.createCounter('observatory.collector.requests', {
      unit: '{request}',
      description: 'Requests by outcome',
    });
    this.#duration = meter.createHistogram('observatory.collector.request.duration', {
      unit: 's',
      description: 'Time from the first byte of a request to its answer',
      advice: { explicitBucketBoundaries: BOUNDARIES },
    });
    this.#ignored = meter.createCounter('observatory.collector.ignored', {
      unit: '{item}',
      description:
        'Log records that are no event of a known agent, spans that repeat its events, and requests of metrics: none is stored',
    });
    this.#ahead = meter.createCounter('observatory.collector.ahead', {
      unit: '{span}',
      description: 'Stored spans that start more than a day ahead of the clock of the collector',
    });
    const active = meter.createObservableGauge('observatory.collector.requests.active', {
      unit: '{request}',
      description: 'Requests in progress',
    });
    const memory = meter.createObservableGauge('observatory.collector.memory', {
      unit: 'By',
      description: 'Bytes held by requests in progress',
    });
    const callback: BatchObservableCallback = (result) => {
      result.observe(active, admission.requests);
      result.observe(memory, admission.bytes);
    };
    meter.addBatchObservableCallback(callback, [active, memory]);
    this.end = () => meter.removeBatchObservableCallback(callback, [active, memory]);
  }

  ignored(signal: string, count: number): void {
    this.#ignored.add(count, { 'observatory.signal': signal });
  }

  ahead(count: number): void {
    this.#ahead.add(count);
  }

  answered({ transport, outcome, seconds }: Answered): void {
    const attributes = { 'observatory.transport': transport, 'observatory.outcome': outcome };
    this.#requests.add(1, attributes);
    this.#duration.record(seconds, attributes);
  }
}
