import { setTimeout as sleep } from 'node:timers/promises';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { errorMessage, isDoneWithin } from '../base/index.ts';
import { abortController } from './abort-controller.ts';
import { isAbsent, type OwnExporter } from './back-end.ts';
import { Delivery } from './delivery.ts';
import { Drain } from './drain.ts';
import { Losses } from './losses.ts';
import {
  type DurableSpanProcessorOptions,
  type KeepingMode,
  type ResolvedDurableOptions,
  resolveDurableOptions,
} from './options.ts';
import { Overflow } from './overflow.ts';
import type { EncodedBatch } from './record.ts';
import { Spool } from './spool.ts';
import { spoolNow } from './spool-now.ts';
import { type Counters, type DurableStats, newCounters, observe } from './stats.ts';
import { ThrottledLog } from './throttled-log.ts';

const POLL_MS = 5;
/** Between attempts to open a spool. */
const REOPEN_MS = 5000;

/** Result of an attempt to make a batch safe. */
export interface KeepingResult {
  /** Spans that are neither exported nor on disk. */
  readonly unsafe: readonly ReadableSpan[];
  /** Why they are not; `undefined` when all spans are safe. */
  readonly error: Error | undefined;
}

const SAFE: KeepingResult = { unsafe: [], error: undefined };

/**
 * Makes batches safe: exports them or, if the back end is unavailable, spools them and sends them from disk. Holds what
 * `DurableSpanProcessor` and `DurableSpanWriter` share: state of the back end, retries, spool, counts and shutdown.
 */
export class SafeKeeping {
  readonly options: ResolvedDurableOptions;
  readonly counters: Counters = newCounters();
  readonly log: ThrottledLog = new ThrottledLog();
  readonly losses: Losses;
  readonly #mode: KeepingMode;
  /** Aborted when shutdown begins: batches that wait to be sent again are sent now. */
  readonly #closing = abortController();
  /** Aborted near its deadline: nothing waits, and spans that are not stored go to disk or are lost. */
  readonly #giveUp = abortController();
  /** Ends the exports under way. */
  #exports = abortController();
  /** Why exports during shutdown failed, if the back end is unreachable. */
  #absence: Error | undefined;
  readonly #delivery: Delivery;
  readonly #endMetrics: () => void;
  #opened: Promise<Error | undefined>;
  #spool: Spool | undefined;
  #drain: Drain | undefined;
  /** Error of the last export, if it failed. */
  #lastError: Error | undefined;
  #prefersDisk = false;
  /** The time of a shutdown that waits for answers is over: the next export that fails ends it. */
  #isLate = false;
  readonly #overflow = new Overflow();

  /** @throws ObservatoryError `INVALID_OPTION` for options that cannot be used. */
  constructor(options: DurableSpanProcessorOptions, mode: KeepingMode) {
    this.options = resolveDurableOptions(options);
    this.#mode = mode;
    this.losses = new Losses(this.options.spool !== undefined, this.counters);
    const { options: resolved, counters, log } = this;
    this.#delivery = new Delivery(resolved, counters, log, () => this.#exports.signal, mode.onRefused);
    this.#opened = this.#openSpool();
    this.#endMetrics = observe(resolved.meterProvider, () => this.stats);
  }

  get stats(): DurableStats {
    return {
      ...this.counters,
      dropped: this.lost,
      spoolBytes: this.#spool?.bytes ?? 0,
      damagedBytes: this.#spool?.losses.damagedBytes ?? 0,
      isBackEndDown: this.#delivery.pace.isDown,
    };
  }

  get hasDisk(): boolean {
    return this.#spool !== undefined;
  }

  /** Resolves when the spool, if any, is ready, or with the file system's error while it cannot be opened. */
  get opened(): Promise<Error | undefined> {
    return this.#opened;
  }

  /** Share of the time of a flush or shutdown after which exports are ended; the rest is for the disk. */
  get shareOfExports(): number {
    return this.options.spool === undefined ? 0.9 : 0.5;
  }

  get isGivingUp(): boolean {
    return this.#giveUp.signal.aborted;
  }

  /** Time until the back end may be tried again after a failure, in milliseconds; 0 when due. */
  get waitMs(): number {
    return this.#delivery.pace.waitMs;
  }

