import { TraceFlags } from '@opentelemetry/api';
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace';
import { errorMessage, ObservatoryError } from '../base/index.ts';
import type { DurableSpanProcessorOptions, ResolvedDurableOptions } from './options.ts';
import { SafeKeeping } from './safe-keeping.ts';
import type { Counters, DurableStats } from './stats.ts';

/** Batches spooled concurrently to make room. */
const MAX_SPILLS = 4;

/**
 * Exports ended spans durably: exports run concurrently, failures are retried, and unsent spans go to a spool on disk
 * before memory is full. Spooled spans are sent in order when the back end recovers, by this process or the next.
 *
 * A span is *safe* once it was exported or is on disk. `forceFlush` and `shutdown` resolve when all previously ended
 * spans are safe, and reject with `SPANS_NOT_SAFE` otherwise. A killed process loses only spans that are not safe.
 * Spans may be sent twice, so the back end should deduplicate by id, as the table of `PostgresSpanExporter` does.
 *
 * It never throws into the host, keeps the process alive, or blocks the event loop for long.
 */
export class DurableSpanProcessor implements SpanProcessor, AsyncDisposable {
  readonly #keeping: SafeKeeping;
  readonly #options: ResolvedDurableOptions;
  readonly #counters: Counters;
  readonly #queue: SpanQueue;
  /** Batches taken from the queue and not finished. */
  readonly #underWay = new Set<Promise<void>>();
  #exports = 0;
  #spills = 0;
  #timer: NodeJS.Timeout | undefined;
  #isPumpDue = false;
  /** Spans taken from the queue so far, and the number up to which incomplete batches are sent. */
  #taken = 0;
  #flushUpTo = 0;
  #lossesTold = 0;
  #shutdown: Promise<void> | undefined;

  /** @throws ObservatoryError `INVALID_OPTION` for options that cannot be used. */
  constructor(options: DurableSpanProcessorOptions) {
    this.#keeping = new SafeKeeping(options, { sparesDownBackEnd: false, drainsAtShutdown: true });
    this.#options = this.#keeping.options;
    this.#counters = this.#keeping.counters;
    this.#queue = new SpanQueue(this.#options.maxQueueSize);
    void this.#logSpoolFault();
  }

  /** Spans handled so far. */
  get stats(): DurableStats {
    return this.#keeping.stats;
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return;
    this.#counters.received += 1;
    if (this.#shutdown !== undefined || !this.#queue.push(span)) {
      this.#keeping.drop(
        1,
        this.#shutdown === undefined ? 'the queue in memory was full' : 'they ended after shutdown',
      );
      return;
    }
    this.#counters.waiting += 1;
    if (this.#queue.length >= this.#options.maxExportBatchSize) this.#pumpSoon();
    else this.#timer ??= setTimeout(() => this.#flushOnTime(), this.#options.scheduledDelayMs).unref();
  }

  /**
   * Waits until every span that ended before is safe.
   * @throws ObservatoryError `SPANS_NOT_SAFE` when this takes longer than `flushTimeoutMs`, or spans were lost since
   *   the last call.
   */
  async forceFlush(): Promise<void> {
    await this.#withinTime(this.#flush());
    await this.#options.exporter.forceFlush?.();
    this.#tellLosses();
  }

  /**
   * Makes all spans safe, sends spooled spans while the back end accepts them and time remains, and closes exporter and
   * spool. The next process that uses the folder sends the rest. Idempotent.
   * @throws ObservatoryError `SPANS_NOT_SAFE` when spans were lost.
   */
  shutdown(): Promise<void> {
    this.#shutdown ??= this.#close();
    return this.#shutdown;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown();
  }

