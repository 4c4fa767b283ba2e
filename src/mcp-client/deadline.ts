/** What the signal of a {@link Deadline} says when it fires. */
interface DeadlineReasons {
  /** When the time ran out. */
  readonly timedOut?: (() => unknown) | undefined;
  /** When one of the signals fired. @defaultValue an error without its reason */
  readonly cancelled?: ((source: AbortSignal) => unknown) | undefined;
}

/** A time limit and any number of signals, joined in one signal that lives until {@link clear}. */
export class Deadline {
  /** True when the time ran out before any of the signals fired. */
  passed = false;
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #sources: ReadonlyMap<AbortSignal, () => void>;

  constructor(
    limitMs: number,
    sources: readonly (AbortSignal | undefined)[],
    {
      timedOut = () => new Error('timed out'),
      cancelled = () => new Error('cancelled'),
    }: DeadlineReasons = {},
  ) {
    this.#timer = setTimeout(() => {
      this.passed = !this.signal.aborted;
      this.#controller.abort(timedOut());
    }, limitMs);
    const given = sources.filter((source) => source !== undefined);
    this.#sources = new Map(
      given.map((source) => [source, () => this.#controller.abort(cancelled(source))] as const),
    );
    for (const [source, onAbort] of this.#sources) {
      if (source.aborted) onAbort();
      source.addEventListener('abort', onAbort);
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }

  refresh(): void {
    if (!this.signal.aborted) this.#timer.refresh();
  }

  /** Stops the timer and lets go of the signals, which may outlive many calls. */
  clear(): void {
    clearTimeout(this.#timer);
    for (const [source, onAbort] of this.#sources) source.removeEventListener('abort', onAbort);
  }
}

/**
 * Runs with a signal that follows `signal` and lives as long as the run. Rejects as soon as `signal` fires, even when
 * the run ignores its own signal.
 *
 * SDK v1 never removes its listener from the signal it is given. On the caller's signal these listeners would add up;
 * on a signal made by `AbortSignal.any` they would keep everything they refer to alive, because Node holds such a
 * signal for as long as it has listeners.
 */
export async function withOwnSignal<T>(
  signal: AbortSignal,
  run: (own: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const controller = new AbortController();
  let onAbort: (() => void) | undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => {
      controller.abort(signal.reason);
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([run(controller.signal), aborted]);
  } finally {
    if (onAbort !== undefined) signal.removeEventListener('abort', onAbort);
  }
}
