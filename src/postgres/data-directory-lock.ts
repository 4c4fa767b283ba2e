import { randomUUID } from 'node:crypto';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isProcessAlive, makePrivateFolder, ObservatoryError, startOfProcess } from '../base/index.ts';

/** Contenders that start at the same time all back off; a few attempts later one of them succeeds. */
const ATTEMPTS = 5;

/**
 * Locks a PGlite data directory for one process: PGlite does not prevent a second one, and the two would corrupt it.
 *
 * Each contender writes its own file next to the directory, `<directory>.lock.<unique>`, and then looks for others. As
 * each writes before it looks, two can never both find themselves alone. Files of dead processes are removed, which is
 * safe because names are never reused.
 *
 * @returns a function that releases the directory.
 * @throws ObservatoryError `DATABASE_UNREACHABLE` when another owner is alive.
 */
export async function lockDataDirectory(directory: string): Promise<() => Promise<void>> {
  const path = resolve(directory);
  const prefix = `${basename(path)}.lock.`;
  const folder = dirname(path);
  await makePrivateFolder(folder);
  for (let attempt = 1; ; attempt += 1) {
    const own = `${prefix}${randomUUID()}`;
    const release = () => rm(join(folder, own), { force: true });
    await writeFile(join(folder, own), JSON.stringify(await currentOwner()), { mode: 0o600 });
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
  /** Start time of the process in kernel ticks, to detect a reused pid. Absent where unknown. */
  readonly started?: string | undefined;
}

interface OtherOwner {
  readonly file: string;
  /** Description for the message. */
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
    if (text === undefined) continue; // released in the meantime
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
    return undefined; // being written
  }
}

/** An owner on another host, such as a container that shares the folder, cannot be checked and counts as alive. */
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
