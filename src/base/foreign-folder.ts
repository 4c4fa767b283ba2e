import type { Stats } from 'node:fs';
import { lstat, realpath, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

const WRITABLE_BY_OTHERS = 0o022;
const WRITABLE_BY_ALL = 0o002;
const STICKY = 0o1000;

/**
 * Why code in a folder may be that of another user: it belongs to neither this user nor root, or others may write to it,
 * or to a folder above. Nothing is known where the system has no users with ids, as Windows.
 *
 * @returns undefined if only this user and root can put something there.
 * @throws the error of the file system when the folder is missing.
 */
export async function whyForeign(folder: string): Promise<string | undefined> {
  if (process.getuid === undefined) return undefined;
  const path = resolve(folder);
  const about = await lstat(path);
  if (!about.isDirectory()) return `${path} is not a folder`;
  const owner = foreignOwner(path, about);
  if (owner !== undefined) return owner;
  if ((about.mode & WRITABLE_BY_OTHERS) !== 0) return `others may write to ${path}`;
  for (let above = dirname(await realpath(path)); ; above = dirname(above)) {
    const found = await stat(above);
    const reason = foreignOwner(above, found);
    if (reason !== undefined) return reason;
    // In a sticky folder, such as /tmp, one user cannot replace what is another's.
    if ((found.mode & WRITABLE_BY_ALL) !== 0 && (found.mode & STICKY) === 0) {
      return `everybody may write to ${above}`;
    }
    if (above === dirname(above)) return undefined;
  }
}

function foreignOwner(path: string, { uid }: Stats): string | undefined {
  return uid === 0 || uid === process.getuid?.() ? undefined : `${path} belongs to user ${uid}`;
}
