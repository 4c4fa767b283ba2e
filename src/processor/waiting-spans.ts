import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { ownTurn } from '../base/index.ts';
import { takeLateWork } from '../interaction/index.ts';
import { writeEnded } from './ended-span.ts';

/** Enriches spans that have ended; none of its methods throws or rejects. */
export interface LateEnricher {
  /** Keeps what a span is enriched from, as it is now. @returns the characters that are kept. */
  keepForLater(span: ReadableSpan): number;
  /** Whether {@link readAhead} is worth it. */
  isLong(span: ReadableSpan): boolean;
  /** Reads long texts in turns of the event loop of their own; the properties of the span at once. */
  readAhead(span: ReadableSpan, isBounded: boolean): Promise<void>;
  enrichLate(span: ReadableSpan, isBounded: boolean): void;
}

export interface WaitingOptions {
  /** Spans that wait; a program that ends more without awaiting anything enriches the oldest as further ones end. */
  readonly maxSpans: number;
  /** Characters of prompts, answers and contexts that are kept for the waiting spans. */
  readonly maxCharacters: number;
  /** Spans that are worth a turn of their own. */
  readonly batch: number;
  /** Whether texts of megabytes are hashed by sample only, so that somebody who reads a span early does not wait long. */
  readonly isBounded: boolean;
  /** Called before a span is written to. @returns what is written to in its place. */
  readonly open?: ((span: ReadableSpan) => ReadableSpan) | undefined;
  /** Called after {@link open} when the span goes on waiting. */
  readonly close?: ((span: ReadableSpan) => void) | undefined;
  /** Called when a span is enriched. */
  readonly done?: ((span: ReadableSpan) => void) | undefined;
}

/** Characters that are not kept for longer than a turn of the event loop. */
const MANY_CHARACTERS = 1_048_576;
/** How long a smaller batch waits, in milliseconds; exports wait longer. */
const DELAY_MS = 50;
/** Work of one turn of the event loop, in milliseconds. */
const SLICE_MS = 8;

/** Spans that have ended and are enriched in batches after the calls they are of, in the order in which they ended. */
export class WaitingSpans {
  readonly #enricher: LateEnricher;
  readonly #options: WaitingOptions;
  /**
   * A queue that is read from `#first` on, and shortened when it is empty. Its characters are in a second array: an
   * object for each span would be copied by collections of garbage as long as the span waits.
   */
  #spans: (ReadableSpan | undefined)[] = [];
  #held: number[] = [];
  #first = 0;
  #characters = 0;
  #added = 0;
  #timer: NodeJS.Timeout | undefined;
  #work: Promise<void> | undefined;

  constructor(enricher: LateEnricher, options: WaitingOptions) {
    this.#enricher = enricher;
    this.#options = options;
  }

  get size(): number {
    return this.#spans.length - this.#first;
  }

  /** How many spans have been added, and how many of these are enriched. */
  get added(): number {
    return this.#added;
  }

  get settled(): number {
    return this.#added - this.size;
  }

  /** @param characters of texts that are kept for it. */
  add(span: ReadableSpan, characters: number): void {
    const { maxSpans, maxCharacters, batch } = this.#options;
    this.#spans.push(span);
    this.#held.push(characters);
    this.#characters += characters;
    this.#added += 1;
    while (this.size > maxSpans || (this.#characters > maxCharacters && this.size > 1)) this.#step();
    if (this.#work !== undefined) return;
    const many = Math.min(MANY_CHARACTERS, maxCharacters / 2);
    if (this.size >= batch || this.#characters >= many) this.#begin();
    else this.#timer ??= setTimeout(() => this.#begin(), DELAY_MS).unref();
  }

  /** Resolves when all spans that have been added are enriched. */
  async settle(): Promise<void> {
    this.#begin();
    await this.#work;
  }

  /** As {@link settle}, at once: for a process without an event loop, or a reader that cannot wait. */
  settleNow(): void {
    while (this.size > 0) this.#step();
  }

  /** As {@link settleNow}, up to this span, or all if it does not wait. */
  settleThrough(span: ReadableSpan): void {
    while (this.size > 0 && this.#step() !== span);
  }

  #begin(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#work ??= this.#all().finally(() => {
      this.#work = undefined;
      if (this.size > 0) this.#begin();
    });
  }

  async #all(): Promise<void> {
    while (this.size > 0) {
      await ownTurn();
      const until = performance.now() + SLICE_MS;
      while (this.size > 0 && performance.now() < until) {
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
      const target = this.#read(span);
      if (!this.#enricher.isLong(target)) return undefined;
      const reading = this.#enricher.readAhead(target, this.#options.isBounded);
      if (target === span) this.#options.close?.(span);
      return reading;
    } catch {
      // It fails once more, where that is expected.
      return undefined;
    }
  }

  /** Does what the instrumentation left to do. @returns what is to be written to. */
  #read(span: ReadableSpan): ReadableSpan {
    const target = this.#options.open?.(span) ?? span;
    if (writeLate(target)) this.#enricher.keepForLater(target);
    return target;
  }

  /** Enriches the span that has waited longest. */
  #step(): ReadableSpan | undefined {
    const span = this.#spans[this.#first];
    this.#characters -= this.#held[this.#first] ?? 0;
    this.#spans[this.#first] = undefined;
    this.#first += 1;
    if (this.#first === this.#spans.length || this.#first >= this.#options.maxSpans) {
      this.#spans = this.#spans.slice(this.#first);
      this.#held = this.#held.slice(this.#first);
      this.#first = 0;
    }
    if (span === undefined) return undefined;
    try {
      const target = this.#read(span);
      this.#enricher.enrichLate(target, this.#options.isBounded);
      this.#options.done?.(target);
    } catch {
      // A processor or a span that throws must not hold up the spans after it, nor end the process from a timer.
    }
    return span;
  }
}

/** Writes what an instrumentation left to write on a span. @returns whether there was any. */
export function writeLate(span: ReadableSpan): boolean {
  const work = takeLateWork(span);
  if (work !== undefined) writeEnded(span, () => work.write());
  return work !== undefined;
}
