import { ObservatoryError, withoutUserInfo } from '../base/index.ts';

export const DEFAULT_CONNECT_TIMEOUT_MS = 60_000;

export function notReadyWithin(limitMs: number): string {
  return `did not become ready within ${limitMs} ms`;
}

/**
 * The error for a server that could not be opened or went away. An `ObservatoryError` without a better explanation in
 * `why` is passed on as it is.
 */
export function unavailable(
  server: string,
  cause: unknown,
  why: string | undefined,
  stderr: string | undefined,
): ObservatoryError {
  if (why === undefined && ObservatoryError.isInstance(cause)) return cause;
  const tail = (stderr ?? '').trim().slice(-1_000);
  return new ObservatoryError(
    'SERVER_UNAVAILABLE',
    `Server "${server}": ${withoutUserInfo(why ?? reasonOf(cause))}.${tail === '' ? '' : ` Last output on stderr: ${tail}`}`,
    { cause },
  );
}

/** Longest message of a server that is passed on. */
const MAX_REASON = 8_192;

/** The message of an error, cut to size; `fetch` says only "fetch failed" and keeps the reason in `cause`. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error).slice(0, MAX_REASON);
  const { cause } = error;
  const message = error.message.slice(0, MAX_REASON);
  return cause instanceof Error && cause.message !== ''
    ? `${message}: ${cause.message.slice(0, MAX_REASON)}`
    : message;
}
