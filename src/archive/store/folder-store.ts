import { chmod, mkdir, mkdtemp, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { makePrivateFolder } from '../../base/index.ts';
import type { ArchivedFile, ArchiveStore, WorkFolder } from './archive-store.ts';
import { isNameOfFile } from './file-names.ts';

/** An archive in a folder of this machine. */
export function openFolderStore(folder: string): ArchiveStore {
  return {
    name: folder,
    list: () => listFolder(folder),
    paths: async (files) => files.map(({ name }) => join(folder, name)),
    put: async (path, name, mayReplace) => {
      const target = join(folder, name);
      if (await isThere(target)) await mayReplace(target);
      await makePrivateFolder(dirname(target));
      await chmod(path, 0o600);
      await flushToDisk(path);
      await rename(path, target);
      await flushToDisk(dirname(target));
    },
    // On the disk of the archive, so that a file becomes one of the archive by its name alone.
    workForWriting: async () => {
      await makePrivateFolder(folder);
      const path = join(folder, '.work');
      await rm(path, { recursive: true, force: true });
      await mkdir(path, { mode: 0o700 });
      return workFolder(path);
    },
    workForReading: async () => workFolder(await mkdtemp(join(tmpdir(), 'mcp-observatory-query-'))),
    [Symbol.asyncDispose]: async () => {},
  };
}

/** What removes a folder that exists. */
export function workFolder(path: string): WorkFolder {
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

async function listFolder(folder: string): Promise<ArchivedFile[]> {
  const entries = await readdir(folder, { recursive: true }).catch(() => []);
  const names = entries.map((entry) => entry.replaceAll('\\', '/')).filter(isNameOfFile);
  const files: ArchivedFile[] = [];
  for (const name of names.sort()) {
    const { size, mtimeMs } = await stat(join(folder, name));
    files.push({ name, bytes: size, version: String(mtimeMs) });
  }
  return files;
}

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}

async function flushToDisk(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
