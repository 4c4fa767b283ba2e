import { execFile } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { locate, makePrivateFolder, ObservatoryError } from '../base/index.ts';
import type { CommandIo } from './command-line/index.ts';

const PACKAGE = '@electric-sql/pglite';
/** The line of versions that the embedded database is tested with. */
const RANGE = '~0.5.14';
const FETCH_TIMEOUT_MS = 120_000;

/**
 * Address of the module of PGlite: the installed package, else one in a private folder of the user's cache, which is
 * fetched with npm the first time. Nothing of it runs while it is installed.
 *
 * @throws ObservatoryError `MISSING_PEER` when it cannot be fetched.
 */
export async function fetchedPglite(io: CommandIo): Promise<string | undefined> {
  if (locate(PACKAGE) !== undefined) return undefined;
  const cache = join(io.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'mcp-observatory', 'pglite-0.5');
  const found = () => locate(PACKAGE, join(cache, 'package.json'));
  if (found() === undefined) {
    io.stderr.writeLine(
      `mcp-observatory up: fetching ${PACKAGE}, about 27 MB, into ${cache}; it is done once`,
    );
    await fetchInto(cache);
  }
  const file = found();
  if (file !== undefined) return pathToFileURL(file).href;
  throw new ObservatoryError('MISSING_PEER', `${PACKAGE} is not in ${cache}. Run: npm install ${PACKAGE}`);
}

async function fetchInto(folder: string): Promise<void> {
  await makePrivateFolder(folder);
  const args = [
    'install',
    '--prefix',
    folder,
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--no-save',
    `${PACKAGE}@${RANGE}`,
  ];
  try {
    await promisify(execFile)(process.platform === 'win32' ? 'npm.cmd' : 'npm', args, {
      cwd: folder,
      timeout: FETCH_TIMEOUT_MS,
      shell: process.platform === 'win32',
    });
  } catch (cause) {
    throw new ObservatoryError(
      'MISSING_PEER',
      `${PACKAGE} could not be fetched into ${folder}. Install it (npm install ${PACKAGE}), or give --database-url`,
      { cause },
    );
  }
}
