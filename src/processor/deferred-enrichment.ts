import type { Context } from '@opentelemetry/api';
import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace';
import { ownTurn, sliced } from '../base/index.ts';
import { acceptLateWork, identifyLargeTexts, lateCharacters, takeLateWork } from '../interaction/index.ts';
import { writeEnded } from './ended-span.ts';
import type { ObservatorySpanProcessor } from './span-processor.ts';

/** Spans that wait; a program that ends more without awaiting anything enriches the oldest as further ones end. */
const MAX_WAITING = 8_192;
/** Characters of prompts, answers and contexts that are kept for the waiting spans. */
const MAX_CHARACTERS = 67_108_864;
/** Characters that are not kept for longer than a turn of the event loop. */
const MANY_CHARACTERS = 1_048_576;
/** Spans that are worth a turn of their own. */
const BATCH = 256;
/** How long a smaller batch waits, in milliseconds; exports wait longer. */
const DELAY_MS = 50;
/** Work of one turn of the event loop, in milliseconds. */
const SLICE_MS = 8;

/** Takes steps of a millisecond, and turns of the event loop between them. */
async function takeSteps(steps: Iterable<undefined>): Promise<void> {
  const turn = sliced();
  for (const _ of steps) await turn();
  // What follows is a step of its own.
  await ownTurn();
}

interface Waiting {
  readonly span: ReadableSpan;
  readonly characters: number;
}

/**
 * Enriches spans after the calls they are of, before `next` sees them: for a pipeline in which nobody else reads spans as
 * they end. What ends a span keeps the texts of its call, because the application may change its messages right after;
 * reading them, hashes, scores, prices and redaction follow in batches, in the order in which spans ended.
 */
export class DeferredEnrichment implements SpanProcessor {
  readonly #enricher: ObservatorySpanProcessor;
  readonly #next: readonly SpanProcessor[];
  /** A queue that is read from `#first` on, and shortened when it is empty. */
  #waiting: (Waiting | undefined)[] = [];
  #first = 0;
  #characters = 0;
  #timer: NodeJS.Timeout | undefined;
  #work: Promise<void> | undefined;

  constructor(enricher: ObservatorySpanProcessor, next: readonly SpanProcessor[]) {
    this.#enricher = enricher;
    this.#next = next;
  }

  onStart(span: Span, parentContext: Context): void {
    acceptLateWork(span);
    this.#enricher.onStart(span, parentContext);
  }

  onEnd(span: ReadableSpan): void {
    const characters = lateCharacters(span) + this.#enricher.keepForLater(span);
    this.#waiting.push({ span, characters });
    this.#characters += characters;
    while (this.#size > MAX_WAITING || (this.#characters > MAX_CHARACTERS && this.#size > 1)) this.#step();
    if (this.#work !== undefined) return;
    if (this.#size >= BATCH || this.#characters >= MANY_CHARACTERS) this.#begin();
    else this.#timer ??= setTimeout(() => this.#begin(), DELAY_MS).unref();
  }

  /** Resolves when all spans that have ended are enriched and handed on. */
  async settle(): Promise<void> {
    this.#begin();
    await this.#work;
  }

  /** As {@link settle}, at once: for a process without an event loop. */
  settleNow(): void {
    while (this.#size > 0) this.#step();
  }

  async forceFlush(): Promise<void> {
    await this.settle();
    await Promise.all(this.#next.map((processor) => processor.forceFlush()));
  }

  async shutdown(): Promise<void> {
    await this.settle();
    await Promise.all(this.#next.map((processor) => processor.shutdown()));
  }

  get #size(): number {
    return this.#waiting.length - this.#first;
  }

  #begin(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#work ??= this.#all().finally(() => {
      this.#work = undefined;
      if (this.#size > 0) this.#begin();
    });
  }

  async #all(): Promise<void> {
    while (this.#size > 0) {
      await ownTurn();
      const until = performance.now() + SLICE_MS;
      while (this.#size > 0 && performance.now() < until) {
        const span = this.#waiting[this.#first]?.span;
        if (span !== undefined) this.#read(span);
        const steps = span && identifyLargeTexts(span);
        if (steps === undefined) this.#step();
        else {
          await takeSteps(steps);
          // A burst of spans may have taken its turn meanwhile.
          if (this.#waiting[this.#first]?.span === span) this.#step();
          break;
        }
      }
    }
  }

  /** Does what the instrumentation left to do. */
  #read(span: ReadableSpan): void {
    const work = takeLateWork(span);
    if (work === undefined) return;
    writeEnded(span, () => work.write());
    this.#enricher.keepForLater(span);
  }

  /** Enriches the span that has waited longest and hands it on. */
  #step(): void {
    const waiting = this.#waiting[this.#first];
    this.#waiting[this.#first] = undefined;
    this.#first += 1;
    if (this.#first === this.#waiting.length) {
      this.#waiting = [];
      this.#first = 0;
    } else if (this.#first >= MAX_WAITING) {
      this.#waiting = this.#waiting.slice(this.#first);
      this.#first = 0;
    }
    if (waiting === undefined) return;
    this.#characters -= waiting.characters;
    this.#read(waiting.span);
    this.#enricher.enrichLate(waiting.span);
    for (const processor of this.#next) processor.onEnd(waiting.span);
  }
}
