import { randomBytes } from 'node:crypto';
import { readdir, rename, rmdir, stat, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { isProcessAlive, makePrivateFolder, startOfProcess } from '../base/index.ts';

/**
 * The folders of a spool. Any number of processes may share one root, in which each writes only to its own folder,
 * named `<pid>@<process start>@<random>@<host>`. The first process to notice that another is gone takes over its
 * segments by renaming them, which only one can succeed at.
 */

export const SEGMENT_SUFFIX = '.spool';

/** Heartbeat interval of an owner, for processes on other hosts, which cannot check its pid. */
const HEARTBEAT_MS = 20_000;
/**
 * Time without a heartbeat after which an owner on another host counts as gone. Measured from when this process first
 * saw the last heartbeat, because the clocks of the hosts may differ or be set.
 */
const STALE_MS = 5 * 60_000;
/** Used instead of a pid once the owner has closed the folder. */
const NOBODY = '0';

/** A folder of this process. */
export interface OwnFolder {
  readonly path: string;
  /** Releases the folder to other processes. */
  release(): Promise<void>;
}

/** Creates a folder owned by this process until it is released or the process ends. */
export async function createOwnFolder(root: string): Promise<OwnFolder> {
  const rest = uniquePart();
  const path = join(root, `${process.pid}@${(await startOfProcess(process.pid)) ?? ''}@${rest}`);
  await makePrivateFolder(path);
  const heartbeat = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => {});
  }, HEARTBEAT_MS).unref();
  const release = async () => {
    clearInterval(heartbeat);
    // An empty folder is removed; one with segments becomes ownerless, even if this process lives on.
    await rmdir(path).catch(() => rename(path, join(root, `${NOBODY}@@${rest}`)));
  };
  return { path, release };
}

/** A folder name that is not in use. */
export function nameOfOrphan(): string {
  return `${NOBODY}@@${uniquePart()}`;
}

/**
 * A name for a segment. It sorts by time, which within a process only moves forward, then by `count`. The suffix keeps
 * names unique when another process takes over the file.
 */
export function nameOfSegment(count: number): string {
  const now = Math.floor(performance.timeOrigin + performance.now());
  const parts = [now, String(count).padStart(8, '0'), randomBytes(4).toString('hex')];
  return `${parts.join('-')}${SEGMENT_SUFFIX}`;
}

function uniquePart(): string {
  return `${randomBytes(6).toString('hex')}@${encodeURIComponent(hostname())}`;
}

/** Last heartbeats of owners on other hosts, by folder, and when this process first saw them. */
export type SeenOwners = Map<string, { readonly heartbeat: number; readonly since: number }>;

/**
 * Moves the segments of dead owners into a folder of this process.
 * @returns the names of the segments moved.
 */
export async function adoptOrphans(root: string, own: string, seen: SeenOwners): Promise<string[]> {
  const adopted: string[] = [];
  for (const name of await readdir(root).catch(() => [])) {
    const folder = join(root, name);
    if (folder === own || !name.includes('@') || (await isOwned(folder, name, seen))) continue;
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

async function isOwned(folder: string, name: string, seen: SeenOwners): Promise<boolean> {
  const [pid = '', started, , host = ''] = name.split('@');
  if (pid === NOBODY) return false;
  if (host === encodeURIComponent(hostname())) return isProcessAlive(Number(pid), started || undefined);
  const heartbeat = await stat(folder).then(
    ({ mtimeMs }) => mtimeMs,
    () => undefined,
  );
  if (heartbeat === undefined) return true;
  const known = seen.get(name);
  if (known?.heartbeat === heartbeat) return performance.now() - known.since < STALE_MS;
  seen.set(name, { heartbeat, since: performance.now() });
  return true;
}
