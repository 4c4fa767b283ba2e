import type { Context } from '@opentelemetry/api';
import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace';
import { acceptLateWork, lateCharacters } from '../interaction/index.ts';
import type { ObservatorySpanProcessor } from './span-processor.ts';
import { WaitingSpans } from './waiting-spans.ts';

const MAX_SPANS = 8_192;
const MAX_CHARACTERS = 67_108_864;
const BATCH = 256;

/**
 * Enriches spans after the calls they are of, before `next` sees them: for a pipeline in which nobody else reads spans as
 * they end. What ends a span keeps the texts of its call, because the application may change its messages right after;
 * reading them, hashes, scores, prices and redaction follow in batches, in the order in which spans ended.
 */
export class DeferredEnrichment implements SpanProcessor {
  readonly #enricher: ObservatorySpanProcessor;
  readonly #next: readonly SpanProcessor[];
  readonly #waiting: WaitingSpans;

  constructor(enricher: ObservatorySpanProcessor, next: readonly SpanProcessor[]) {
    this.#enricher = enricher;
    this.#next = next;
    this.#waiting = new WaitingSpans(enricher, {
      maxSpans: MAX_SPANS,
      maxCharacters: MAX_CHARACTERS,
      batch: BATCH,
      isBounded: false,
      done: (span) => {
        for (const processor of next) processor.onEnd(span);
      },
    });
  }

  onStart(span: Span, parentContext: Context): void {
    acceptLateWork(span);
    this.#enricher.begin(span, parentContext);
  }

  onEnd(span: ReadableSpan): void {
    this.#waiting.add(span, lateCharacters(span) + this.#enricher.keepForLater(span));
  }

  /** Resolves when all spans that have ended are enriched and handed on. */
  settle(): Promise<void> {
    return this.#waiting.settle();
  }

  /** As {@link settle}, at once: for a process without an event loop. */
  settleNow(): void {
    this.#waiting.settleNow();
  }

  async forceFlush(): Promise<void> {
    await this.settle();
    await Promise.all(this.#next.map((processor) => processor.forceFlush()));
  }

  async shutdown(): Promise<void> {
    await this.settle();
    await Promise.all(this.#next.map((processor) => processor.shutdown()));
  }
}
