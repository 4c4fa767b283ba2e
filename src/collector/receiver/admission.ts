import { Rejection } from './rejection.ts';

/** Seconds that a sender is asked to wait when there is no room. */
const RETRY_AFTER = 1;

/** What requests under way may take together. */
export interface AdmissionLimits {
  readonly maxRequests: number;
  readonly maxBytes: number;
}

/** Keeps the memory of requests under way within bounds: one that does not fit is told to come again. */
export class RequestAdmission {
  readonly #limits: AdmissionLimits;
  #requests = 0;
  #bytes = 0;

  constructor(limits: AdmissionLimits) {
    this.#limits = limits;
  }

  /** Requests under way. */
  get requests(): number {
    return this.#requests;
  }

  /** Bytes that they hold: bodies as they come, then unpacked until they are answered. */
  get bytes(): number {
    return this.#bytes;
  }

  /** @throws Rejection `overloaded` when too many requests are under way. */
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
    // What is too much by itself goes when it is alone, or it would be told to come again for ever.
    if (wanted > held && others > 0 && others + wanted > this.#limits.maxBytes) {
      throw new Rejection('overloaded', 'Requests under way take too much memory', RETRY_AFTER);
    }
    this.#bytes = others + wanted;
  }
}

/** The place that one request takes; it must be given back. */
export class Ticket implements Disposable {
  readonly #hold: (held: number, wanted: number) => void;
  readonly #leave: () => void;
  #bytes = 0;

  constructor(hold: (held: number, wanted: number) => void, leave: () => void) {
    this.#hold = hold;
    this.#leave = leave;
  }

  /** Says how much the request holds now. @throws Rejection `overloaded` when that is too much. */
  holds(bytes: number): void {
    this.#hold(this.#bytes, bytes);
    this.#bytes = bytes;
  }

  [Symbol.dispose](): void {
    this.holds(0);
    this.#leave();
  }
}
