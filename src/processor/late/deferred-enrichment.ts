import type { Context } from '@opentelemetry/api';
import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace';
import { ownTurn } from '../../base/index.ts';
import { acceptLateWork, lateCharacters, takeLateWork } from '../../interaction/index.ts';
import type { Enricher } from '../enricher.ts';
import { EndedSpan, type WritableSpan } from '../set-fields.ts';

/** Spans that wait; a program that ends more without awaiting anything enriches the oldest as further ones end. */
const MAX_SPANS = 8_192;
/** Characters of prompts, answers and contexts that are kept for the waiting spans. */
const MAX_CHARACTERS = 67_108_864;
/** Spans that are worth a turn of the event loop of their own. */
const BATCH = 256;
/** Characters that are not kept for longer than a turn of the event loop. */
const MANY_CHARACTERS = 1_048_576;
/** How long a smaller batch waits, in milliseconds; exports wait longer. */
const DELAY_MS = 50;
/** Work of one turn of the event loop, in milliseconds. */
const SLICE_MS = 8;

/**
 * Enriches spans after the calls they are of, before `next` sees them: for a pipeline of our own, in which nobody else
 * reads spans as they end. What ends a span keeps the texts of its call, because the application may change its messages
 * right after; reading them, hashes, scores, prices and redaction follow in batches, in the order in which spans ended.
 */
export class DeferredEnrichment implements SpanProcessor {
  readonly #enricher: Enricher;
  readonly #next: readonly SpanProcessor[];
  /**
   * A queue that is read from `#first` on, and shortened when it is empty. Its characters are in a second array: an
   * object for each span would be copied by collections of garbage as long as the span waits.
   */
  #spans: (ReadableSpan | undefined)[] = [];
  #held: number[] = [];
  #first = 0;
  #characters = 0;
  #timer: NodeJS.Timeout | undefined;
  #work: Promise<void> | undefined;

  constructor(enricher: Enricher, next: readonly SpanProcessor[]) {
    this.#enricher = enricher;
    this.#next = next;
  }

  onStart(span: Span, parentContext: Context): void {
    acceptLateWork(span);
    this.#enricher.begin(span, parentContext);
    for (const processor of this.#next) processor.onStart(span, parentContext);
  }

  onEnd(span: ReadableSpan): void {
    const characters = lateCharacters(span) + this.#keep(span);
    this.#spans.push(span);
    this.#held.push(characters);
    this.#characters += characters;
    while (this.#size > MAX_SPANS || (this.#characters > MAX_CHARACTERS && this.#size > 1)) this.#step();
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
    return this.#spans.length - this.#first;
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
        const span = this.#spans[this.#first];
        const reading = span && this.#readAhead(span);
        if (reading === undefined) this.#step();
        else {
          await reading;
          // A burst of spans may have taken its turn meanwhile.
          if (this.#spans[this.#first] === span) this.#step();
          break;
        }
      }
    }
  }

  /** Begins to read the long texts of a span; undefined if there are none. */
  #readAhead(span: ReadableSpan): Promise<void> | undefined {
    try {
      this.#writeLeft(span);
      return this.#enricher.readAhead(span);
    } catch {
      // It fails once more, where that is expected.
      return undefined;
    }
  }

  /** Writes what an instrumentation left to write on a span. */
  #writeLeft(span: ReadableSpan): void {
    const work = takeLateWork(span);
    if (work === undefined) return;
    writeEnded(span, () => work.write());
    this.#keep(span);
  }

  /** Keeps what the span is to be enriched from. @returns the characters that are kept. */
  #keep(span: ReadableSpan): number {
    return writeEnded(span, (target) => this.#enricher.keepForLate(span, target));
  }

  /** Enriches the span that has waited longest, and hands it on. */
  #step(): void {
    const span = this.#spans[this.#first];
    this.#characters -= this.#held[this.#first] ?? 0;
    this.#spans[this.#first] = undefined;
    this.#first += 1;
    if (this.#first === this.#spans.length || this.#first >= MAX_SPANS) {
      this.#spans = this.#spans.slice(this.#first);
      this.#held = this.#held.slice(this.#first);
      this.#first = 0;
    }
    if (span === undefined) return;
    try {
      this.#writeLeft(span);
      writeEnded(span, (target) => this.#enricher.enrichLate(span, target));
      for (const processor of this.#next) processor.onEnd(span);
    } catch {
      // A processor or a span that throws must not hold up the spans after it, nor end the process from a timer.
    }
  }
}

/** How the spans of all SDK lines remember that they have ended; from then on they ignore what is set. */
interface SdkSpan extends WritableSpan {
  _ended: boolean;
}

/**
 * Runs `write` with a target for a span of our own pipeline that has ended, and that nobody has exported yet. It is the
 * span itself, opened for that time, so that the limits of the SDK hold as they do in `onEnding`: number of attributes,
 * length of values, events.
 */
function writeEnded<T>(span: ReadableSpan, write: (target: WritableSpan) => T): T {
  const own = span as unknown as SdkSpan;
  const hasEnded = own._ended;
  if (typeof hasEnded !== 'boolean' || typeof own.setAttribute !== 'function' || !reopen(own))
    return write(new EndedSpan(span));
  try {
    return write(own);
  } finally {
    own._ended = hasEnded;
  }
}

/** @returns false for a span that somebody has frozen. */
function reopen(span: SdkSpan): boolean {
  try {
    span._ended = false;
    return true;
  } catch {
    return false;
  }
}
