import { readFileSync } from 'node:fs';

/** After the signal: what still runs in a database then is given up, so that the process ends before it is killed. */
export const END_MS = 20_000;

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/**
 * Shutdown signals of a long-running command: the first one shuts it down gracefully, the second ends it at once. A terminal
 * that closes is one, however often it says so; under `nohup` it is none.
 */
export class EndingSignal implements Disposable {
  readonly #giveUp = new AbortController();
  #listener: (() => void) | undefined;
  #onHangup: () => void = () => {};

  /** Aborted {@link END_MS} after the signal. */
  get giveUp(): AbortSignal {
    return this.#giveUp.signal;
  }

  /** Resolves at the first signal from now on. */
  wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#listener = () => {
        this.#stopListening();
        setTimeout(() => this.#giveUp.abort(), END_MS).unref();
        resolve();
      };
      for (const name of SIGNALS) process.on(name, this.#listener);
      if (!outlivesTerminal()) this.#onHangup = this.#listener;
      process.on('SIGHUP', this.#onHangup);
    });
  }

  #stopListening(): void {
    if (this.#listener !== undefined)
      for (const name of SIGNALS) process.removeListener(name, this.#listener);
  }

  [Symbol.dispose](): void {
    this.#stopListening();
    process.removeListener('SIGHUP', this.#onHangup);
  }
}

/** Whether `nohup` started it, which leaves a standard input that nobody can read; Node forgets what it was told to ignore. */
function outlivesTerminal(): boolean {
  try {
    const [, flags = '0'] = /^flags:\s*([0-7]+)$/mu.exec(readFileSync('/proc/self/fdinfo/0', 'utf8')) ?? [];
    return Number.parseInt(flags, 8) % 4 === 1;
  } catch {
    return false;
  }
}
