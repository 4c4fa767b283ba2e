import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { DurableSpanProcessorOptions } from './options.ts';
import { SafeKeeping } from './safe-keeping.ts';
import type { DurableStats } from './stats.ts';

/** Result of a write. */
export type WriteOutcome =
  /** All are stored or on disk, except those refused for good. */
  | { readonly kind: 'safe'; readonly refused: number; readonly error: Error | undefined }
  /** No room at the moment; nothing was written. */
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
  readonly #keeping: SafeKeeping;
  readonly #queue = new WriteQueue();
  readonly #refusals = new WeakMap<ReadableSpan, Error>();
  readonly #underWay = new Set<Promise<void>>();
  readonly #lingerMs: number;
  #linger: NodeJS.Timeout | undefined;
  /** Whether the pending spans have waited long enough. */
  #isDue = false;
  #shutdown: Promise<void> | undefined;

  /**
   * @param options those of a `DurableSpanProcessor`; `maxQueueSize` bounds the waiting spans; `scheduledDelayMs` is
   * ignored.
   * @param lingerMs how long an incomplete batch waits for more spans, for a back end to which batches are costly.
   * @throws ObservatoryError `INVALID_OPTION` for options that cannot be used.
   */
  constructor(options: DurableSpanProcessorOptions, lingerMs = 0) {
    this.#lingerMs = lingerMs;
    this.#keeping = new SafeKeeping(options, {
      sparesDownBackEnd: true,
      drainsAtShutdown: false,
      onRefused: (spans, error) => {
        for (const span of spans) this.#refusals.set(span, error);
      },
    });
  }

  /** Spans handled so far. */
  get stats(): DurableStats {
    return this.#keeping.stats;
  }

  /** Time until the back end may be tried again after a failure, in milliseconds; 0 when due. */
  get waitMs(): number {
    return this.#keeping.waitMs;
  }

  /**
   * Waits until the spool, if any, is writable.
   * @throws the file system's error when it cannot.
   */
  async ready(): Promise<void> {
    const error = await this.#keeping.opened;
    if (error !== undefined) throw error;
  }

  /** Reports the state of the back end found by other means, to avoid probing it with spans. */
  backEndSeen(isUp: boolean): void {
    this.#keeping.backEndSeen(isUp);
  }

  /** Writes spans. Never rejects. */
  async write(spans: readonly ReadableSpan[]): Promise<WriteOutcome> {
    if (spans.length === 0) return { kind: 'safe', refused: 0, error: undefined };
    if (this.#shutdown !== undefined) return failed('the writer was shut down');
    const { counters, options } = this.#keeping;
    const isTooMany = counters.waiting + spans.length > options.maxQueueSize;
    // A write larger than the limit is accepted when nothing else waits.
    if (isTooMany && counters.waiting > 0) return { kind: 'full' };
    counters.received += spans.length;
    counters.waiting += spans.length;
    try {
      const settled = this.#queue.push(spans);
      this.#pump();
      const error = await settled;
      if (error !== undefined) return { kind: 'failed', error };
      return this.#toOutcome(spans);
    } finally {
      counters.waiting -= spans.length;
    }
  }

  /**
   * Waits for pending writes and closes exporter and spool. Idempotent.
   * @param limitMs how long it may take. @defaultValue `flushTimeoutMs`
   */
  shutdown(limitMs: number = this.#keeping.options.flushTimeoutMs): Promise<void> {
    clearTimeout(this.#linger);
    this.#isDue = true;
    this.#pump();
    this.#shutdown ??= this.#keeping.close(
      () => this.#allSettled(),
      () => [], // their senders keep what was not acknowledged
      limitMs,
    );
    return this.#shutdown;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown();
  }

  #pump(): void {
    const { maxExportBatchSize, maxConcurrentExports } = this.#keeping.options;
    while (this.#underWay.size < maxConcurrentExports) {
      if (this.#isLingering(maxExportBatchSize)) return;
      const portions = this.#queue.take(maxExportBatchSize);
      if (portions.length === 0) return;
      const work = this.#settle(portions).finally(() => {
        this.#underWay.delete(work);
        this.#pump();
      });
      this.#underWay.add(work);
    }
  }

  /** Whether to wait for more spans; then the next attempt is scheduled. */
  #isLingering(batchSize: number): boolean {
    if (this.#queue.size === 0) this.#isDue = this.#shutdown !== undefined;
    if (this.#lingerMs === 0 || this.#isDue || this.#queue.size >= batchSize) return false;
    if (this.#queue.size > 0) {
      this.#linger ??= setTimeout(() => {
        this.#linger = undefined;
        this.#isDue = true;
        this.#pump();
      }, this.#lingerMs);
    }
    return true;
  }

  async #settle(portions: readonly Portion[]): Promise<void> {
    const batch = portions.flatMap(({ spans }) => spans);
    const error = await this.#makeSafe(batch).catch((fault: unknown) => fault as Error);
    for (const portion of portions) portion.settle(error);
  }

  /** @returns why the spans are not safe; `undefined` if they are. */
  async #makeSafe(batch: readonly ReadableSpan[]): Promise<Error | undefined> {
    return (await this.#keeping.opened) ?? (await this.#keeping.attempt(batch)).error;
  }

  #toOutcome(spans: readonly ReadableSpan[]): WriteOutcome {
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

  async #allSettled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.race(this.#underWay);
  }
}

function failed(why: string): WriteOutcome {
  return { kind: 'failed', error: new Error(why) };
}

/** Spans of one write that go into one batch. */
interface Portion {
  readonly spans: readonly ReadableSpan[];
  /** @param error why they are not safe; `undefined` if they are. */
  settle(error: Error | undefined): void;
}

interface Write {
  readonly spans: readonly ReadableSpan[];
  /** Spans moved into batches. */
  taken: number;
  /** Spans whose batch is not finished. */
  open: number;
  error: Error | undefined;
  readonly done: (error: Error | undefined) => void;
}

/** Pending writes, FIFO. Small ones are merged into batches, large ones split. */
class WriteQueue {
  #writes: Write[] = [];
  #head = 0;
  /** Spans that wait. */
  size = 0;

  /** Resolves when all of the spans are finished, with the first error. */
  push(spans: readonly ReadableSpan[]): Promise<Error | undefined> {
    this.size += spans.length;
    return new Promise((done) => {
      this.#writes.push({ spans, taken: 0, open: spans.length, error: undefined, done });
    });
  }

  /** The next spans, up to the limit; empty when nothing waits. */
  take(max: number): Portion[] {
    const portions: Portion[] = [];
    let room = max;
    for (
      let write = this.#writes[this.#head];
      write !== undefined && room > 0;
      write = this.#writes[this.#head]
    ) {
      const spans = write.spans.slice(write.taken, write.taken + room);
      write.taken += spans.length;
      this.size -= spans.length;
      room -= spans.length;
      portions.push(toPortion(write, spans));
      if (write.taken === write.spans.length) this.#head += 1;
    }
    if (this.#head > 1024 || this.#head === this.#writes.length) {
      this.#writes = this.#writes.slice(this.#head);
      this.#head = 0;
    }
    return portions;
  }
}

function toPortion(write: Write, spans: readonly ReadableSpan[]): Portion {
  return {
    spans,
    settle: (error) => {
      write.open -= spans.length;
      write.error ??= error;
      if (write.open === 0) write.done(write.error);
    },
  };
}
