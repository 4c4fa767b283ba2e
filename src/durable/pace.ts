/** When to try a back end that is out of order again: after a wait that doubles, and is not the same for everyone. */
export class Pace {
  readonly #minMs: number;
  readonly #maxMs: number;
  #failures = 0;
  #nextAt = 0;

  constructor(minMs: number, maxMs: number) {
    this.#minMs = minMs;
    this.#maxMs = maxMs;
  }

  /** Whether the back end was out of order at the last attempt. */
  get isDown(): boolean {
    return this.#failures > 0;
  }

  /** Milliseconds until the next attempt, 0 when it is due. */
  get waitMs(): number {
    return this.isDown ? Math.max(0, this.#nextAt - performance.now()) : 0;
  }

  /** The back end answered, whatever it said of the spans. */
  answered(): void {
    this.#failures = 0;
  }

  failed(): void {
    // Several exports under way fail together; they are one failure of the back end.
    if (this.waitMs > 0) return;
    const delayMs = Math.min(this.#maxMs, this.#minMs * 2 ** Math.min(this.#failures, 30));
    this.#failures += 1;
    this.#nextAt = performance.now() + delayMs * (0.75 + Math.random() / 2);
  }
}
