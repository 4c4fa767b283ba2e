import { ObservatoryError, withoutTracing } from '../base/index.ts';
import { reviewNotFound } from './review-errors.ts';
import type { FinalOutcome, ReviewOutcome } from './types.ts';

/** Poll intervals: short at first for quick decisions, then longer. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;
const PAUSE_GROWTH = 1.5;

export interface ReviewWaitOptions {
  /** Milliseconds, up to 2147483647 (24 days). @defaultValue until the review ends, which it does when it expires */
  readonly timeoutMs?: number | undefined;
  /** Aborts the wait, not the review. */
  readonly signal?: AbortSignal | undefined;
}

/** Reads the outcomes of the given reviews, if they exist. */
export type ReadOutcomes = (ids: readonly string[]) => Promise<ReadonlyMap<string, ReviewOutcome>>;

/** One waiting call. */
interface Wait {
  readonly id: string;
  /** Whether a poll has found the review, so that a later miss is not the caller's mistake. */
  isSeen: boolean;
  resolve(outcome: FinalOutcome): void;
  reject(error: unknown): void;
}

/**
 * The waits of one queue. They share one statement at a time and one timer, both only while there are waiters. Unlike
 * `LISTEN`, polling holds no connection, works with poolers and PGlite, and survives a server outage.
 */
export class ReviewWaits {
  readonly #read: ReadOutcomes;
  readonly #waits = new Set<Wait>();
  #timer: NodeJS.Timeout | undefined;
  #pauseMs = FIRST_PAUSE_MS;
  #isLooking = false;
  #isClosed = false;

  constructor(read: ReadOutcomes) {
    this.#read = read;
  }

  /** @throws ObservatoryError `REVIEW_UNDECIDED`, `REVIEW_NOT_FOUND`, or what reading throws. */
  wait(id: string, { timeoutMs, signal }: ReviewWaitOptions): Promise<FinalOutcome> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(undecided(id, 'the queue is closed'));
      if (signal?.aborted) return reject(givenUp(id, signal));
      let timer: NodeJS.Timeout | undefined;
      const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        this.#waits.delete(wait);
        if (this.#waits.size === 0) clearTimeout(this.#timer);
      };
      const wait: Wait = {
        id,
        isSeen: false,
        resolve: (outcome) => {
          end();
          resolve(outcome);
        },
        reject: (error) => {
          end();
          reject(error);
        },
      };
      const onAbort = () => wait.reject(givenUp(id, signal as AbortSignal));
      signal?.addEventListener('abort', onAbort, { once: true });
      if (timeoutMs !== undefined) {
        timer = setTimeout(() => wait.reject(undecided(id, `${timeoutMs} ms are over`)), timeoutMs);
      }
      this.#waits.add(wait);
      this.#pauseMs = FIRST_PAUSE_MS;
      void this.#look();
    });
  }

  /** Ends all waits and refuses new ones. */
  close(): void {
    this.#isClosed = true;
    for (const wait of [...this.#waits]) wait.reject(undecided(wait.id, 'the queue was closed'));
  }

  /** Polls for all waits, then sets the timer for the next poll. */
  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    clearTimeout(this.#timer);
    do await this.#lookOnce();
    while ([...this.#waits].some(({ isSeen }) => !isSeen));
    this.#isLooking = false;
    if (this.#waits.size === 0) return;
    this.#timer = setTimeout(() => void this.#look(), this.#pauseMs);
    this.#pauseMs = Math.min(this.#pauseMs * PAUSE_GROWTH, LONGEST_PAUSE_MS);
  }

  async #lookOnce(): Promise<void> {
    const waits = [...this.#waits];
    try {
      const ids = [...new Set(waits.map(({ id }) => id))];
      const outcomes = await withoutTracing(() => this.#read(ids));
      for (const wait of waits) {
        const outcome = outcomes.get(wait.id);
        if (outcome === undefined) wait.reject(reviewNotFound(wait.id));
        else if (isFinal(outcome)) wait.resolve(outcome);
        else wait.isSeen = true;
      }
    } catch (error) {
      // Reviews take hours, so an outage of a minute is retried.
      const isPassing = ObservatoryError.isInstance(error) && error.code === 'DATABASE_UNREACHABLE';
      for (const wait of waits) if (!(isPassing && wait.isSeen)) wait.reject(error);
    }
  }
}

function isFinal(outcome: ReviewOutcome): outcome is FinalOutcome {
  return outcome.status !== 'pending' && outcome.status !== 'claimed';
}

function givenUp(id: string, signal: AbortSignal): ObservatoryError {
  return undecided(id, 'the wait was given up', { cause: signal.reason });
}

function undecided(id: string, why: string, options?: ErrorOptions): ObservatoryError {
  return new ObservatoryError(
    'REVIEW_UNDECIDED',
    `The review ${id} was waited for in vain: ${why}. It is left as it was: wait again, or decide it with 'npx mcp-observatory reviews claim ${id}'`,
    options,
  );
}
