import { ObservatoryError } from '../../errors.ts';

/** Loads an optional peer when it is first needed. @throws ObservatoryError `MISSING_PEER` with the install command. */
export async function importPeer<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw cause;
    throw new ObservatoryError(
      'MISSING_PEER',
      `The package ${name} is needed for this MCP server and is not installed; run: npm install ${name}`,
      { cause },
    );
  }
}
