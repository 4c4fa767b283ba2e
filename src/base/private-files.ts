import { randomUUID } from 'node:crypto';
import { mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** What this package writes may hold prompts, answers and results, so only its owner may read it, whatever the umask. */
const FOLDER = { mode: 0o700 } as const;
const FILE = { flag: 'wx', mode: 0o600 } as const;

/**
 * Makes a folder and those around it. One that exists keeps its permissions.
 *
 * Not by `mkdir` with `recursive`, which never ends where the parent exists and the file system still answers ENOENT,
 * as `/proc` does.
 * @throws the file system's error.
 */
export async function makePrivateFolder(path: string): Promise<void> {
  try {
    await mkdir(path, FOLDER);
  } catch (error) {
    if (!isParentMissing(path, error)) return;
    await makePrivateFolder(dirname(path));
    await mkdir(path, FOLDER).catch((again: unknown) => refuseUnlessFolder(path, again));
  }
}

/** Like {@link makePrivateFolder}. */
export function makePrivateFolderSync(path: string): void {
  try {
    mkdirSync(path, FOLDER);
  } catch (error) {
    if (!isParentMissing(path, error)) return;
    makePrivateFolderSync(dirname(path));
    try {
      mkdirSync(path, FOLDER);
    } catch (again) {
      refuseUnlessFolder(path, again);
    }
  }
}

/** Whether to make the parent first; false if the folder is there. @throws the error for anything else */
function isParentMissing(path: string, error: unknown): boolean {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT' && dirname(path) !== path) return true;
  refuseUnlessFolder(path, error);
  return false;
}

/** Another process may have made it meanwhile; some file systems answer EROFS or EPERM for a folder that exists. */
function refuseUnlessFolder(path: string, error: unknown): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
}

/**
 * Writes a file atomically: readers see the old file or the new one. Makes its folder. A link is replaced, not
 * followed. A device or a pipe, such as `/dev/null` or `/dev/stdout`, is written to and not replaced.
 */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  if (isDevice(path)) {
    await makePrivateFolder(dirname(path));
    return await writeFile(path, text);
  }
  await replacePrivateFile(path, text);
}

/** As {@link writePrivateFile}, for a secret: whatever is at the path is replaced, also a pipe that somebody else reads. */
export async function replacePrivateFile(path: string, text: string): Promise<void> {
  await makePrivateFolder(dirname(path));
  const beside = findBeside(path);
  try {
    await writeFile(beside, text, FILE);
    await rename(beside, path);
  } finally {
    await rm(beside, { force: true });
  }
}

/** Like {@link writePrivateFile}. */
export function writePrivateFileSync(path: string, text: string): void {
  makePrivateFolderSync(dirname(path));
  if (isDevice(path)) {
    writeFileSync(path, text);
    return;
  }
  const beside = findBeside(path);
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

function findBeside(path: string): string {
  return `${path}.${randomUUID()}.tmp`;
}

/** What has been written to a file, or a new name in a folder, is durable only once that has been synced. */
export async function syncToDisk(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
