import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Not `.work`, where files are that are not complete. */
const FILE = /^(?:day=[^/\\]+|late)[/\\][^/\\]+\.parquet$/;

/** Paths of the complete files of an archive; none where there is no such folder. */
export async function archivedFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true }).catch(() => []);
  return entries.filter((entry) => FILE.test(entry)).map((entry) => join(folder, entry));
}
