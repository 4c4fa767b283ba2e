import { type Context, TraceFlags } from '@opentelemetry/api';
import type { ReadableSpan, Span, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace';

/** More than the SDK's batches hold by default. Spans they drop when full are not kept here forever. */
const MAX_UNSENT = 4096;

/** The SDK's batch processor for one exporter, plus a record of the spans the exporter has not confirmed. */
export class ExportQueue implements SpanProcessor {
  readonly exporter: SpanExporter;
  readonly #unsent = new Set<ReadableSpan>();
  readonly #batches: SpanProcessor;

  constructor(exporter: SpanExporter, createBatches: (exporter: SpanExporter) => SpanProcessor) {
    this.exporter = exporter;
    this.#batches = createBatches({
      export: (spans, done) =>
        exporter.export(spans, (result) => {
          for (const span of spans) this.#unsent.delete(span);
          done(result);
        }),
      forceFlush: async () => exporter.forceFlush?.(),
      shutdown: () => exporter.shutdown(),
    });
  }

  onStart(span: Span, parent: Context): void {
    this.#batches.onStart(span, parent);
  }

  onEnd(span: ReadableSpan): void {
    if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) !== 0) {
      this.#unsent.add(span);
      if (this.#unsent.size > MAX_UNSENT) {
        for (const oldest of this.#unsent) {
          this.#unsent.delete(oldest);
          break;
        }
      }
    }
    this.#batches.onEnd(span);
  }

  /** Removes and returns the unsent spans. */
  takeUnsent(): ReadableSpan[] {
    const spans = [...this.#unsent];
    this.#unsent.clear();
    return spans;
  }

  forceFlush(): Promise<void> {
    return this.#batches.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.#batches.shutdown();
  }
}
