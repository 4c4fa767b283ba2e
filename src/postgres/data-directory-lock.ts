import { randomUUID } from 'node:crypto';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  isProcessAlive,
  ObservatoryError,
  readOwnText,
  type StoreDoor,
  startOfProcess,
  writePrivateFile,
} from '../base/index.ts';
import { isListening, type Liveness, listenIn } from './liveness.ts';

/** Contenders that start at the same time all back off; a few attempts later one of them succeeds. */
const ATTEMPTS = 5;

/** A lock file appears complete. An empty one that is older than this was cut off by a full disk or a crash. */
const UNREADABLE_FOR_MS = 10_000;

export interface DataDirectoryLock {
  release(): Promise<void>;
  /** Says to other processes of this user where they may read. */
  note(door: StoreDoor): Promise<void>;
}

const placeOfLocks = (path: string) => ({ folder: dirname(path), prefix: `${basename(path)}.lock.` });

/** Where the owner of a directory lets others of its user read, if one lives on this host and does. */
export async function findDoor(path: string): Promise<StoreDoor | undefined> {
  const { folder, prefix } = placeOfLocks(path);
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.startsWith(prefix)) continue;
    // Only what this user wrote: in a shared folder another one could name an address of its own.
    const owner = parseOwner(readOwnText(join(folder, name)) ?? '');
    if (owner?.door !== undefined && owner.host === hostname() && (await isAlive(folder, owner)))
      return isLocal(owner.door) ? owner.door : undefined;
  }
  return undefined;
}

/** A file that came with a folder must send nothing elsewhere. */
const isLocal = ({ url, spansUrl = url }: StoreDoor): boolean =>
  [url, spansUrl].every((one) => /^http:\/\/127\.0\.0\.1:\d{1,5}(?:\/|$)/u.test(String(one)));

/**
 * Locks a PGlite data directory for one process: PGlite does not prevent a second one, and the two would corrupt it.
 *
 * Each contender writes its own file next to the directory, `<directory>.lock.<unique>`, and then looks for others. As
 * each writes before it looks, two can never both find themselves alone. Files of dead processes are removed, which is
 * safe because names are never reused.
 *
 * @param path of the directory, absolute and without links: a directory must not have two locks.
 * @throws ObservatoryError `DATABASE_UNREACHABLE` when another owner is alive; the error of the file system.
 */
export async function lockDataDirectory(path: string): Promise<DataDirectoryLock> {
  const { folder, prefix } = placeOfLocks(path);
  for (let attempt = 1; ; attempt += 1) {
    const id = randomUUID();
    const own = `${prefix}${id}`;
    const listening = await listenIn(folder, `${basename(path)}.owner.${id}`);
    const write = async (door?: StoreDoor) =>
      writePrivateFile(join(folder, own), JSON.stringify(await currentOwner(listening?.proof, door)));
    const release = async () => {
      await rm(join(folder, own), { force: true });
      await listening?.stop();
    };
    let other: OtherOwner | undefined;
    try {
      await write();
      other = await findLiveOwner(folder, prefix, own);
    } catch (error) {
      await release();
      throw error;
    }
    if (other === undefined) return { release, note: write };
    await release();
    if (attempt === ATTEMPTS) throw inUse(path, other);
    await sleep(20 + Math.random() * 80);
  }
}

interface Owner {
  readonly pid: number;
  readonly host: string;
  /** Start time of the process in kernel ticks, to detect a reused pid. Absent where unknown. */
  readonly started?: string | undefined;
  /** Absent where it cannot be proved. */
  readonly alive?: Liveness | undefined;
  readonly door?: StoreDoor | undefined;
}

interface OtherOwner {
  readonly file: string;
  /** Description for the message. */
  readonly text: string;
}

async function currentOwner(alive: Liveness | undefined, door: StoreDoor | undefined): Promise<Owner> {
  return { pid: process.pid, host: hostname(), started: await startOfProcess(process.pid), alive, door };
}

async function findLiveOwner(folder: string, prefix: string, own: string): Promise<OtherOwner | undefined> {
  const names = (await readdir(folder)).filter(
    // A file that is still being written claims nothing yet.
    (name) => name.startsWith(prefix) && name !== own && !name.endsWith('.tmp'),
  );
  for (const name of names) {
    const file = join(folder, name);
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) =>
      error.code === 'ENOENT' ? undefined : error,
    );
    if (text === undefined) continue; // released in the meantime
    if (typeof text !== 'string') return { file, text: `a process whose lock cannot be read (${text.code})` };
    const owner = parseOwner(text);
    if (owner === undefined) {
      if (!(await isOlder(file, join(folder, own)))) return { file, text: 'another process' };
    } else if (await isAlive(folder, owner)) {
      return { file, text: `process ${owner.pid} on ${owner.host}` };
    }
    await rm(file, { force: true });
    if (owner?.alive !== undefined) await rm(join(folder, basename(owner.alive.socket)), { force: true });
  }
  return undefined;
}

/** Whether a file was written long before another one, by the clock of their file system. */
async function isOlder(file: string, other: string): Promise<boolean> {
  const [before, after] = await Promise.all([stat(file).catch(() => undefined), stat(other)]);
  return before === undefined || after.mtimeMs - before.mtimeMs > UNREADABLE_FOR_MS;
}

function parseOwner(text: string): Owner | undefined {
  try {
    const { pid, host, started, alive, door } = JSON.parse(text) as Partial<Owner>;
    if (!Number.isInteger(pid) || typeof host !== 'string') return undefined;
    return {
      pid: Number(pid),
      host,
      started,
      alive: typeof alive?.socket === 'string' ? alive : undefined,
      door,
    };
  } catch {
    return undefined;
  }
}

/** An owner on another host that gave no proof of its life under this kernel cannot be checked, and counts as alive. */
async function isAlive(folder: string, { pid, host, started, alive }: Owner): Promise<boolean> {
  const proved = alive === undefined ? undefined : await isListening(folder, alive);
  if (proved !== undefined) return proved;
  return host !== hostname() || (await isProcessAlive(pid, started));
}

function inUse(directory: string, other: OtherOwner): ObservatoryError {
  return new ObservatoryError(
    'DATABASE_UNREACHABLE',
    `The embedded database ${directory} is in use by ${other.text}. Close that one first, or use a Postgres server ` +
      `(--database-url), which takes many processes. If no such process runs, on any machine or in any container that ` +
      `has this folder, delete ${other.file}`,
  );
}
