/**
 * Answers that a provider makes in the background: `create` gives an id, and the answer is retrieved by it, often asked
 * for many times. That is one call to a model, from `create` to the answer, and one span.
 */
import { stringAt } from '../../json/index.ts';
import { RecentMap } from '../../processor/index.ts';
import type { ResponseObserver } from './api-promise.ts';
import type { StreamObserver } from './observe-stream.ts';
import type { OpenCall } from './open-calls.ts';

/** What of an SDK says that an answer is not whole yet. */
export interface Background {
  /** The id of an answer that the provider goes on with; undefined when it is whole. */
  readonly pendingId: (value: unknown) => string | undefined;
  /** Whether an answer was made in the background, so that nobody has seen it whole before. */
  readonly isOwn: (value: unknown) => boolean;
}

/** {@link Background.pendingId} of OpenAI's responses and Gemini's interactions, which have the same states. */
export function pendingIdByStatus(value: unknown): string | undefined {
  const status = stringAt(value, 'status');
  return status === 'queued' || status === 'in_progress' ? stringAt(value, 'id') : undefined;
}

/** A call whose answer may still be being made. */
interface WaitingCall extends StreamObserver {
  /** Hands over the answer as it was retrieved: whole, a stream, or still not made. */
  resume(value: unknown, props: unknown): void;
}

const MAX_KEPT = 4096;
const waiting = new RecentMap<WaitingCall>(MAX_KEPT);
/** Ids of answers that were seen whole: who reads one again makes no call. */
const seen = new RecentMap<true>(MAX_KEPT);

/** The answer of one call that asked for it to be made in the background. */
export class BackgroundAnswer {
  /** Observes a stream of it: who throws that away unread may still retrieve the answer. */
  readonly observer: StreamObserver & OpenCall;
  readonly #background: Background;
  readonly #call: WaitingCall;
  #id: string | undefined;

  constructor(background: Background, call: WaitingCall) {
    this.#background = background;
    this.#call = call;
    this.observer = {
      lastActivityMs: 0,
      chunk: (value) => call.chunk(value),
      end: () => call.end(),
      closed: () => call.closed(),
      fail: (error) => call.fail(error),
      abandon: () => call.closed(),
    };
  }

  get isAwaited(): boolean {
    return this.#id !== undefined;
  }

  /** Waits for the rest of an answer that is not whole; false for one that is. */
  goesOn(value: unknown): boolean {
    const id = this.#background.pendingId(value);
    if (id === undefined) return false;
    this.#id = id;
    waiting.set(id, this.#call);
    return true;
  }

  /** It is waited for no longer. */
  end(id: string | undefined, isSeen: boolean): void {
    const known = this.#id ?? id;
    if (known === undefined) return;
    waiting.delete(known);
    if (isSeen) seen.set(known, true);
  }
}

/**
 * Watches a retrieval: of an answer that a call of this process waits for, or, as in a program that was only told the
 * id, of one that was made in the background. Any other answer was seen when it was made.
 */
export class Retrieval implements ResponseObserver {
  readonly lastActivityMs = 0;
  readonly #id: string;
  readonly #background: Background;
  readonly #begin: () => WaitingCall;

  /** @param begin makes a call for an answer that nobody waits for, which began when the retrieval did. */
  constructor(id: string, background: Background, begin: () => WaitingCall) {
    this.#id = id;
    this.#background = background;
    this.#begin = begin;
  }

  value(value: unknown, props: unknown): void {
    const call = waiting.get(this.#id);
    if (call !== undefined) call.resume(value, props);
    else if (seen.get(this.#id) === undefined && this.#isFirstSight(value))
      this.#begin().resume(value, props);
  }

  #isFirstSight(value: unknown): boolean {
    const { isOwn, pendingId } = this.#background;
    const isStream = typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
    return isStream || (pendingId(value) === undefined && isOwn(value));
  }

  /** The call may still be answered. */
  fail(): void {}
  rawResponse(): void {}
  abandon(): void {}
}
