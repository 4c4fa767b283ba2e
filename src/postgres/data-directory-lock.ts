import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isProcessAlive, ObservatoryError, startOfProcess } from '../base/index.ts';

/** Contenders that start in the same instant each give way; a few tries later one of them is alone. */
const ATTEMPTS = 5;

/**
 * Keeps a PGlite data directory to one process: PGlite itself lets a second one in, and the two corrupt it.
 *
 * Each contender writes a file of its own beside the directory, `<directory>.lock.<unique>`, and then looks for those
 * of others. As each writes before it looks, two can never both find themselves alone. Files of processes that no
 * longer run are removed, which is safe because no name is ever used twice.
 *
 * @returns a function that gives the directory free.
 * @throws ObservatoryError `DATABASE_UNREACHABLE` when another owner is alive.
 */
export async function lockDataDirectory(directory: string): Promise<() => Promise<void>> {
  const path = resolve(directory);
  const prefix = `${basename(path)}.lock.`;
  const folder = dirname(path);
  await mkdir(folder, { recursive: true });
  for (let attempt = 1; ; attempt += 1) {
    const own = `${prefix}${randomUUID()}`;
    const release = () => rm(join(folder, own), { force: true });
    await writeFile(join(folder, own), JSON.stringify(await currentOwner()));
    const other = await findLiveOwner(folder, prefix, own);
    if (other === undefined) return release;
    await release();
    if (attempt === ATTEMPTS) throw inUse(path, other);
    await sleep(20 + Math.random() * 80);
  }
}

interface Owner {
  readonly pid: number;
  readonly host: string;
  /** When the process started, in the kernel's ticks: tells a reused pid. Absent where the system does not say. */
  readonly started?: string | undefined;
}

interface OtherOwner {
  readonly file: string;
  /** Who it is, for the message. */
  readonly text: string;
}

async function currentOwner(): Promise<Owner> {
  return { pid: process.pid, host: hostname(), started: await startOfProcess(process.pid) };
}

async function findLiveOwner(folder: string, prefix: string, own: string): Promise<OtherOwner | undefined> {
  const names = (await readdir(folder)).filter((name) => name.startsWith(prefix) && name !== own);
  for (const name of names) {
    const file = join(folder, name);
    const text = await readFile(file, 'utf8').catch(() => undefined);
    if (text === undefined) continue; // given free in the meantime
    const owner = parseOwner(text);
    if (owner === undefined) return { file, text: 'another process' };
    if (await isAlive(owner)) return { file, text: `process ${owner.pid} on ${owner.host}` };
    await rm(file, { force: true });
  }
  return undefined;
}

function parseOwner(text: string): Owner | undefined {
  try {
    const owner = JSON.parse(text) as Owner;
    return Number.isInteger(owner.pid) && typeof owner.host === 'string' ? owner : undefined;
  } catch {
    return undefined; // being written this instant
  }
}

/** An owner on another host (a container that shares the folder) cannot be asked, so it counts as alive. */
async function isAlive(owner: Owner): Promise<boolean> {
  if (owner.host !== hostname()) return true;
  return isProcessAlive(owner.pid, owner.started);
}

function inUse(directory: string, other: OtherOwner): ObservatoryError {
  return new ObservatoryError(
    'DATABASE_UNREACHABLE',
    `The embedded database ${directory} is in use by ${other.text}. Close that one first, or use a Postgres server ` +
      `(DATABASE_URL), which takes many processes. If no such process runs, delete ${other.file}`,
  );
}
