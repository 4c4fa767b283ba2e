/** Retry schedule for an unavailable back end: exponential backoff with jitter. */
export class Pace {
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
