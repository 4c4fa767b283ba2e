/** An OpenTelemetry SDK in the test's own process, with access to what it recorded. */

import { setTimeout as sleep } from 'node:timers/promises';
import { context, metrics, propagation, trace } from '@opentelemetry/api';
import {
  AggregationTemporality,
  type HistogramMetricData,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-node';

export interface MetricPoint {
  readonly metric: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly count: number;
  readonly sum: number;
  readonly boundaries: readonly number[];
}

export class Telemetry implements AsyncDisposable {
  static readonly TEMPORALITY: AggregationTemporality = AggregationTemporality.DELTA;
  readonly spanExporter = new InMemorySpanExporter();
  readonly tracerProvider: NodeTracerProvider;
  readonly meterProvider: MeterProvider;
  protected readonly metricExporter: InMemoryMetricExporter;

  /** Registers itself globally; `processors` come before the exporter. */
  constructor(...processors: SpanProcessor[]) {
    this.tracerProvider = new NodeTracerProvider({
      spanProcessors: [...processors, new SimpleSpanProcessor(this.spanExporter)],
    });
    this.tracerProvider.register();
    this.metricExporter = new InMemoryMetricExporter(new.target.TEMPORALITY);
    const reader = new PeriodicExportingMetricReader({
      exporter: this.metricExporter,
      exportIntervalMillis: 3_600_000,
    });
    this.meterProvider = new MeterProvider({ readers: [reader] });
    metrics.setGlobalMeterProvider(this.meterProvider);
  }

  get spans(): ReadableSpan[] {
    return this.spanExporter.getFinishedSpans();
  }

  /** The one span there is; anything else is a failure. */
  get only(): ReadableSpan {
    const [span, ...more] = this.spans;
    if (span === undefined || more.length > 0) {
      throw new Error(
        `Expected one span, got ${this.spans.length}: ${this.spans.map((s) => s.name).join(', ')}`,
      );
    }
    return span;
  }

  /** Waits for a number of finished spans. */
  async until(count: number, deadlineMs = 30_000): Promise<void> {
    const end = Date.now() + deadlineMs;
    while (this.spans.length < count) {
      if (Date.now() > end) throw new Error(`Expected ${count} spans, got ${this.spans.length}`);
      await sleep(5);
    }
  }

  async points(): Promise<MetricPoint[]> {
    this.metricExporter.reset();
    await this.meterProvider.forceFlush();
    return this.metricExporter
      .getMetrics()
      .flatMap((resource) => resource.scopeMetrics)
      .flatMap((scope) => scope.metrics)
      .flatMap((metric) =>
        (metric as HistogramMetricData).dataPoints.map(({ attributes, value }) => ({
          metric: metric.descriptor.name,
          attributes,
          count: value.count,
          sum: value.sum ?? 0,
          boundaries: value.buckets.boundaries,
        })),
      );
  }

  reset(): void {
    this.spanExporter.reset();
    this.metricExporter.reset();
  }

  async shutdown(): Promise<void> {
    await this.tracerProvider.shutdown();
    await this.meterProvider.shutdown();
    trace.disable();
    context.disable();
    propagation.disable();
    metrics.disable();
  }
  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown();
  }
}
