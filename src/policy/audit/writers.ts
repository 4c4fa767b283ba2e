/**
 * The list of the writers of a directory: their count and the hash over them. It is overwritten when one is added, so
 * who removes a writer needs a copy of the list as it was before, or the key.
 */
import { linkSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makePrivateFolderSync } from '../../base/index.ts';
import {
  auditUnavailable,
  GENESIS,
  hashText,
  orUnavailable,
  readSealed,
  type Seal,
  sealed,
} from './files.ts';

/** How many writers there are, and the hash over all of them in their order. */
export interface WritersState {
  readonly writers: number;
  readonly head: string;
}

const WRITERS_DIR = 'writers';
const WRITERS_FILE = /^([1-9]\d{0,9})\.json$/;
/** Most tries to enter the list while other processes enter it too. */
const MAX_CLAIMS = 1_000;

/** The hash over a list of writers with one more. */
export function writersHash(previous: string, writer: string, key: string | undefined): string {
  return hashText(`writers:${previous}:${writer}`, key);
}

/**
 * The list of writers of a directory, its newest version; undefined when there is none. Each version is a file of its
 * own, named by the count, so that of two processes that enter at once one fails and tries again. Only the newest has
 * content.
 */
export function readWriters(dir: string, key: string | undefined): WritersState | undefined | 'invalid' {
  for (let tries = 0; tries < MAX_CLAIMS; tries += 1) {
    const count = newestWriters(dir);
    if (count === 0) return undefined;
    const state = readSealed(join(dir, WRITERS_DIR, `${count}.json`), key);
    if (state?.writers === count && typeof state.head === 'string')
      return { writers: count, head: state.head };
    // Emptied by the next version meanwhile.
    if (newestWriters(dir) === count) return 'invalid';
  }
  return 'invalid';
}

function newestWriters(dir: string): number {
  let names: readonly string[];
  try {
    names = readdirSync(join(dir, WRITERS_DIR));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
  return names.reduce((most, name) => Math.max(most, Number(WRITERS_FILE.exec(name)?.[1] ?? 0)), 0);
}

/**
 * Enters a writer into the list.
 * @param announce told its number and the hash of the list before it, before each try.
 * @throws ObservatoryError `AUDIT_UNAVAILABLE`
 */
export function enterWriters(
  dir: string,
  writer: string,
  { key }: Seal,
  announce: (number: number, previous: string) => void,
): void {
  const folder = join(dir, WRITERS_DIR);
  const draft = join(folder, `${writer}.new`);
  orUnavailable(`enter the list of writers '${folder}'`, () => {
    makePrivateFolderSync(folder);
    for (let tries = 0; tries < MAX_CLAIMS; tries += 1) {
      const before = readWriters(dir, key) ?? { writers: 0, head: GENESIS };
      if (before === 'invalid') {
        throw auditUnavailable(
          `The list of writers in '${folder}' was changed or written with another key: check the directory with ` +
            "'mcp-observatory gate verify', and use another one for new runs",
        );
      }
      const writers = before.writers + 1;
      announce(writers, before.head);
      const head = writersHash(before.head, writer, key);
      writeFileSync(draft, `${sealed({ version: 1, writers, head }, key)}\n`, { mode: 0o600 });
      const isEntered = linkIfFree(draft, join(folder, `${writers}.json`));
      rmSync(draft, { force: true });
      if (!isEntered) continue;
      // Emptied and not removed: a process that is slow must find the number taken.
      if (writers > 1) truncateSync(join(folder, `${writers - 1}.json`));
      return;
    }
    throw auditUnavailable(`Too many processes enter '${folder}' at once`);
  });
}

/** Gives a file a name that no other file may have: atomic, where `rename` would replace the other file. */
function linkIfFree(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
