import { readdir, realpath, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { makePrivateFolder, ObservatoryError, printableLine } from '../base/index.ts';

/** Without these, a folder is not the whole data of a database. */
const EXPECTED = ['PG_VERSION', 'base', 'global', 'pg_wal'] as const;
const SHOWN = 5;

/** State of the folder at the embedded database's path. */
export type DataDirectoryState = 'missing' | 'empty' | 'database';

/**
 * Inspects a data directory without changing it.
 * @throws ObservatoryError `DATABASE_UNREACHABLE` for a folder that is neither empty nor a whole database: it is somebody
 *   else's, or damaged, and must be left as it is.
 */
export async function inspectDataDirectory(directory: string): Promise<DataDirectoryState> {
  let names: readonly string[];
  try {
    names = await readdir(directory);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return 'missing';
    throw notUnderstood(directory, `it cannot be read (${message})`, 'Use another --data-dir');
  }
  if (names.length === 0) return 'empty';
  const missing = EXPECTED.filter((name) => !names.includes(name));
  if (missing.length === 0) return 'database';
  const more = names.length > SHOWN ? ` and ${names.length - SHOWN} more` : '';
  throw notUnderstood(
    directory,
    `it has ${names.slice(0, SHOWN).join(', ')}${more}, and lacks ${missing.join(', ')}`,
    'Use another --data-dir, put back a copy if this was a database, or delete the folder if nothing in it is needed',
  );
}

/** The path of a data directory without links, so that each directory has one lock. Makes the folder it is in. */
export async function placeOfDataDirectory(directory: string): Promise<string> {
  const path = resolve(directory);
  const existing = await realpath(path).catch(() => undefined);
  if (existing !== undefined) return existing;
  await makePrivateFolder(dirname(path));
  return join(await realpath(dirname(path)), path.slice(dirname(path).length));
}

/** Empties a folder that was empty before this process wrote to it. */
export async function emptyFolder(directory: string): Promise<void> {
  const names = await readdir(directory).catch(() => []);
  for (const name of names) {
    await rm(join(directory, name), { recursive: true, force: true }).catch(() => {});
  }
}

function notUnderstood(directory: string, found: string, remedy: string): ObservatoryError {
  return new ObservatoryError(
    'DATABASE_UNREACHABLE',
    printableLine(
      `The folder ${directory} is not an embedded database, and nothing in it was changed: ${found}. ${remedy}`,
    ),
  );
}
