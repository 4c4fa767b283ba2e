import { ObservatoryError } from '../errors.ts';

/**
 * Loads an optional package when it is first needed.
 * @throws ObservatoryError `MISSING_PEER` with the install command when it is not installed.
 */
export async function loadPeer<T>(name: string, load: () => Promise<T>, neededFor: string): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    if (!isNotFound(cause, name)) throw cause;
    throw new ObservatoryError(
      'MISSING_PEER',
      `${neededFor} needs the package '${name}', which is not installed. Run: npm install ${name}`,
      { cause },
    );
  }
}

/** Whether the package itself is absent, rather than something it imports. */
function isNotFound(error: unknown, name: string): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    (error.code === 'ERR_MODULE_NOT_FOUND' || error.code === 'MODULE_NOT_FOUND') &&
    error.message.includes(`'${name}'`)
  );
}
