/** A timeout and any number of signals as one signal. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #sources: readonly AbortSignal[];
  passed = false;

  constructor(limitMs: number, ...sources: readonly (AbortSignal | undefined)[]) {
    this.#sources = sources.filter((source) => source !== undefined);
    this.#timer = setTimeout(() => {
      this.passed = true;
      this.#controller.abort(new Error('timed out'));
    }, limitMs);
    for (const source of this.#sources) {
      if (source.aborted) this.#onAbort();
      source.addEventListener('abort', this.#onAbort);
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  clear(): void {
    clearTimeout(this.#timer);
    for (const source of this.#sources) source.removeEventListener('abort', this.#onAbort);
  }

  readonly #onAbort = (): void => this.#controller.abort(new Error('cancelled'));
}
