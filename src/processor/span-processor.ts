import type { Context } from '@opentelemetry/api';
import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace';
import { Enricher } from './enricher.ts';
import type { ObservatorySpanProcessorOptions } from './options.ts';
import type { ProcessorStats } from './tally.ts';

/**
 * Enriches GenAI and MCP spans of any instrumentation: governance fields at the start; hashes, scores, tokens and cost
 * at the end, as `observatory.*` attributes (see the field dictionary). Other spans are left alone.
 *
 * Spans are enriched in `onEnding`, so all processors and exporters see the fields, and metrics have them when a call has
 * ended. SDKs before 2.3 have no `onEnding`: there it runs in `onEnd`, visible only to processors registered later, with
 * one warning.
 *
 * Texts of megabytes are read in part, so that no call waits for more than some tens of milliseconds: the attributes
 * `observatory.hashes_sampled` and `observatory.scores_sampled` say which share.
 *
 * A failure leaves the span without the fields; {@link stats} counts it and `diag` logs the reason once.
 */
export class ObservatorySpanProcessor implements SpanProcessor {
  readonly #enricher: Enricher;
  #hasOnEnding = false;

  /** @throws ObservatoryError `INVALID_OPTION` for an option that cannot be used. */
  constructor(options: ObservatorySpanProcessorOptions = {}) {
    this.#enricher = new Enricher(options);
  }

  /** Counters since the processor was created. */
  get stats(): ProcessorStats {
    return this.#enricher.stats;
  }

  onStart(span: Span, parentContext: Context): void {
    this.#enricher.begin(span, parentContext);
  }

  onEnding(span: Span): void {
    this.#hasOnEnding = true;
    this.#enricher.enrichEnding(span);
  }

  onEnd(span: ReadableSpan): void {
    if (!this.#hasOnEnding) this.#enricher.enrichEnded(span);
  }

  /** Resolves at once: no span waits. */
  async forceFlush(): Promise<void> {}

  /** Resolves at once: no span waits. */
  async shutdown(): Promise<void> {}
}
