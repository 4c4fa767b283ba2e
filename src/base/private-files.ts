import { randomUUID } from 'node:crypto';
import { mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** What this package writes may hold prompts, answers and results, so only its owner may read it, whatever the umask. */
const FOLDER = { recursive: true, mode: 0o700 } as const;
const FILE = { flag: 'wx', mode: 0o600 } as const;

/** Makes a folder and those around it. One that exists keeps its permissions. */
export async function makePrivateFolder(path: string): Promise<void> {
  await mkdir(path, FOLDER);
}

/**
 * Writes a file atomically: readers see the old file or the new one. Makes its folder. A link is replaced, not
 * followed. A device or a pipe, such as `/dev/null` or `/dev/stdout`, is written to and not replaced.
 */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  await makePrivateFolder(dirname(path));
  if (isDevice(path)) return await writeFile(path, text);
  const beside = besideOf(path);
  try {
    await writeFile(beside, text, FILE);
    await rename(beside, path);
  } finally {
    await rm(beside, { force: true });
  }
}

/** Like {@link writePrivateFile}. */
export function writePrivateFileSync(path: string, text: string): void {
  mkdirSync(dirname(path), FOLDER);
  if (isDevice(path)) {
    writeFileSync(path, text);
    return;
  }
  const beside = besideOf(path);
  try {
    writeFileSync(beside, text, FILE);
    renameSync(beside, path);
  } finally {
    rmSync(beside, { force: true });
  }
}

function isDevice(path: string): boolean {
  // Also where the output of the process goes to a file.
  if (/^\/(?:dev\/(?:stdout|stderr|fd\/)|proc\/)/.test(resolve(path))) return true;
  const about = statSync(path, { throwIfNoEntry: false });
  return about !== undefined && !about.isFile() && !about.isDirectory();
}

function besideOf(path: string): string {
  return `${path}.${randomUUID()}.tmp`;
}
