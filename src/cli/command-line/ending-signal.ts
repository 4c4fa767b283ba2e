/** After the signal: what still runs in a database then is given up, so that the process ends before it is killed. */
export const END_MS = 20_000;

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** Shutdown signals of a long-running command: the first one shuts it down gracefully, the second ends it at once. */
export class EndingSignal implements Disposable {
  readonly #giveUp = new AbortController();
  #listener: (() => void) | undefined;

  /** Aborted {@link END_MS} after the signal. */
  get giveUp(): AbortSignal {
    return this.#giveUp.signal;
  }

  /** Resolves at the first signal from now on. */
  wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#listener = () => {
        this[Symbol.dispose]();
        setTimeout(() => this.#giveUp.abort(), END_MS).unref();
        resolve();
      };
      for (const name of SIGNALS) process.on(name, this.#listener);
    });
  }

  [Symbol.dispose](): void {
    if (this.#listener !== undefined)
      for (const name of SIGNALS) process.removeListener(name, this.#listener);
  }
}
