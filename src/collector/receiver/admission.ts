import { Rejection } from './rejection.ts';

/** `Retry-After` in seconds when there is no room. */
const RETRY_AFTER = 1;

/** Limits on all requests in progress. */
export interface AdmissionLimits {
  readonly maxRequests: number;
  readonly maxBytes: number;
}

/** Bounds the memory of requests in progress: senders of requests that do not fit are asked to retry. */
export class RequestAdmission {
  readonly #limits: AdmissionLimits;
  #requests = 0;
  #bytes = 0;

  constructor(limits: AdmissionLimits) {
    this.#limits = limits;
  }

  /** Requests in progress. */
  get requests(): number {
    return this.#requests;
  }

  /** Bytes they hold: bodies as received, then decompressed until answered. */
  get bytes(): number {
    return this.#bytes;
  }

  /** @throws Rejection `overloaded` when too many requests are in progress. */
  enter(): Ticket {
    if (this.#requests >= this.#limits.maxRequests) {
      throw new Rejection('overloaded', 'Too many requests are under way', RETRY_AFTER);
    }
    this.#requests += 1;
    return new Ticket(
      (held, wanted) => this.#hold(held, wanted),
      () => {
        this.#requests -= 1;
      },
    );
  }

  #hold(held: number, wanted: number): void {
    const others = this.#bytes - held;
    // A request above the limit is accepted when alone, or it would be retried forever.
    if (wanted > held && others > 0 && others + wanted > this.#limits.maxBytes) {
      throw new Rejection('overloaded', 'Requests under way take too much memory', RETRY_AFTER);
    }
    this.#bytes = others + wanted;
  }
}

/** The slot of one request; dispose it to release the slot. */
export class Ticket implements Disposable {
  readonly #hold: (held: number, wanted: number) => void;
  readonly #leave: () => void;
  #bytes = 0;

  constructor(hold: (held: number, wanted: number) => void, leave: () => void) {
    this.#hold = hold;
    this.#leave = leave;
  }

  /** Sets how many bytes the request holds now. @throws Rejection `overloaded` when that is too much. */
  holds(bytes: number): void {
    this.#hold(this.#bytes, bytes);
    this.#bytes = bytes;
  }

  [Symbol.dispose](): void {
    this.holds(0);
    this.#leave();
  }
}
