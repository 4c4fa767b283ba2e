import { type Context, TraceFlags } from '@opentelemetry/api';
import type { ReadableSpan, Span, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace';

/** More than the SDK's batches hold by default: what they drop for want of room is not kept here for ever. */
const MAX_UNSENT = 4096;

/** The SDK's batches before one exporter, with a memory of the spans the exporter has not answered for. */
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

  /** Hands over what is unsent: from now on that is the caller's to send, or to lose. */
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
