/** A whole OpenTelemetry SDK in memory, registered for the length of one test. */
import { AggregationTemporality, type MetricData } from '@opentelemetry/sdk-metrics';
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace-node';
import { Telemetry } from './telemetry.ts';

export class TelemetryBench extends Telemetry {
  static override readonly TEMPORALITY = AggregationTemporality.CUMULATIVE;

  /** @param processors Before the one that exports. */
  constructor(processors: readonly SpanProcessor[] = []) {
    super(...processors);
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
    await this.meterProvider.forceFlush();
    const last = this.metricExporter.getMetrics().at(-1);
    return last?.scopeMetrics
      .flatMap((scope) => scope.metrics)
      .find((metric) => metric.descriptor.name === name);
  }
}
