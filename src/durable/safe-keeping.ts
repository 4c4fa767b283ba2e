import { setTimeout as sleep } from 'node:timers/promises';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { errorMessage } from '../base/index.ts';
import { Delivery } from './delivery.ts';
import { Drain } from './drain.ts';
import {
  type DurableSpanProcessorOptions,
  type ResolvedDurableOptions,
  resolveDurableOptions,
} from './options.ts';
import { Spool } from './spool.ts';
import { type Counters, type DurableStats, newCounters, observe } from './stats.ts';
import { ThrottledLog } from './throttled-log.ts';

const POLL_MS = 5;

/** Differences between the owners of a {@link SafeKeeping}. */
export interface KeepingMode {
  /**
   * While the back end is down, spool spans at once and leave it to the drain to detect when it recovers. For callers
   * that wait for each span and would otherwise wait for exports that fail.
   */
  readonly sparesDownBackEnd: boolean;
  /** At shutdown, send spooled spans while the back end accepts them and time remains. */
  readonly drainsAtShutdown: boolean;
  /** Called with refused spans. */
  readonly onRefused?: (spans: readonly ReadableSpan[], error: Error) => void;
}

/** Result of an attempt to make a batch safe. */
export interface KeepingResult {
  /** Spans that are neither exported nor on disk. */
  readonly unsafe: readonly ReadableSpan[];
  /** Why they are not; `undefined` when all spans are safe. */
  readonly error: Error | undefined;
}

/**
 * Makes batches safe: exports them or, if the back end is unavailable, spools them and sends them from disk. Holds what
 * `DurableSpanProcessor` and `DurableSpanWriter` share: state of the back end, retries, spool, counts and shutdown.
 */
export class SafeKeeping {
  readonly options: ResolvedDurableOptions;
  readonly counters: Counters = newCounters();
  readonly log: ThrottledLog = new ThrottledLog();
  /** Resolves when the spool, if any, is ready, or with the file system's error if it cannot be opened. */
  readonly opened: Promise<Error | undefined>;
  readonly #mode: KeepingMode;
  /** Aborted at shutdown: nothing waits, and spans that are not stored go to disk or are lost. */
  readonly #giveUp = new AbortController();
  readonly #delivery: Delivery;
  readonly #endMetrics: () => void;
  #spool: Spool | undefined;
  #drain: Drain | undefined;
  #spoolLossesLogged = 0;

  /** @throws ObservatoryError `INVALID_OPTION` for options that cannot be used. */
  constructor(options: DurableSpanProcessorOptions, mode: KeepingMode) {
    this.options = resolveDurableOptions(options);
    this.#mode = mode;
    const { options: resolved, counters, log } = this;
    this.#delivery = new Delivery(resolved, counters, log, this.#giveUp.signal, mode.onRefused);
    this.opened = this.#openSpool().then(
      () => undefined,
      (error: Error) => error,
    );
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

  get isGivingUp(): boolean {
    return this.#giveUp.signal.aborted;
  }

  /** Time until the back end may be tried again after a failure, in milliseconds; 0 when due. */
  get waitMs(): number {
    return this.#delivery.pace.waitMs;
  }

  /** Spans lost so far, from memory and from disk. */
  get lost(): number {
    return this.counters.dropped + this.#lostOnDisk;
  }

  /** Records the state of the back end found by other means. */
  backEndSeen(isUp: boolean): void {
    if (isUp) this.#delivery.pace.answered();
    else this.#delivery.pace.failed();
  }

  /** Exports a batch once, unless the back end is to be left alone, and spools the unsent spans. */
  async attempt(batch: readonly ReadableSpan[]): Promise<KeepingResult> {
    await this.opened;
    const { pace } = this.#delivery;
    const isSpared = this.#mode.sparesDownBackEnd && this.hasDisk ? pace.isDown : pace.waitMs > 0;
    const unsent = isSpared || this.isGivingUp ? batch : await this.#delivery.deliver(batch);
    const error = unsent.length === 0 ? undefined : await this.#putOnDisk(unsent);
    return { unsafe: error === undefined ? [] : unsent, error };
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
      if (this.isGivingUp) {
        this.counters.waiting -= rest.length;
        this.drop(rest.length, 'they could not be stored before the end');
        return;
      }
      // Does not keep the process alive, and ends at shutdown.
      const { signal } = this.#giveUp;
      await sleep(Math.max(delayMs, this.waitMs), undefined, { ref: false, signal }).catch(() => {});
    }
  }

  /** Spools a waiting batch to make room; if that fails it is settled as usual. */
  async spill(batch: readonly ReadableSpan[]): Promise<void> {
    if ((await this.#putOnDisk(batch)) === undefined) this.counters.waiting -= batch.length;
    else await this.settle(batch);
  }

  /** Counts and logs lost spans. */
  drop(count: number, why: string): void {
    this.counters.dropped += count;
    this.log.warn(why, count, (total) => `${total} spans were dropped because ${why}`);
  }

  /**
   * Waits for the owner's batches and closes the spool. After `flushTimeoutMs` exports are aborted, and what is not
   * stored is spooled or dropped.
   * @param settled resolves when all batches are settled.
   */
  async close(settled: Promise<unknown>): Promise<void> {
    const late = setTimeout(() => this.#giveUp.abort(), this.options.flushTimeoutMs);
    await settled;
    await this.opened;
    const isDraining = () => this.#drain?.isIdle === false && !this.#delivery.pace.isDown;
    if (this.#mode.drainsAtShutdown) while (isDraining() && !this.isGivingUp) await sleep(POLL_MS);
    await this.#drain?.stop();
    clearTimeout(late);
    await this.#spool?.close();
    this.#endMetrics();
  }

  get #lostOnDisk(): number {
    const losses = this.#spool?.losses;
    return losses === undefined ? 0 : losses.dropped + losses.unreadable;
  }

  async #openSpool(): Promise<void> {
    const { spool: options } = this.options;
    if (options === undefined) return;
    this.#spool = await Spool.open(options);
    this.#drain = new Drain(this.#spool, this.#delivery, options, this.counters, this.log);
  }

  /** @returns why the batch is not on disk; `undefined` if it is. */
  async #putOnDisk(batch: readonly ReadableSpan[]): Promise<Error | undefined> {
    if (this.#spool === undefined) return new Error('the back end does not accept spans now');
    try {
      await this.#spool.append(batch);
    } catch (error) {
      const text = errorMessage(error);
      this.log.warn('disk', 1, (times) => `spans could not be written to disk ${times} times: ${text}`);
      return error instanceof Error ? error : new Error(text);
    }
    this.counters.spooled += batch.length;
    this.#drain?.notify();
    const lost = this.#lostOnDisk - this.#spoolLossesLogged;
    this.#spoolLossesLogged += lost;
    const message = (total: number) => `${total} spans were dropped from the disk: too many or too old`;
    if (lost > 0) this.log.warn('spool', lost, message);
    return undefined;
  }
}
