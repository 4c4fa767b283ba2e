import { createHash, randomBytes } from 'node:crypto';
import { copyFile, link, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { makePrivateFolder, ObservatoryError } from '../../base/index.ts';
import type { ArchivedFile } from '../store/index.ts';
import type { Bucket } from './bucket.ts';
import { download } from './objects.ts';

const GB = 1e9;
/** A download of a process that was killed is removed after a day. */
const PARTIAL_MS = 86_400_000;

/** Objects that were read, by bucket, key and content, in a private folder that is kept below a size. */
export interface Downloads {
  readonly folder: string;
  readonly maxBytes: number;
}

/**
 * Paths of the content of objects, in a work folder on the same disk, so that nothing takes them away while they are used.
 * @throws ObservatoryError `ARCHIVE_REFUSED` when they are too large together.
 */
export async function downloaded(
  bucket: Bucket,
  files: readonly ArchivedFile[],
  { folder, maxBytes }: Downloads,
  work: string,
): Promise<string[]> {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  if (files.length > 1 && bytes > maxBytes) {
    throw new ObservatoryError(
      'ARCHIVE_REFUSED',
      `${files.length} files of ${bucket.name} have ${(bytes / GB).toFixed(1)} GB, more than the ${(maxBytes / GB).toFixed(1)} GB of the cache. Ask about fewer days (--days 2026-11-01..2026-11-07), or allow more (--cache-size GB)`,
    );
  }
  await makePrivateFolder(folder);
  const paths: string[] = [];
  for (const file of files) {
    // The name of the object does not become one here.
    const of = [bucket.address.endpoint ?? '', bucket.name, file.name, file.version, file.bytes];
    const kept = join(folder, `${createHash('sha256').update(JSON.stringify(of)).digest('hex')}.parquet`);
    const path = join(work, `${randomBytes(6).toString('hex')}.parquet`);
    if (!(await isTaken(kept, path, file.bytes))) {
      await makeRoom(folder, maxBytes - file.bytes);
      await fetchFile(bucket, file, kept);
      if (!(await isTaken(kept, path, file.bytes))) {
        throw new ObservatoryError(
          'ARCHIVE_REFUSED',
          `A file in ${folder} was removed while it was used; run it again`,
        );
      }
    }
    paths.push(path);
  }
  return paths;
}

/** Gives a kept file a second name. */
async function isTaken(kept: string, path: string, bytes: number): Promise<boolean> {
  const about = await stat(kept).catch(() => undefined);
  if (about?.size !== bytes) return false;
  try {
    const now = new Date();
    await utimes(kept, now, now);
    // Some file systems have no second names.
    await link(kept, path).catch(() => copyFile(kept, path));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

async function fetchFile(bucket: Bucket, file: ArchivedFile, kept: string): Promise<void> {
  const partial = `${kept}.${randomBytes(6).toString('hex')}.partial`;
  try {
    const handle = await open(partial, 'wx', 0o600);
    try {
      const { name, bytes, version } = file;
      await download(bucket, { key: bucket.address.prefix + name, bytes, version }, handle);
    } finally {
      await handle.close();
    }
    await rename(partial, kept);
  } finally {
    await rm(partial, { force: true });
  }
}

/** Removes files until no more than so many bytes are left, those first that were not used for longest. */
async function makeRoom(folder: string, bytes: number): Promise<void> {
  const kept: { readonly path: string; readonly bytes: number; readonly usedAt: number }[] = [];
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const about = await stat(path).catch(() => undefined);
    if (!about?.isFile()) continue;
    if (name.endsWith('.parquet')) kept.push({ path, bytes: about.size, usedAt: about.mtimeMs });
    else if (name.endsWith('.partial') && about.mtimeMs < Date.now() - PARTIAL_MS)
      await rm(path, { force: true });
  }
  let left = kept.reduce((sum, file) => sum + file.bytes, 0);
  for (const file of kept.sort((a, b) => a.usedAt - b.usedAt)) {
    if (left <= bytes) break;
    await rm(file.path, { force: true });
    left -= file.bytes;
  }
}
