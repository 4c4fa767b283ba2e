import { chmod, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makePrivateFolder, syncToDisk } from '../base/index.ts';
import { isNameOfFile } from './file-names.ts';
import type { ArchiveStore } from './store.ts';

/** An archive in a folder of this machine. */
export function openFolderStore(folder: string): ArchiveStore {
  return {
    name: folder,
    list: async () => {
      const entries = await readdir(folder, { recursive: true }).catch(() => []);
      return entries
        .map((entry) => entry.replaceAll('\\', '/'))
        .filter(isNameOfFile)
        .sort();
    },
    pathOf: (name) => join(folder, name),
    put: async (path, name, mayReplace) => {
      const target = join(folder, name);
      if (await isThere(target)) await mayReplace();
      await makePrivateFolder(dirname(target));
      await chmod(path, 0o600);
      await syncToDisk(path);
      await rename(path, target);
      await syncToDisk(dirname(target));
    },
  };
}

/** A work folder on the disk of the archive, so that a file becomes one of the archive by its name alone. */
export async function makeWorkFolder(folder: string): Promise<string> {
  await makePrivateFolder(folder);
  const path = join(folder, '.work');
  await rm(path, { recursive: true, force: true });
  await mkdir(path, { mode: 0o700 });
  return path;
}

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}
