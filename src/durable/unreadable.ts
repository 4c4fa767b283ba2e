import { open, readdir, rename } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { makePrivateFolder } from '../base/index.ts';
import type { Stretch } from './segment-reader.ts';
import { SEGMENT_SUFFIX } from './spool-directory.ts';

/** Folder of a spool for unreadable bytes. Nothing in it is ever deleted. */
export const UNREADABLE_FOLDER = 'unreadable';

/** Suffix of records of a form this version does not know. Each start tries them again. */
const NEWER_SUFFIX = `.newer${SEGMENT_SUFFIX}`;
const DAMAGED_SUFFIX = '.damaged';

/**
 * Keeps the unreadable stretches of a segment that is about to be removed: damaged bytes in `<segment>.damaged`, records
 * of a newer form in `<segment>.newer.spool`. If they cannot be written, e.g. because the disk is full, the whole segment
 * is moved.
 *
 * @returns the files, now durable.
 * @throws the file system's error when neither was possible; the segment is still in its place.
 */
export async function setAside(root: string, path: string, stretches: readonly Stretch[]): Promise<string[]> {
  const folder = join(root, UNREADABLE_FOLDER);
  const base = join(folder, basename(basename(path, SEGMENT_SUFFIX), '.newer'));
  const newer = stretches.filter(({ spans }) => spans > 0);
  const parts = [
    { file: `${base}${DAMAGED_SUFFIX}`, part: stretches.filter(({ spans }) => spans === 0) },
    { file: `${base}${NEWER_SUFFIX}`, part: newer },
  ].filter(({ part }) => part.length > 0);
  await makePrivateFolder(folder);
  try {
    for (const { file, part } of parts) await write(file, Buffer.concat(part.map(({ bytes }) => bytes)));
    return parts.map(({ file }) => file);
  } catch {
    const whole = `${base}${newer.length > 0 ? NEWER_SUFFIX : DAMAGED_SUFFIX}`;
    await rename(path, whole);
    return [whole];
  }
}

/**
 * Moves records set aside by an older version, which this one may know, into a folder of this process.
 * @returns the names of the segments moved.
 */
export async function takeNewer(root: string, own: string): Promise<string[]> {
  const folder = join(root, UNREADABLE_FOLDER);
  const taken: string[] = [];
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.endsWith(NEWER_SUFFIX)) continue;
    const isMoved = await rename(join(folder, name), join(own, name)).then(
      () => true,
      () => false, // another process was faster
    );
    if (isMoved) taken.push(name);
  }
  return taken;
}

/** The segment is removed only once this is on disk. */
async function write(path: string, bytes: Buffer): Promise<void> {
  const file = await open(path, 'w', 0o600);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}
