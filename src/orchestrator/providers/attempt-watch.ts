/**
 * The abort signal of one try: the caller's abort, or silence for too long.
 *
 * Each try has a fresh signal and takes its listener off the caller's again, because a signal that outlives many
 * calls would otherwise gather one listener per call.
 */
export class AttemptWatch {
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal | undefined;
  readonly #idleTimeoutMs: number;
  readonly #startedAt = performance.now();
  readonly #timer: NodeJS.Timeout;
  #firstChunkAt: number | undefined;
  #timedOut = false;

  constructor(caller: AbortSignal | undefined, idleTimeoutMs: number) {
    this.#caller = caller;
    this.#idleTimeoutMs = idleTimeoutMs;
    caller?.addEventListener('abort', this.#onAbort, { once: true });
    this.#timer = setTimeout(() => {
      this.#timedOut = true;
      this.#controller.abort(new Error(`no data for ${idleTimeoutMs} ms`));
    }, idleTimeoutMs);
  }

  readonly #onAbort = (): void => this.#controller.abort(this.#caller?.reason);

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get timedOut(): boolean {
    return this.#timedOut;
  }

  get timeToFirstChunkMs(): number | undefined {
    return this.#firstChunkAt === undefined ? undefined : this.#firstChunkAt - this.#startedAt;
  }

  /** Something arrived: the idle clock starts anew. */
  touch(): void {
    this.#firstChunkAt ??= performance.now();
    if (!this.#timedOut && this.#idleTimeoutMs > 0) this.#timer.refresh();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#caller?.removeEventListener('abort', this.#onAbort);
  }
}
