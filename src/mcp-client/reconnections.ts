/** More than can be waiting at once: a transport waits two seconds at most, or what the server asks for. */
const MAX_TRACKED = 256;

/**
 * Keeps hold of the timers with which the HTTP transports of the SDKs plan to reopen streams. The transports remember
 * the latest alone, so after their `close()` the others go on, each holding the process for its time.
 */
export class Reconnections {
  readonly #timers: Set<NodeJS.Timeout> = new Set();
  #closed = false;

  /** For client v2, which lets its timers be supplied. */
  readonly schedule = (reconnect: () => void, delayMs: number): (() => void) => {
    if (this.#closed) return () => undefined;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      reconnect();
    }, delayMs);
    this.#timers.add(timer);
    return () => clearTimeout(timer);
  };

  /** For SDK v1, which keeps the latest timer in a private field: sees what is written there. */
  watchField(transport: object): void {
    let latest: NodeJS.Timeout | undefined;
    Object.defineProperty(transport, '_reconnectionTimeout', {
      configurable: true,
      get: () => latest,
      set: (timer: NodeJS.Timeout | undefined) => {
        latest = timer;
        if (timer === undefined) return;
        if (this.#closed) return clearTimeout(timer);
        this.#timers.add(timer);
        const [oldest] = this.#timers;
        if (this.#timers.size > MAX_TRACKED && oldest !== undefined) this.#timers.delete(oldest);
      },
    });
  }

  /** Cancels what is planned, and what a reconnection that is under way would plan when it fails. */
  close(): void {
    this.#closed = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }
}
