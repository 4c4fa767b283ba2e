import { Rejection } from './rejection.ts';

/** `Retry-After` in seconds when there is no room. */
const RETRY_AFTER = 1;

/** No request is let in while another has waited this long to be decoded, since senders give up after 10 s. */
const MAX_WAIT_MS = 3000;

/** Limits on all requests in progress. */
export interface AdmissionLimits {
  readonly maxRequests: number;
  /** Half for bodies on their way, half for requests being decoded and written. */
  readonly maxBytes: number;
  /** Spans of requests being decoded and written. */
  readonly maxSpans: number;
}

/** A request that has been read and waits to be decoded. */
interface Waiting {
  readonly since: number;
  readonly start: () => void;
}

/** Resources held by requests being decoded and written. */
interface Work {
  requests: number;
  bytes: number;
  spans: number;
}

/**
 * Bounds the memory of requests in progress. A request that does not fit is refused at the door, before its body is
 * read, so that no work is done for what is thrown away. One that has been let in is finished: it waits for its turn.
 */
export class RequestAdmission {
  readonly #limits: AdmissionLimits;
  readonly #waiting: Waiting[] = [];
  readonly #work: Work = { requests: 0, bytes: 0, spans: 0 };
  #requests = 0;
  #bodyBytes = 0;

  constructor(limits: AdmissionLimits) {
    this.#limits = limits;
  }

  /** Requests in progress. */
  get requests(): number {
    return this.#requests;
  }

  /** Bytes they hold: reserved for bodies on their way, then of what is decoded from them until they are answered. */
  get bytes(): number {
    return this.#bodyBytes + this.#work.bytes;
  }

  /** @throws Rejection `overloaded` when too many requests or spans are in progress. */
  enter(): Ticket {
    if (this.#requests >= this.#limits.maxRequests) throw overloaded('Too many requests are under way');
    if (this.#isWorkFull) throw overloaded('Too many spans are waiting');
    const [first] = this.#waiting;
    if (first !== undefined && performance.now() - first.since > MAX_WAIT_MS) {
      throw overloaded('Requests wait too long');
    }
    this.#requests += 1;
    return new Ticket(this);
  }

  /** @internal Called by {@link Ticket}. */
  reserve(held: number, wanted: number): void {
    const others = this.#bodyBytes - held;
    // A request above the limit is accepted when alone, or it would be retried forever.
    if (wanted > held && others > 0 && others + wanted > this.#limits.maxBytes / 2) {
      throw overloaded('Requests under way take too much memory');
    }
    this.#bodyBytes = others + wanted;
  }

  /** @internal Resolves when there is room for one more request to be decoded; in order of the calls. */
  async turn(signal: AbortSignal): Promise<void> {
    if (this.#waiting.length > 0 || this.#isWorkFull) await this.#wait(signal);
    this.#work.requests += 1;
  }

  /** @internal */
  changeWork(change: Work): void {
    for (const key of ['requests', 'bytes', 'spans'] as const) this.#work[key] += change[key];
    this.#next();
  }

  /** @internal */
  leave(): void {
    this.#requests -= 1;
  }

  /** The first request always fits, so that those that wait are never stuck. Its size is known only when decoded. */
  get #isWorkFull(): boolean {
    const { requests, bytes, spans } = this.#work;
    const { maxBytes, maxSpans } = this.#limits;
    return requests > 0 && (bytes >= maxBytes / 2 || spans >= maxSpans);
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const gone = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(new Rejection('malformed', 'The sender has gone away'));
      };
      const start = (): void => {
        signal.removeEventListener('abort', gone);
        resolve();
      };
      const waiting = { since: performance.now(), start };
      this.#waiting.push(waiting);
      if (signal.aborted) gone();
      else signal.addEventListener('abort', gone, { once: true });
    });
  }

  /** One at a time: the next but one starts when the size of the next is known. */
  #next(): void {
    if (!this.#isWorkFull) this.#waiting.shift()?.start();
  }
}

/** The place of one request; dispose it to give the place back. */
export class Ticket implements Disposable {
  readonly #admission: RequestAdmission;
  #bodyBytes = 0;
  #work: Work | undefined;

  constructor(admission: RequestAdmission) {
    this.#admission = admission;
  }

  /** Sets how many bytes are kept free for the body. @throws Rejection `overloaded` when that is too much. */
  reserve(bytes: number): void {
    this.#admission.reserve(this.#bodyBytes, bytes);
    this.#bodyBytes = bytes;
  }

  /** Waits until the body may be decoded. @param signal aborted when the sender goes away. @throws Rejection */
  async turn(signal: AbortSignal): Promise<void> {
    await this.#admission.turn(signal);
    this.#work = { requests: 1, bytes: 0, spans: 0 };
  }

  /** Sets what the decoded request holds, instead of its body. */
  holds(bytes: number, spans: number): void {
    this.reserve(0);
    const { bytes: before = 0, spans: spansBefore = 0 } = this.#work ?? {};
    this.#work = { requests: 1, bytes, spans };
    this.#admission.changeWork({ requests: 0, bytes: bytes - before, spans: spans - spansBefore });
  }

  [Symbol.dispose](): void {
    this.reserve(0);
    if (this.#work !== undefined) {
      const { bytes, spans } = this.#work;
      this.#admission.changeWork({ requests: -1, bytes: -bytes, spans: -spans });
    }
    this.#admission.leave();
  }
}

function overloaded(message: string): Rejection {
  return new Rejection('overloaded', message, RETRY_AFTER);
}
