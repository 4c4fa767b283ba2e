import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { bisect } from '../base/index.ts';
import { type DeliveryOutcome, exportTo, isBatchAtFault, isOutOfOrder } from './back-end.ts';
import type { ResolvedDurableOptions } from './options.ts';
import { keepRefused } from './refused-log.ts';
import type { Counters } from './stats.ts';
import type { ThrottledLog } from './throttled-log.ts';

/** How often a batch may fail on a healthy back end before it is bisected for bad spans. */
const ATTEMPTS_BEFORE_BISECTION = 3;

/** Failed exports before the search for bad spans ends. */
const MAX_FAILED_EXPORTS = 100;

/** Failed batches to remember; the oldest is evicted first. */
const MAX_REMEMBERED = 1000;

/** Spans refused by the back end, with the error. */
interface RefusedSpans {
  readonly spans: readonly ReadableSpan[];
  readonly error: Error;
}

/** State of a failed batch. */
interface Failure {
  attempts: number;
  /** Count of successful exports at its first failure; a higher count shows that the back end is healthy. */
  readonly successesBefore: number;
}

/** Exports batches, distinguishes bad spans from an unavailable back end, and counts. */
export class Delivery {
  /** Retry schedule. */
  readonly pace: Pace;
  readonly #options: ResolvedDurableOptions;
  readonly #counters: Counters;
  readonly #log: ThrottledLog;
  readonly #giveUp: () => AbortSignal;
  readonly #onRefused: ((spans: readonly ReadableSpan[], error: Error) => void) | undefined;
  readonly #failures = new Map<string, Failure>();
  #successes = 0;
  /** Set at shutdown, when failures are final and logged as losses. */
  isClosing = false;

  /**
   * @param giveUp the signal that aborts an export started now, which then counts as failed.
   * @param onRefused called with refused spans.
   */
  constructor(
    options: ResolvedDurableOptions,
    counters: Counters,
    log: ThrottledLog,
    giveUp: () => AbortSignal,
    onRefused?: (spans: readonly ReadableSpan[], error: Error) => void,
  ) {
    this.#options = options;
    this.#counters = counters;
    this.#log = log;
    this.#giveUp = giveUp;
    this.#onRefused = onRefused;
    this.pace = new Pace(options.minRetryDelayMs, options.maxRetryDelayMs);
  }

  /**
   * Exports a batch once, or in parts if it seems to contain bad spans. A span counts as bad only if it failed alone
   * while another export succeeded since the batch first failed, so that a failing back end does not make all spans
   * look bad.
   * @param onFailure called with the error if the whole batch failed.
   * @returns the spans to retry; empty when all are stored or refused.
   */
  async deliver(
    batch: readonly ReadableSpan[],
    onFailure?: (error: Error) => void,
  ): Promise<readonly ReadableSpan[]> {
    const key = toKey(batch);
    const suspects: RefusedSpans[] = [];
    let failedExports = 0;
    let unsent = await bisect(batch, async (part) => {
      const outcome = await this.#send(part);
      if (outcome.kind === 'refused') await this.#setAside(outcome);
      if (outcome.kind !== 'failed') return 'done';
      const { error } = outcome;
      if (part === batch) {
        this.#tell(error);
        onFailure?.(error);
      }
      if (isOutOfOrder(error) || (part === batch && !this.#isSuspicious(key, error))) return 'stop';
      failedExports += 1;
      if (failedExports > MAX_FAILED_EXPORTS) return 'stop';
      if (part.length === 1) suspects.push({ spans: part, error });
      return 'bad';
    });
    const successesBefore = this.#failures.get(key)?.successesBefore ?? this.#successes;
    if (this.#successes > successesBefore) for (const suspect of suspects) await this.#setAside(suspect);
    else unsent = [...suspects.flatMap(({ spans }) => spans), ...unsent];
    if (unsent.length < batch.length) this.#failures.delete(key);
    return unsent;
  }

  async #send(spans: readonly ReadableSpan[]): Promise<DeliveryOutcome> {
    const { exporter, exportTimeoutMs } = this.#options;
    const outcome = await exportTo(exporter, spans, exportTimeoutMs, this.#giveUp());
    if (outcome.kind === 'failed') {
      this.#counters.failedExports += 1;
      if (isOutOfOrder(outcome.error)) this.pace.failed();
      else this.pace.answered();
      return outcome;
    }
    this.#successes += 1;
    this.pace.answered();
    this.#counters.exported += spans.length - (outcome.kind === 'refused' ? outcome.spans.length : 0);
    return outcome;
  }

  async #setAside({ spans, error }: RefusedSpans): Promise<void> {
    this.#counters.refused += spans.length;
    this.#onRefused?.(spans, error);
    const directory = this.#options.spool?.directory;
    const kept = directory === undefined ? 0 : await keepRefused(directory, spans, error);
    this.#log.warn('refused', spans.length, (total) => {
      const where = kept < spans.length ? 'dropped' : `set aside in ${directory}`;
      return `the back end refused ${total} spans, which are ${where}: ${error.message}`;
    });
  }

  #tell(error: Error): void {
    if (this.isClosing) return;
    this.#log.warn('failed', 1, (total) => {
      const safe = this.#options.spool === undefined ? 'wait in memory' : 'go to the disk';
      return `${total} exports of spans failed; they ${safe} and are sent again: ${error.message}`;
    });
  }

  /** Whether a failed batch seems to contain bad spans: the error says so, or it has failed often enough. */
  #isSuspicious(key: string, error: Error): boolean {
    const known = this.#failures.get(key) ?? { attempts: 0, successesBefore: this.#successes };
    known.attempts += 1;
    this.#failures.set(key, known);
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > MAX_REMEMBERED && oldest !== undefined) this.#failures.delete(oldest);
    return isBatchAtFault(error) || known.attempts >= ATTEMPTS_BEFORE_BISECTION;
  }
}

/** Identifies a batch by its first span, also after a round trip to disk. */
function toKey([first]: readonly ReadableSpan[]): string {
  const context = first?.spanContext();
  return `${context?.traceId}${context?.spanId}`;
}

/** Retry schedule for an unavailable back end: exponential backoff with jitter. */
class Pace {
  readonly #minMs: number;
  readonly #maxMs: number;
  #failures = 0;
  #nextAt = 0;

  constructor(minMs: number, maxMs: number) {
    this.#minMs = minMs;
    this.#maxMs = maxMs;
  }

  /** Whether the back end was unavailable at the last attempt. */
  get isDown(): boolean {
    return this.#failures > 0;
  }

  /** Milliseconds until the next attempt, 0 when it is due. */
  get waitMs(): number {
    return this.isDown ? Math.max(0, this.#nextAt - performance.now()) : 0;
  }

  /** Records an answer of the back end, even a refusal. */
  answered(): void {
    this.#failures = 0;
  }

  failed(): void {
    // Concurrent exports that fail together count as one failure.
    if (this.waitMs > 0) return;
    const delayMs = Math.min(this.#maxMs, this.#minMs * 2 ** Math.min(this.#failures, 30));
    this.#failures += 1;
    this.#nextAt = performance.now() + delayMs * (0.75 + Math.random() / 2);
  }
}
