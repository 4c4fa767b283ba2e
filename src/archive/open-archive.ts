import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openBucketStore } from './bucket-store.ts';
import { openDuckDb } from './duckdb.ts';
import { makeWorkFolder, openFolderStore } from './folder-store.ts';
import { parseS3Address } from './s3-address.ts';
import type { OpenArchive } from './store.ts';

/**
 * Opens an archive.
 * @param address a folder, or `s3://bucket/prefix`, and after `?` if need be `endpoint`, `region` and `path_style`.
 * @param isForWriting whether files will be put.
 * @throws ObservatoryError `MISSING_PEER` without DuckDB or its extension, `INVALID_OPTION` for an address that cannot be
 *   used.
 */
export async function openArchive(address: string, isForWriting: boolean): Promise<OpenArchive> {
  const bucket = /^s3:/i.test(address) ? parseS3Address(address, process.env) : undefined;
  const work =
    bucket === undefined && isForWriting
      ? await makeWorkFolder(address)
      : await mkdtemp(join(tmpdir(), 'mcp-observatory-archive-'));
  const remove = () => rm(work, { recursive: true, force: true });
  try {
    const duck = await openDuckDb(work);
    const close = async () => {
      await duck[Symbol.asyncDispose]();
      await remove();
    };
    try {
      const store =
        bucket === undefined ? openFolderStore(address) : await openBucketStore(bucket, duck, process.env);
      return { store, duck, work, [Symbol.asyncDispose]: close };
    } catch (error) {
      await duck[Symbol.asyncDispose]();
      throw error;
    }
  } catch (error) {
    await remove();
    throw error;
  }
}
