import { ObservatoryError } from '../../errors.ts';

/**
 * Loads an optional package when it is first needed.
 * @throws ObservatoryError `MISSING_PEER` with the install command when it is not installed.
 */
export async function loadPeer<T>(name: string, range: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw cause;
    throw new ObservatoryError(
      'MISSING_PEER',
      `The package ${name} is needed and is not installed. Run: npm install ${name}@${range}`,
      { cause },
    );
  }
}