  /** Spans lost so far, from memory and from disk. */
  get lost(): number {
    return this.counters.dropped + (this.#spool?.losses.dropped ?? 0);
  }

  /** Records the state of the back end found by other means. */
  backEndSeen(isUp: boolean): void {
    if (isUp) this.#delivery.pace.answered();
    else this.#delivery.pace.failed();
  }

  /** Exports a batch once, unless the back end is to be left alone, and spools the unsent spans. */
  async attempt(batch: readonly ReadableSpan[]): Promise<KeepingResult> {
    await this.opened;
    const isSpared = this.#isSpared;
    const unsent = isSpared ? batch : await this.#deliver(batch);
    if (unsent.length === 0) return SAFE;
    const error = await this.#putOnDisk(unsent);
    if (error === undefined) return SAFE;
    if (!isSpared || this.isGivingUp || this.#absence !== undefined || this.waitMs > 0) {
      return { unsafe: unsent, error };
    }
    // Without a spool the drain sends nothing, so nothing else would notice that the back end has recovered.
    const unsafe = await this.#deliver(unsent);
    return unsafe.length === 0 ? SAFE : { unsafe, error };
  }

  /** Attempts a waiting batch until it is exported, spooled, or dropped at shutdown. */
  async settle(batch: readonly ReadableSpan[]): Promise<void> {
    const { minRetryDelayMs, maxRetryDelayMs } = this.options;
    let rest = batch;
    for (let delayMs = minRetryDelayMs; ; delayMs = Math.min(2 * delayMs, maxRetryDelayMs)) {
      const { unsafe } = await this.attempt(rest);
      this.counters.waiting -= rest.length - unsafe.length;
      rest = unsafe;
      if (rest.length === 0) return;
      if (this.isGivingUp || this.#absence !== undefined) {
        this.counters.waiting -= rest.length;
        this.loseAtExit(rest.length, 'the program ended first');
        return;
      }
      const isClosing = this.#closing.signal.aborted;
      const { signal } = isClosing ? this.#giveUp : this.#closing;
      // Does not keep the process alive.
      const waitMs = isClosing ? minRetryDelayMs : Math.max(delayMs, this.waitMs);
      await sleep(waitMs, undefined, { ref: false, signal }).catch(() => {});
    }
  }

  /** Spools a waiting batch to make room; if that fails it is settled as usual. */
  async spill(batch: readonly ReadableSpan[]): Promise<void> {
    if ((await this.#putOnDisk(batch)) === undefined) this.counters.waiting -= batch.length;
    else await this.settle(batch);
  }

  /** Whether a full queue can hand a batch to {@link overflow}. */
  get hasRoomBeyondQueue(): boolean {
    return this.options.spool !== undefined && this.#overflow.hasRoom;
  }

  /** Encodes a waiting batch of a queue that is full, and spools the bytes as soon as the event loop turns. */
  async overflow(spans: readonly ReadableSpan[]): Promise<void> {
    const batch = this.#overflow.add(spans);
    await this.opened;
    // The end of the process may have written it.
    if (!this.#overflow.has(batch)) return;
    const error = await this.#putOnDisk(batch);
    if (!this.#overflow.remove(batch)) return;
    this.counters.waiting -= batch.length;
    if (error !== undefined)
      this.losses.add(batch.length, 'the queue was full and the disk did not take them');
  }

  /** Counts spans as lost, with the error of the last export if that failed. */
  loseAtExit(count: number, why: string): void {
    const error = this.#absence ?? this.#lastError;
    this.losses.add(count, error === undefined ? why : `${why}: ${error.message}`, error);
  }

  /** Logs all withheld counts. */
  tellAll(): void {
    this.losses.seeSpool(this.#spool?.losses.dropped ?? 0);
    this.log.flush();
    this.losses.tell();
  }

  /** With a disk, ends the exports under way and spools all spans instead, until the result is called. */
  preferDisk(): () => void {
    if (!this.hasDisk) return () => {};
    this.#prefersDisk = true;
    this.#exports.abort();
    this.#exports = abortController();
    return () => {
      this.#prefersDisk = false;
    };
  }

  /**
   * Writes spans to the spool synchronously.
   * @returns those that are not on disk.
   */
  keepNow(spans: readonly ReadableSpan[]): readonly ReadableSpan[] {
    const { spool } = this.options;
    const overflown = this.#overflow.takeAll();
    const count = overflown.reduce((sum, { length }) => sum + length, 0);
    this.counters.waiting -= count;
    if (spool === undefined || spans.length + count === 0) return spans;
    try {
      spoolNow(spool, spans, overflown);
    } catch (error) {
      this.#logDiskFault(error);
      if (count > 0) this.losses.add(count, 'the queue was full and the disk did not take them');
      return spans;
    }
    this.counters.spooled += spans.length + count;
    return [];
  }

  /**
   * Waits for the owner's batches and closes spool and exporter, all within `limitMs`. After most of that time exports
   * are ended, which leaves time to spool the rest. If the back end is unreachable and there is no spool,
   * spans are dropped at once. A closing exporter waits for the exports under way in any case: without a spool they go on
   * as long as they succeed, so that what is lost is known.
   * @param settle resolves when all batches are settled.
   * @param rest the spans that are not safe, if time has run out.
   * @param isExporterClosing whether it is the exporter that closes, and waits for this.
   */
  async close(
    settle: () => Promise<unknown>,
    rest: () => readonly ReadableSpan[],
    limitMs: number,
    isExporterClosing = false,
  ): Promise<void> {
    const deadline = performance.now() + limitMs;
    this.#closing.abort();
    this.losses.end();
    this.#delivery.isClosing = true;
    const waitsForAnswers = isExporterClosing && this.options.spool === undefined;
    const late = setTimeout(() => {
      this.#isLate = true;
      if (waitsForAnswers) return;
      this.#giveUp.abort();
      this.#exports.abort();
    }, limitMs * this.shareOfExports);
    const finish = async () => {
      await settle();
      await this.opened;
      const isDraining = () => this.#drain?.isIdle === false && !this.#delivery.pace.isDown;
      if (this.#mode.drainsAtShutdown) while (isDraining() && !this.isGivingUp) await sleep(POLL_MS);
      await this.#drain?.stop();
    };
    const isFinished = waitsForAnswers
      ? await finish().then(() => true)
      : await isDoneWithin(deadline - performance.now(), finish());
    clearTimeout(late);
    // Blocks the event loop for as long as the disk takes, which is better than losing spans.
    const lost = isFinished ? [] : this.keepNow(rest());
    if (lost.length > 0) this.losses.add(lost.length, 'neither back end nor disk answered before the end');
    const exporter: OwnExporter = this.options.exporter;
    const ending = isExporterClosing ? undefined : exporter.shutdown(this.#giveUp.signal);
    const closed = Promise.all([this.#spool?.close(), ending]).catch((error: unknown) =>
      this.log.warn('close', 1, () => `could not be closed: ${errorMessage(error)}`),
    );
    await isDoneWithin(deadline - performance.now(), closed);
    // Exports that timed out may still be under way in the exporter.
    this.#giveUp.abort();
    this.#endMetrics();
    this.tellAll();
  }

  get #isSpared(): boolean {
    const { pace } = this.#delivery;
    if (this.isGivingUp || this.#absence !== undefined || this.#prefersDisk) return true;
    if (this.#closing.signal.aborted) return this.hasDisk && pace.isDown;
    return this.#mode.sparesDownBackEnd && this.hasDisk ? pace.isDown : pace.waitMs > 0;
  }

  async #deliver(batch: readonly ReadableSpan[]): Promise<readonly ReadableSpan[]> {
    this.#lastError = undefined;
    return this.#delivery.deliver(batch, (error) => {
      this.#lastError = error;
      if (this.#isLate) this.#giveUp.abort();
      if (this.#closing.signal.aborted && isAbsent(error)) this.#absence ??= error;
    });
  }

  /** Opens the spool; if that fails, again and again until shutdown. */
  async #openSpool(): Promise<Error | undefined> {
    const { spool: options } = this.options;
    if (options === undefined) return undefined;
    try {
      this.#spool = await Spool.open(options, this.log);
      this.#drain = new Drain(this.#spool, this.#delivery, options, this.counters, this.log);
      return undefined;
    } catch (error) {
      const fault = error instanceof Error ? error : new Error(String(error));
      this.log.warn('spool', 1, () => `no spool in ${options.directory}: ${fault.message}`);
      const { signal } = this.#closing;
      void sleep(REOPEN_MS, undefined, { ref: false, signal }).then(
        () => {
          this.#opened = this.#openSpool();
        },
        () => {},
      );
      return fault;
    }
  }

  /** @returns why the batch is not on disk; `undefined` if it is. */
  async #putOnDisk(batch: readonly ReadableSpan[] | EncodedBatch): Promise<Error | undefined> {
    if (this.#spool === undefined) return new Error('the back end does not accept spans now');
    try {
      await this.#spool.append(batch);
    } catch (error) {
      return this.#logDiskFault(error);
    }
    this.counters.spooled += batch.length;
    this.#drain?.notify();
    this.losses.seeSpool(this.#spool.losses.dropped);
    return undefined;
  }

  #logDiskFault(error: unknown): Error {
    const text = errorMessage(error);
    this.log.warn('disk', 1, (times) => `spans could not be written to disk ${times} times: ${text}`);
    return error instanceof Error ? error : new Error(text);
  }
}
