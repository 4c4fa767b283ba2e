import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { Delivery } from './delivery.ts';
import { Drain } from './drain.ts';
import { observe } from './metrics.ts';
import {
  type DurableSpanProcessorOptions,
  type ResolvedDurableOptions,
  resolveDurableOptions,
} from './options.ts';
import { Spool } from './spool.ts';
import { type Counters, type DurableStats, newCounters } from './stats.ts';
import { ThrottledLog } from './throttled-log.ts';
import { type Portion, WriteQueue } from './write-queue.ts';

/** Result of a write. */
export type WriteOutcome =
  /** All are stored or on disk, except those refused for good. */
  | { readonly kind: 'safe'; readonly refused: number; readonly error: Error | undefined }
  /** There is no room for them now; nothing was written. */
  | { readonly kind: 'full' }
  /** Not known to be safe; the write may be repeated. */
  | { readonly kind: 'failed'; readonly error: Error };

/**
 * Writes spans and reports when they are safe: exported, or, if the back end is unavailable, in the spool. Callers are
 * acknowledged only once their spans are durable; spans stay in memory only while the caller waits.
 *
 * Concurrent writes are merged into batches, so that many small writes cost little more than few large ones. Spooled
 * spans are sent when the back end recovers, by this process or the next.
 */
export class DurableSpanWriter implements AsyncDisposable {
  readonly #options: ResolvedDurableOptions;
  readonly #counters: Counters = newCounters();
  readonly #log = new ThrottledLog();
  readonly #giveUp = new AbortController();
  readonly #delivery: Delivery;
  readonly #queue = new WriteQueue();
  readonly #refusals = new WeakMap<ReadableSpan, Error>();
  readonly #opened: Promise<void>;
  readonly #endMetrics: () => void;
  readonly #underWay = new Set<Promise<void>>();
  #spool: Spool | undefined;
  #drain: Drain | undefined;
  #shutdown: Promise<void> | undefined;

  /**
   * @param options those of a `DurableSpanProcessor`; `maxQueueSize` bounds the waiting spans; `scheduledDelayMs` is
   * ignored.
   * @throws ObservatoryError `INVALID_OPTION` for options that cannot be used.
   */
  constructor(options: DurableSpanProcessorOptions) {
    this.#options = resolveDurableOptions(options);
    this.#delivery = new Delivery(
      this.#options,
      this.#counters,
      this.#log,
      this.#giveUp.signal,
      (spans, error) => {
        for (const span of spans) this.#refusals.set(span, error);
      },
    );
    this.#opened = this.#openSpool();
    // Reported by ready() and by every write.
    this.#opened.catch(() => {});
    this.#endMetrics = observe(this.#options.meterProvider, () => this.stats);
  }

  /** Spans handled so far. */
  get stats(): DurableStats {
    const losses = this.#spool?.losses;
    return {
      ...this.#counters,
      dropped: this.#counters.dropped + (losses?.unreadable ?? 0) + (losses?.dropped ?? 0),
      spoolBytes: this.#spool?.bytes ?? 0,
      damagedBytes: losses?.damagedBytes ?? 0,
      isBackEndDown: this.#delivery.pace.isDown,
    };
  }

  /** Time until the back end may be tried again after a failure, in milliseconds; 0 when due. */
  get waitMs(): number {
    return this.#delivery.pace.waitMs;
  }

  /**
   * Waits until the spool, if any, is writable.
   * @throws the file system's error when it cannot.
   */
  async ready(): Promise<void> {
    await this.#opened;
  }

  /** Reports the state of the back end found by other means, to avoid probing it with spans. */
  backEndSeen(isUp: boolean): void {
    if (isUp) this.#delivery.pace.answered();
    else this.#delivery.pace.failed();
  }

  /** Writes spans. Never rejects. */
  async write(spans: readonly ReadableSpan[]): Promise<WriteOutcome> {
    if (spans.length === 0) return { kind: 'safe', refused: 0, error: undefined };
    if (this.#shutdown !== undefined) return failed('the writer was shut down');
    const isTooMany = this.#counters.waiting + spans.length > this.#options.maxQueueSize;
    // A write larger than the limit is accepted when nothing else waits.
    if (isTooMany && this.#counters.waiting > 0) return { kind: 'full' };
    this.#counters.received += spans.length;
    this.#counters.waiting += spans.length;
    try {
      const settled = this.#queue.push(spans);
      this.#pump();
      const error = await settled;
      if (error !== undefined) return { kind: 'failed', error };
      return this.#outcomeOf(spans);
    } finally {
      this.#counters.waiting -= spans.length;
    }
  }

  /** Waits for pending writes and closes exporter and spool. Idempotent. */
  shutdown(): Promise<void> {
    this.#shutdown ??= this.#close();
    return this.#shutdown;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown();
  }

  async #openSpool(): Promise<void> {
    const { spool: options } = this.#options;
    if (options === undefined) return;
    this.#spool = await Spool.open(options);
    this.#drain = new Drain(this.#spool, this.#delivery, options, this.#counters, this.#log);
  }

  #pump(): void {
    const { maxExportBatchSize, maxConcurrentExports } = this.#options;
    while (this.#underWay.size < maxConcurrentExports) {
      const portions = this.#queue.take(maxExportBatchSize);
      if (portions.length === 0) return;
      const work = this.#settle(portions).finally(() => {
        this.#underWay.delete(work);
        this.#pump();
      });
      this.#underWay.add(work);
    }
  }

  async #settle(portions: readonly Portion[]): Promise<void> {
    const batch = portions.flatMap(({ spans }) => spans);
    const error = await this.#makeSafe(batch).catch((fault: unknown) => fault as Error);
    for (const portion of portions) portion.settle(error);
  }

  /** @returns why the spans are not safe; `undefined` if they are. */
  async #makeSafe(batch: readonly ReadableSpan[]): Promise<Error | undefined> {
    await this.#opened;
    const { pace } = this.#delivery;
    // With a spool, its drain detects when the back end has recovered.
    const isSpared = this.#spool === undefined ? pace.waitMs > 0 : pace.isDown;
    const unsent = isSpared ? batch : await this.#delivery.deliver(batch);
    if (unsent.length === 0) return undefined;
    if (this.#spool === undefined) return new Error('the back end does not take spans now');
    await this.#spool.append(unsent);
    this.#counters.spooled += unsent.length;
    this.#drain?.notify();
    return undefined;
  }

  #outcomeOf(spans: readonly ReadableSpan[]): WriteOutcome {
    let refused = 0;
    let error: Error | undefined;
    for (const span of spans) {
      const refusal = this.#refusals.get(span);
      if (refusal === undefined) continue;
      refused += 1;
      error ??= refusal;
    }
    return { kind: 'safe', refused, error };
  }

  async #close(): Promise<void> {
    const late = setTimeout(() => this.#giveUp.abort(), this.#options.flushTimeoutMs);
    while (this.#underWay.size > 0) await Promise.race(this.#underWay);
    await this.#opened.catch(() => {});
    await this.#drain?.stop();
    clearTimeout(late);
    await this.#spool?.close();
    this.#endMetrics();
    await this.#options.exporter.shutdown();
  }
}

function failed(why: string): WriteOutcome {
  return { kind: 'failed', error: new Error(why) };
}
