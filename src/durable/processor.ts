import { TraceFlags } from '@opentelemetry/api';
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace';
import { errorMessage, isDoneWithin, ObservatoryError } from '../base/index.ts';
import { atExit } from './at-exit.ts';
import type { OwnExporter } from './back-end.ts';
import type { DurableSpanProcessorOptions, ResolvedDurableOptions } from './options.ts';
import { SafeKeeping } from './safe-keeping.ts';
import type { Counters, DurableStats } from './stats.ts';

/** Batches spooled concurrently to make room. */
const MAX_SPILLS = 4;

/** Spans encoded at once when the queue is full, in less than a millisecond. */
const OVERFLOW_BATCH = 128;

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
  readonly #underWay = new Map<Promise<void>, readonly ReadableSpan[]>();
  #exports = 0;
  #spills = 0;
  #timer: NodeJS.Timeout | undefined;
  #isPumpDue = false;
  /** Spans taken from the queue so far, and the number up to which incomplete batches are sent. */
  #taken = 0;
  #flushUpTo = 0;
  #lossesTold = 0;
  #isPreparing = false;
  #forgetExit: (() => void) | undefined;
  #shutdown: Promise<void> | undefined;

  /** @throws ObservatoryError `INVALID_OPTION` for options that cannot be used. */
  constructor(options: DurableSpanProcessorOptions) {
    this.#keeping = new SafeKeeping(options, { sparesDownBackEnd: false, drainsAtShutdown: true });
    this.#options = this.#keeping.options;
    this.#counters = this.#keeping.counters;
    this.#queue = new SpanQueue(this.#options.maxQueueSize);
    const exporter: OwnExporter = this.#options.exporter;
    exporter.beforeShutdown?.(
      () => {
        // A closing processor waits for its exporter, which must not wait for the processor in turn.
        if (this.#shutdown !== undefined) return this.#flush();
        this.#shutdown = this.#close(this.#options.flushTimeoutMs, true);
        return this.#shutdown;
      },
      () => this.#withinTime(this.#options.flushTimeoutMs, this.#flush()),
    );
  }

  /** Spans handled so far. */
  get stats(): DurableStats {
    return this.#keeping.stats;
  }

  onStart(): void {
    if (this.#isPreparing) return;
    this.#isPreparing = true;
    const exporter: OwnExporter = this.#options.exporter;
    exporter.prepare?.();
  }

  onEnd(span: ReadableSpan): void {
    if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return;
    this.#counters.received += 1;
    if (this.#queue.isFull && this.#shutdown === undefined && this.#keeping.hasRoomBeyondQueue) {
      const batch = this.#take(OVERFLOW_BATCH);
      // Its spans are bytes by now: they need not be kept for the end of the process.
      this.#track([], this.#keeping.overflow(batch));
    }
    if (this.#shutdown !== undefined || !this.#queue.push(span)) {
      this.#keeping.losses.add(
        1,
        this.#shutdown === undefined ? 'the queue in memory was full' : 'they ended after shutdown',
      );
      return;
    }
    this.#counters.waiting += 1;
    this.#forgetExit ??= atExit(() => this.#endAtExit());
    if (this.#options.scheduledDelayMs === 0) {
      this.#flushUpTo = this.#taken + this.#queue.length;
      this.#pump();
    } else if (this.#queue.length >= this.#options.maxExportBatchSize) this.#pumpSoon();
    else this.#wait();
  }

  /**
   * Waits until every span that ended before is safe.
   * @param limitMs how long it may take. @defaultValue `flushTimeoutMs`
   * @throws ObservatoryError `SPANS_NOT_SAFE` when this takes longer, or spans were lost since the last call.
   */
  async forceFlush(limitMs?: number): Promise<void> {
    const { flushTimeoutMs, exporter } = this.#options;
    // An SDK may call it with options of its own.
    const limit = typeof limitMs === 'number' ? limitMs : flushTimeoutMs;
    let stopPreferring = () => {};
    const late = setTimeout(() => {
      stopPreferring = this.#keeping.preferDisk();
    }, limit * this.#keeping.shareOfExports).unref();
    try {
      await this.#withinTime(
        limit,
        this.#flush().then(() => exporter.forceFlush?.()),
      );
    } finally {
      clearTimeout(late);
      stopPreferring();
    }
    this.#tellLosses();
  }

  /**
   * Makes all spans safe, sends spooled spans while the back end accepts them and time remains, and closes exporter and
   * spool. The next process that uses the folder sends the rest. If the back end is unreachable or hangs, there is no
   * retry: spans go to the spool, or are dropped and counted. Idempotent.
   * @param limitMs how long it may take. @defaultValue `flushTimeoutMs`
   * @throws ObservatoryError `SPANS_NOT_SAFE` when spans were lost.
   */
  shutdown(limitMs: number = this.#options.flushTimeoutMs): Promise<void> {
    this.#shutdown ??= this.#close(limitMs);
    return this.#shutdown;
  }

  /**
   * Counts spans of {@link endNow} as lost, and logs all losses.
   * @param why completes "because".
   */
  tellEnd(spans: number, why: string): void {
    if (spans > 0) this.#keeping.loseAtExit(spans, why);
    this.#keeping.tellAll();
  }

  /**
   * For a process that ends now, without waiting: writes all spans that are not safe to the spool, synchronously. Spans
   * that end later are dropped.
   * @returns the spans that are not safe because there is no spool, or it cannot be written.
   */
  endNow(): readonly ReadableSpan[] {
    this.#shutdown ??= Promise.resolve();
    this.#forgetExit?.();
    clearTimeout(this.#timer);
    this.#keeping.losses.end();
    return this.#keeping.keepNow(this.#takeAll());
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
      const batch = this.#take();
      this.#track(
        batch,
        this.#keeping.settle(batch).finally(() => (this.#exports -= 1)),
      );
    }
    const isFilling = () => this.#queue.length >= maxQueueSize / 2 || this.#keeping.isGivingUp;
    while (this.#queue.length > 0 && this.#keeping.hasDisk && isFilling() && this.#spills < MAX_SPILLS) {
      this.#spills += 1;
      const batch = this.#take();
      this.#track(
        batch,
        this.#keeping.spill(batch).finally(() => (this.#spills -= 1)),
      );
    }
    if (this.#queue.length > 0) this.#wait();
  }

  /** Without a delay, the end of a running export sends the waiting spans. */
  #wait(): void {
    const { scheduledDelayMs } = this.#options;
    if (scheduledDelayMs > 0) this.#timer ??= setTimeout(() => this.#flushOnTime(), scheduledDelayMs).unref();
  }

  #take(atMost = Number.POSITIVE_INFINITY): ReadableSpan[] {
    const batch = this.#queue.take(Math.min(atMost, this.#options.maxExportBatchSize));
    this.#taken += batch.length;
    return batch;
  }

  /** All spans that are not safe, as far as is known. */
  #takeAll(): readonly ReadableSpan[] {
    return [...this.#underWay.values(), this.#queue.take(this.#queue.length)].flat();
  }

  #track(batch: readonly ReadableSpan[], work: Promise<unknown>): void {
    const tracked: Promise<void> = work.then(
      () => {},
      (error: unknown) =>
        this.#keeping.log.warn('fault', 1, () => `a batch of spans was lost: ${errorMessage(error)}`),
    );
    this.#underWay.set(tracked, batch);
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
      await Promise.race(this.#underWay.keys());
      this.#pump();
    }
    await Promise.all(this.#underWay.keys());
  }

  async #close(limitMs: number, isExporterClosing = false): Promise<void> {
    clearTimeout(this.#timer);
    // Until then a sudden exit writes the unsafe spans to the spool.
    const forget = () => this.#forgetExit?.();
    await this.#keeping
      .close(
        () => this.#flush(),
        () => this.#takeAll(),
        limitMs,
        isExporterClosing,
      )
      .finally(forget);
    this.#tellLosses();
  }

  /** Hands over the waiting spans, without those being exported; they are no longer counted here. */
  handOver(): readonly ReadableSpan[] {
    const spans = this.#queue.take(this.#queue.length);
    this.#taken += spans.length;
    this.#counters.waiting -= spans.length;
    this.#counters.received -= spans.length;
    return spans;
  }

  /** Waits, without a time limit, for waiting and running exports; does not keep the process alive. */
  settle(): Promise<void> {
    return this.#flush();
  }

  /** The program has not shut the processor down. */
  #endAtExit(): void {
    this.tellEnd(this.endNow().length, 'the process ended before they were sent');
  }

  async #withinTime(limitMs: number, work: Promise<void>): Promise<void> {
    if (await isDoneWithin(limitMs, work)) return;
    throw notSafe(this.#counters.waiting, `because they were not stored within ${limitMs} ms`);
  }

  #tellLosses(): void {
    const lost = this.#keeping.lost - this.#lossesTold;
    this.#lossesTold = this.#keeping.lost;
    if (lost > 0) throw notSafe(lost, this.#keeping.losses.reasons);
  }
}

function notSafe(spans: number, reasons: string): ObservatoryError {
  return new ObservatoryError(
    'SPANS_NOT_SAFE',
    `${spans === 1 ? '1 span is' : `${spans} spans are`} neither stored nor on disk, ${reasons}`,
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

  get isFull(): boolean {
    return this.#length === this.#ring.length;
  }

  /** @returns whether there was room. */
  push(span: ReadableSpan): boolean {
    if (this.isFull) return false;
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