  #flushOnTime(): void {
    this.#timer = undefined;
    this.#flushUpTo = this.#taken + this.#queue.length;
    this.#pumpSoon();
  }

  /** Starts work in a later turn of the event loop, so that ending a span costs next to nothing. */
  #pumpSoon(): void {
    if (this.#isPumpDue) return;
    this.#isPumpDue = true;
    setImmediate(() => {
      this.#isPumpDue = false;
      this.#pump();
    });
  }

  #pump(): void {
    const { maxExportBatchSize, maxConcurrentExports, maxQueueSize } = this.#options;
    const isBatchDue = () => this.#queue.length >= maxExportBatchSize || this.#taken < this.#flushUpTo;
    while (this.#queue.length > 0 && isBatchDue() && this.#exports < maxConcurrentExports) {
      this.#exports += 1;
      this.#track(this.#keeping.settle(this.#take()).finally(() => (this.#exports -= 1)));
    }
    const isFilling = () => this.#queue.length >= maxQueueSize / 2 || this.#keeping.isGivingUp;
    while (this.#queue.length > 0 && this.#keeping.hasDisk && isFilling() && this.#spills < MAX_SPILLS) {
      this.#spills += 1;
      this.#track(this.#keeping.spill(this.#take()).finally(() => (this.#spills -= 1)));
    }
    if (this.#queue.length > 0) {
      this.#timer ??= setTimeout(() => this.#flushOnTime(), this.#options.scheduledDelayMs).unref();
    }
  }

  #take(): ReadableSpan[] {
    const batch = this.#queue.take(this.#options.maxExportBatchSize);
    this.#taken += batch.length;
    return batch;
  }

  #track(work: Promise<unknown>): void {
    const tracked: Promise<void> = work.then(
      () => {},
      (error: unknown) =>
        this.#keeping.log.warn('fault', 1, () => `a batch of spans was lost: ${errorMessage(error)}`),
    );
    this.#underWay.add(tracked);
    void tracked.finally(() => {
      this.#underWay.delete(tracked);
      this.#pumpSoon();
    });
  }

  async #flush(): Promise<void> {
    const upTo = this.#taken + this.#queue.length;
    this.#flushUpTo = Math.max(this.#flushUpTo, upTo);
    this.#pump();
    while (this.#taken < upTo) {
      await Promise.race(this.#underWay);
      this.#pump();
    }
    await Promise.all(this.#underWay);
  }

  async #close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#keeping.close(this.#flush());
    await this.#withinTime(this.#options.exporter.shutdown());
    this.#tellLosses();
  }

  async #logSpoolFault(): Promise<void> {
    const error = await this.#keeping.opened;
    if (error === undefined) return;
    const message = `no spool in ${this.#options.spool?.directory}: ${error.message}`;
    this.#keeping.log.warn('spool', 1, () => message);
  }

  async #withinTime(work: Promise<void>): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(notSafe(this.#counters.waiting)), this.#options.flushTimeoutMs);
    });
    await Promise.race([work, late]).finally(() => clearTimeout(timer));
  }

  #tellLosses(): void {
    const lost = this.#keeping.lost - this.#lossesTold;
    this.#lossesTold = this.#keeping.lost;
    if (lost > 0) throw notSafe(lost);
  }
}

function notSafe(spans: number): ObservatoryError {
  return new ObservatoryError(
    'SPANS_NOT_SAFE',
    `${spans} spans are neither stored nor on disk. Give the processor a spool, a larger queue or more time`,
  );
}

/** A bounded FIFO ring buffer of spans. */
class SpanQueue {
  readonly #ring: (ReadableSpan | undefined)[];
  #first = 0;
  #length = 0;

  constructor(capacity: number) {
    this.#ring = new Array<ReadableSpan | undefined>(capacity);
  }

  get length(): number {
    return this.#length;
  }

  /** @returns whether there was room. */
  push(span: ReadableSpan): boolean {
    if (this.#length === this.#ring.length) return false;
    this.#ring[(this.#first + this.#length) % this.#ring.length] = span;
    this.#length += 1;
    return true;
  }

  /** Removes and returns up to `max` of the oldest spans. */
  take(max: number): ReadableSpan[] {
    const spans: ReadableSpan[] = [];
    while (spans.length < max && this.#length > 0) {
      spans.push(this.#ring[this.#first] as ReadableSpan);
      this.#ring[this.#first] = undefined;
      this.#first = (this.#first + 1) % this.#ring.length;
      this.#length -= 1;
    }
    return spans;
  }
}
