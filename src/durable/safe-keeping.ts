import { setTimeout as sleep } from 'node:timers/promises';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { errorMessage } from '../base/index.ts';
import { Delivery } from './delivery.ts';
import { Drain } from './drain.ts';
import type { ResolvedDurableOptions } from './options.ts';
import { Spool } from './spool.ts';
import type { Counters } from './stats.ts';
import type { ThrottledLog } from './throttled-log.ts';

/** Makes batches safe: each is retried until exported, or spooled and sent from disk, or dropped at shutdown. */
export class SafeKeeping {
  /** Settles when the spool is ready or has failed to open. */
  readonly opened: Promise<void>;
  readonly #options: ResolvedDurableOptions;
  readonly #counters: Counters;
  readonly #log: ThrottledLog;
  /** Set at shutdown: nothing waits, and spans that are not stored go to disk or are lost. */
  readonly #giveUp = new AbortController();
  readonly #delivery: Delivery;
  #spool: Spool | undefined;
  #drain: Drain | undefined;
  #spoolLossesLogged = 0;

  constructor(options: ResolvedDurableOptions, counters: Counters, log: ThrottledLog) {
    this.#options = options;
    this.#counters = counters;
    this.#log = log;
    this.#delivery = new Delivery(options, counters, log, this.#giveUp.signal);
    this.opened = this.#openSpool();
  }

  get hasDisk(): boolean {
    return this.#spool !== undefined;
  }

  get isGivingUp(): boolean {
    return this.#giveUp.signal.aborted;
  }

  get isBackEndDown(): boolean {
    return this.#delivery.pace.isDown;
  }

  get spoolBytes(): number {
    return this.#spool?.bytes ?? 0;
  }

  get damagedBytes(): number {
    return this.#spool?.losses.damagedBytes ?? 0;
  }

  /** Spans lost so far, from memory and from the disk. */
  get lost(): number {
    const losses = this.#spool?.losses;
    return this.#counters.dropped + (losses === undefined ? 0 : losses.dropped + losses.unreadable);
  }

  /** Processes a batch until it is exported, spooled or dropped. */
  async settle(batch: readonly ReadableSpan[]): Promise<void> {
    await this.opened;
    const { pace } = this.#delivery;
    const { minRetryDelayMs, maxRetryDelayMs } = this.#options;
    let rest = batch;
    for (let delayMs = minRetryDelayMs; ; delayMs = Math.min(2 * delayMs, maxRetryDelayMs)) {
      if (pace.waitMs === 0 && !this.#giveUp.signal.aborted) {
        const before = rest.length;
        rest = await this.#delivery.deliver(rest);
        this.#counters.waiting -= before - rest.length;
        if (rest.length === 0) return;
      }
      if (await this.#putOnDisk(rest)) return;
      if (this.#giveUp.signal.aborted) {
        this.#counters.waiting -= rest.length;
        this.drop(rest.length, 'they could not be stored before the end');
        return;
      }
      await this.#sleep(Math.max(delayMs, pace.waitMs));
    }
  }

  /** Spools a batch to make room; if that fails it is processed as usual. */
  async spill(batch: readonly ReadableSpan[]): Promise<void> {
    if (!(await this.#putOnDisk(batch))) await this.settle(batch);
  }

  /** Counts and logs lost spans. */
  drop(count: number, why: string): void {
    this.#counters.dropped += count;
    this.#log.warn(why, count, (total) => `${total} spans were dropped because ${why}`);
  }

  /** Stops all waiting. */
  giveUp(): void {
    this.#giveUp.abort();
  }

  /** Sends spooled spans while the back end accepts them, until `deadline`, and closes the spool. */
  async close(deadline: number): Promise<void> {
    while (this.#drain?.isIdle === false && !this.#delivery.pace.isDown && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const stopped = this.#drain?.stop();
    if (performance.now() >= deadline) this.giveUp();
    await stopped;
    await this.#spool?.close();
  }

  async #openSpool(): Promise<void> {
    const { spool: options } = this.#options;
    if (options === undefined) return;
    try {
      this.#spool = await Spool.open(options);
      this.#drain = new Drain(this.#spool, this.#delivery, options, this.#counters, this.#log);
    } catch (error) {
      this.#log.warn('spool', 1, () => `no spool in ${options.directory}: ${errorMessage(error)}`);
    }
  }

  /** @returns whether the batch is on disk. */
  async #putOnDisk(batch: readonly ReadableSpan[]): Promise<boolean> {
    if (this.#spool === undefined) return false;
    try {
      await this.#spool.append(batch);
    } catch (error) {
      this.#log.warn(
        'disk',
        1,
        (times) => `spans could not be written to disk ${times} times: ${errorMessage(error)}`,
      );
      return false;
    }
    this.#counters.spooled += batch.length;
    this.#counters.waiting -= batch.length;
    this.#drain?.notify();
    const { dropped, unreadable } = this.#spool.losses;
    const lost = dropped + unreadable - this.#spoolLossesLogged;
    this.#spoolLossesLogged += lost;
    if (lost > 0)
      this.#log.warn(
        'spool',
        lost,
        (total) => `${total} spans were dropped from the disk: too many or too old`,
      );
    return true;
  }

  /** Waits without keeping the process alive; returns at once during shutdown. */
  async #sleep(ms: number): Promise<void> {
    await sleep(ms, undefined, { ref: false, signal: this.#giveUp.signal }).catch(() => {});
  }
}
