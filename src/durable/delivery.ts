import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { type DeliveryOutcome, exportTo, isBatchAtFault, isOutOfOrder } from './back-end.ts';
import { isolate, type RefusedSpans } from './isolate.ts';
import type { ResolvedDurableOptions } from './options.ts';
import { Pace } from './pace.ts';
import { keepRefused } from './refused-log.ts';
import type { Counters } from './stats.ts';
import type { ThrottledLog } from './throttled-log.ts';

/** How often a batch may fail on a healthy back end before it is bisected for bad spans. */
const ATTEMPTS_BEFORE_ISOLATION = 3;

/** Failed batches to remember; the oldest is evicted first. */
const MAX_REMEMBERED = 1000;

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
  readonly #giveUp: AbortSignal;
  readonly #onRefused: ((spans: readonly ReadableSpan[], error: Error) => void) | undefined;
  readonly #failures = new Map<string, Failure>();
  #successes = 0;

  /**
   * @param giveUp aborts exports in progress, which then count as failed.
   * @param onRefused called with refused spans.
   */
  constructor(
    options: ResolvedDurableOptions,
    counters: Counters,
    log: ThrottledLog,
    giveUp: AbortSignal,
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
   * Exports a batch once, or in parts if it seems to contain bad spans.
   * @returns the spans to retry; empty when all are stored or refused.
   */
  async deliver(batch: readonly ReadableSpan[]): Promise<readonly ReadableSpan[]> {
    const outcome = await this.#send(batch);
    if (outcome.kind === 'stored') return this.#settled(batch);
    if (outcome.kind === 'refused') {
      await this.#setAside(outcome);
      return this.#settled(batch);
    }
    this.#tell(outcome.error);
    if (isOutOfOrder(outcome.error)) return batch;
    const failure = this.#rememberFailure(batch);
    const isSuspicious = isBatchAtFault(outcome.error) || failure.attempts >= ATTEMPTS_BEFORE_ISOLATION;
    if (!isSuspicious) return batch;
    const { refused, unsent } = await isolate(
      batch,
      (part) => this.#send(part),
      () => this.#successes > failure.successesBefore,
    );
    for (const refusal of refused) await this.#setAside(refusal);
    if (unsent.length < batch.length) this.#settled(batch);
    return unsent;
  }

  async #send(spans: readonly ReadableSpan[]): Promise<DeliveryOutcome> {
    const { exporter, exportTimeoutMs } = this.#options;
    const outcome = await exportTo(exporter, spans, exportTimeoutMs, this.#giveUp);
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
    if (directory !== undefined) await keepRefused(directory, spans, error);
    this.#log.warn('refused', spans.length, (total) => {
      const where = directory === undefined ? 'dropped' : `set aside in ${directory}`;
      return `the back end refused ${total} spans, which are ${where}: ${error.message}`;
    });
  }

  #tell(error: Error): void {
    this.#log.warn('failed', 1, (total) => {
      const safe = this.#options.spool === undefined ? 'wait in memory' : 'go to the disk';
      return `${total} exports of spans failed; they ${safe} and are sent again: ${error.message}`;
    });
  }

  #rememberFailure(batch: readonly ReadableSpan[]): Failure {
    const key = keyOf(batch);
    const known = this.#failures.get(key) ?? { attempts: 0, successesBefore: this.#successes };
    known.attempts += 1;
    this.#failures.set(key, known);
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > MAX_REMEMBERED && oldest !== undefined) this.#failures.delete(oldest);
    return known;
  }

  #settled(batch: readonly ReadableSpan[]): [] {
    if (this.#failures.size > 0) this.#failures.delete(keyOf(batch));
    return [];
  }
}

/** Identifies a batch by its first span, also after a round trip to disk. */
function keyOf([first]: readonly ReadableSpan[]): string {
  const context = first?.spanContext();
  return `${context?.traceId}${context?.spanId}`;
}
