/** A whole OpenTelemetry SDK in memory, registered for the length of one test. */
import { context, metrics, propagation, trace } from '@opentelemetry/api';
import type { MetricData } from '@opentelemetry/sdk-metrics';
import {
  AggregationTemporality,
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

export class TelemetryBench implements AsyncDisposable {
  readonly spanExporter = new InMemorySpanExporter();
  readonly tracerProvider: NodeTracerProvider;
  readonly meterProvider: MeterProvider;
  readonly #metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  readonly #reader: PeriodicExportingMetricReader;

  /** @param processors Before the one that exports. */
  constructor(processors: readonly SpanProcessor[] = []) {
    this.tracerProvider = new NodeTracerProvider({
      spanProcessors: [...processors, new SimpleSpanProcessor(this.spanExporter)],
    });
    this.tracerProvider.register();
    this.#reader = new PeriodicExportingMetricReader({
      exporter: this.#metricExporter,
      exportIntervalMillis: 3_600_000,
    });
    this.meterProvider = new MeterProvider({ readers: [this.#reader] });
    metrics.setGlobalMeterProvider(this.meterProvider);
  }

  get spans(): readonly ReadableSpan[] {
    return this.spanExporter.getFinishedSpans();
  }

  /** The one finished span of this name and kind. */
  span(name: string, kind?: number): ReadableSpan {
    const found = this.spans.filter(
      (span) => span.name === name && (kind === undefined || span.kind === kind),
    );
    if (found.length !== 1 || found[0] === undefined) {
      throw new Error(
        `Expected one span "${name}", got ${found.length} of: ${this.spans.map((s) => `${s.kind} ${s.name}`).join(', ')}`,
      );
    }
    return found[0];
  }

  async metric(name: string): Promise<MetricData | undefined> {
    await this.#reader.forceFlush();
    const all = this.#metricExporter.getMetrics();
    const last = all[all.length - 1];
    return last?.scopeMetrics
      .flatMap((scope) => scope.metrics)
      .find((metric) => metric.descriptor.name === name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.tracerProvider.shutdown();
    await this.meterProvider.shutdown();
    trace.disable();
    context.disable();
    propagation.disable();
    metrics.disable();
  }
}
