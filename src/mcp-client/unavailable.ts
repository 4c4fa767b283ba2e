import { ObservatoryError } from '../base/index.ts';
import { reasonOf } from './reason.ts';

export const DEFAULT_CONNECT_TIMEOUT_MS = 60_000;

/** Why a server that took too long is not there. */
export function notReadyWithin(limitMs: number): string {
  return `did not become ready within ${limitMs} ms`;
}

/** The error of a server that could not be opened, or has gone. */
export function unavailable(
  server: string,
  cause: unknown,
  why: string | undefined,
  stderr: string | undefined,
): ObservatoryError {
  if (why === undefined && ObservatoryError.isInstance(cause)) return cause;
  const said = (stderr ?? '').trim();
  const reason = why ?? reasonOf(cause);
  const tail = said === '' ? '' : ` Its last words on stderr: ${said.slice(-1_000)}`;
  return new ObservatoryError('SERVER_UNAVAILABLE', `Server "${server}": ${reason}.${tail}`, { cause });
}
