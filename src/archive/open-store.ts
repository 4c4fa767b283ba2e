import { type ArchiveCache, type ArchiveStore, openFolderStore } from './store/index.ts';

/**
 * Opens an archive.
 * @param address a folder, or `s3://bucket/prefix`.
 * @param cache for an archive in a bucket.
 */
export async function openArchiveStore(address: string, cache: ArchiveCache = {}): Promise<ArchiveStore> {
  if (!/^s3:/i.test(address)) return openFolderStore(address);
  const { openS3Store } = await import('./s3/index.ts');
  return openS3Store(address, cache);
}
