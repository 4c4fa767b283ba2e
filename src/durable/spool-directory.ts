import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rmdir, stat, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { isProcessAlive, startOfProcess } from '../base/index.ts';

/**
 * The folders of a spool. Under one root, which any number of processes may share, each process has a folder that
 * only it writes to; its name says whose it is: `<pid>@<start of the process>@<random>@<host>`. The segments of a
 * process that is gone are moved over by whichever process comes first; a rename goes to one of them only.
 */

export const SEGMENT_SUFFIX = '.spool';

/** How often an owner shows that it lives, for processes on other hosts, which cannot ask. */
const HEARTBEAT_MS = 20_000;
/** After this long without a sign, an owner on another host counts as gone. */
const STALE_MS = 5 * 60_000;
/** In the place of a pid: the owner has closed the folder. */
const NOBODY = '0';

/** A folder of this process. */
export interface OwnFolder {
  readonly path: string;
  /** Leaves what is in it to others. */
  release(): Promise<void>;
}

/** Makes a folder that belongs to this process until it is released or the process ends. */
export async function createOwnFolder(root: string): Promise<OwnFolder> {
  const rest = `${randomBytes(6).toString('hex')}@${encodeURIComponent(hostname())}`;
  const path = join(root, `${process.pid}@${(await startOfProcess(process.pid)) ?? ''}@${rest}`);
  await mkdir(path, { recursive: true, mode: 0o700 });
  const heartbeat = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => {});
  }, HEARTBEAT_MS).unref();
  const release = async () => {
    clearInterval(heartbeat);
    // An empty folder is removed; one that holds segments becomes nobody's, though this process may live on.
    await rmdir(path).catch(() => rename(path, join(root, `${NOBODY}@@${rest}`)));
  };
  return { path, release };
}

/**
 * Moves the segments of owners that are gone into a folder of this process.
 * @returns the names of the segments moved.
 */
export async function adoptOrphans(root: string, own: string): Promise<string[]> {
  const adopted: string[] = [];
  for (const name of await readdir(root).catch(() => [])) {
    const folder = join(root, name);
    if (folder === own || !name.includes('@') || (await isOwned(folder, name))) continue;
    for (const segment of await readdir(folder).catch(() => [])) {
      if (!segment.endsWith(SEGMENT_SUFFIX)) continue;
      const isMoved = await rename(join(folder, segment), join(own, segment)).then(
        () => true,
        () => false, // another process was faster
      );
      if (isMoved) adopted.push(segment);
    }
    await rmdir(folder).catch(() => {});
  }
  return adopted;
}

async function isOwned(folder: string, name: string): Promise<boolean> {
  const [pid = '', started, , host = ''] = name.split('@');
  if (pid === NOBODY) return false;
  if (host === encodeURIComponent(hostname())) return isProcessAlive(Number(pid), started || undefined);
  const { mtimeMs } = await stat(folder).catch(() => ({ mtimeMs: Date.now() }));
  return Date.now() - mtimeMs < STALE_MS;
}
