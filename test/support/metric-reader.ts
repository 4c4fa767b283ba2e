import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';

/** One data point: a sum's or gauge's value, or a histogram's count and sum. */
export interface Point {
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly value: number;
  readonly count: number;
}

/** A real meter provider of the SDK, and what it would export. */
export class MetricReader implements AsyncDisposable {
  readonly #exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  readonly #reader = new PeriodicExportingMetricReader({
    exporter: this.#exporter,
    exportIntervalMillis: 3_600_000,
  });
  readonly provider = new MeterProvider({ readers: [this.#reader] });

  /** All points of a metric, as they are now. */
  async points(name: string): Promise<readonly Point[]> {
    this.#exporter.reset();
    await this.#reader.forceFlush();
    return this.#exporter
      .getMetrics()
      .flatMap(({ scopeMetrics }) => scopeMetrics)
      .flatMap(({ metrics }) => metrics)
      .filter(({ descriptor }) => descriptor.name === name)
      .flatMap(({ dataPoints }) => dataPoints as { attributes: Point['attributes']; value: unknown }[])
      .map(({ attributes, value }) => {
        if (typeof value === 'number') return { attributes, value, count: 1 };
        const { sum = 0, count } = value as { sum?: number; count: number };
        return { attributes, value: sum, count };
      });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.provider.shutdown();
  }
}
