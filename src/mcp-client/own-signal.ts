/**
 * Runs with a signal that follows `signal` and lives as long as the run.
 *
 * SDK v1 leaves its listener on the signal it is given. On the caller's own signal these would add up, and on one made
 * by `AbortSignal.any` they would keep everything they refer to for as long as the process lives, since Node holds such
 * a signal for as long as it has listeners.
 */
export async function withOwnSignal<T>(
  signal: AbortSignal,
  run: (own: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await run(controller.signal);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
