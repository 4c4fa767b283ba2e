import { errorMessage } from '../base/index.ts';
import { mayBeOfTheBatch } from './back-end.ts';
import type { Delivery } from './delivery.ts';
import type { ResolvedSpoolOptions } from './options.ts';
import type { Spool } from './spool.ts';
import type { Counters } from './stats.ts';
import type { ThrottledLog } from './throttled-log.ts';

/** Poll interval of an idle spool, to which another process may add spans. */
const IDLE_MS = 30_000;

const RETRY_MS = 1000;

/** Attempts at a batch before it is moved behind the others. */
const ATTEMPTS_BEFORE_LAST = 3;

/** Sends what is on disk, oldest first, one batch at a time and at a bounded rate, until it is stopped. */
export class Drain {
  readonly #spool: Spool;
  readonly #delivery: Delivery;
  readonly #options: ResolvedSpoolOptions;
  readonly #counters: Counters;
  readonly #finished: Promise<void>;
  readonly #log: ThrottledLog;
  #attempts = 0;
  #isStopped = false;
  #isIdle = false;
  #wake: () => void = () => {};

  constructor(
    spool: Spool,
    delivery: Delivery,
    options: ResolvedSpoolOptions,
    counters: Counters,
    log: ThrottledLog,
  ) {
    this.#spool = spool;
    this.#delivery = delivery;
    this.#options = options;
    this.#counters = counters;
    this.#log = log;
    this.#finished = this.#run();
  }

  /** Whether there is nothing left to send. */
  get isIdle(): boolean {
    return this.#isIdle && (this.#spool.isEmpty || this.#spool.retryInMs !== undefined);
  }

  /** Checks the disk now. */
  notify(): void {
    if (this.#isIdle) this.#wake();
  }

  /** Stops after the current batch. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#wake();
    await this.#finished;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      const waitMs = this.#delivery.pace.waitMs;
      try {
        if (waitMs > 0) await this.#sleep(waitMs);
        else await this.#next();
      } catch (error) {
        const text = errorMessage(error);
        this.#log.warn('drain', 1, (times) => `spans could not be read from disk ${times} times: ${text}`);
        await this.#sleep(RETRY_MS);
      }
    }
  }

  async #next(): Promise<void> {
    const batch = await this.#spool.peek();
    if (batch === undefined) {
      this.#isIdle = true;
      await this.#sleep(Math.min(IDLE_MS, this.#spool.retryInMs ?? IDLE_MS));
      this.#isIdle = false;
      return;
    }
    const startedAt = performance.now();
    let isAnswered = false;
    const unsent = await this.#delivery.deliver(batch.spans, (error) => {
      isAnswered = mayBeOfTheBatch(error);
    });
    this.#counters.drained += batch.spans.length - unsent.length;
    if (unsent.length === 0) {
      this.#attempts = 0;
      await this.#spool.remove();
      const paceMs = (batch.spans.length / this.#options.drainSpansPerSecond) * 1000;
      await this.#sleep(paceMs - (performance.now() - startedAt));
      return;
    }
    // A batch that is refused, or takes too long, looks like an outage, but is an attempt.
    if (this.#delivery.pace.isDown && !isAnswered) return;
    this.#attempts += 1;
    // Move a failing batch to the end, so that it does not block the others.
    if (unsent.length < batch.spans.length || this.#attempts >= ATTEMPTS_BEFORE_LAST) {
      this.#attempts = 0;
      if (await this.#putLast(unsent)) await this.#spool.remove();
    }
    await this.#sleep(RETRY_MS);
  }

  async #putLast(spans: Parameters<Spool['append']>[0]): Promise<boolean> {
    return this.#spool.append(spans, true).then(
      () => true,
      () => false,
    );
  }

  #sleep(ms: number): Promise<void> {
    if (this.#isStopped || ms <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms).unref();
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
