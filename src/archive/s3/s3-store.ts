import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  isProcessAlive,
  makePrivateFolder,
  ObservatoryError,
  startOfProcess,
  userCacheFolder,
} from '../../base/index.ts';
import {
  type ArchiveCache,
  type ArchivedFile,
  type ArchiveStore,
  isNameOfFile,
  type WorkFolder,
  workFolder,
} from '../store/index.ts';
import { type Bucket, openBucket } from './bucket.ts';
import { type Downloads, downloaded } from './downloads.ts';
import { digestFile } from './file-digest.ts';
import { abortLeftovers, compareObject } from './objects.ts';
import { parseS3Address } from './s3-address.ts';
import { asked } from './s3-faults.ts';
import { upload } from './upload.ts';

const MAX_CACHE_BYTES = 10e9;
/** Files of an archive: a century of days, and as many late ones. */
const MAX_FILES = 100_000;
/** Of a thousand objects each, if a server fills them. */
const MAX_PAGES = 200;
const WORK = /^work-(\d{1,10})-(\d{0,20})-\d{1,6}$/;

let works = 0;

/**
 * An archive in a bucket of S3, or of a server that speaks its language.
 * @param address `s3://bucket/prefix`, and after `?` if need be `endpoint`, `region` and `path_style`.
 * @throws ObservatoryError `MISSING_PEER` without the client, `INVALID_OPTION` for an address that cannot be used,
 *   `ARCHIVE_REFUSED` when the bucket cannot be read.
 */
export async function openS3Store(
  address: string,
  { folder, maxBytes = MAX_CACHE_BYTES }: ArchiveCache,
  idleMs?: number,
): Promise<ArchiveStore> {
  const bucket = await openBucket(parseS3Address(address, process.env), idleMs);
  const cache = folder ?? join(userCacheFolder(process.env), 'archive');
  const downloads: Downloads = { folder: join(cache, 'files'), maxBytes };
  try {
    // Before hours of work are spent on what cannot be stored.
    await asked(bucket, 'Reading', () => listPage(bucket, bucket.address.prefix, undefined, 1));
  } catch (error) {
    bucket[Symbol.dispose]();
    throw error;
  }
  const paths = (files: readonly ArchivedFile[], work: WorkFolder) =>
    asked(bucket, 'Reading', () => downloaded(bucket, files, downloads, work.path));
  return {
    name: bucket.name,
    list: () => asked(bucket, 'Listing', () => listBucket(bucket)),
    paths,
    put: (path, name, mayReplace, work) =>
      put(bucket, path, name, async (existing) => {
        const [copy] = await paths([existing], work);
        if (copy !== undefined) await mayReplace(copy);
      }),
    workForWriting: () => makeWork(cache),
    workForReading: () => makeWork(cache),
    [Symbol.asyncDispose]: async () => bucket[Symbol.dispose](),
  };
}

/**
 * Writes a file unless the bucket holds it: from an attempt whose end was not seen. Only what was looked at is replaced,
 * and what is there afterwards is compared with the file.
 */
async function put(
  bucket: Bucket,
  path: string,
  name: string,
  mayReplace: (existing: ArchivedFile) => Promise<void>,
): Promise<void> {
  const key = bucket.address.prefix + name;
  const what = `Writing ${name} to`;
  const digest = await digestFile(path);
  await asked(bucket, what, () => abortLeftovers(bucket, key));
  const before = await asked(bucket, what, () => compareObject(bucket, key, digest));
  if (before?.isFile) return;
  if (before !== undefined) await mayReplace({ name, bytes: before.bytes, version: before.version });
  const condition = before === undefined ? ({ IfNoneMatch: '*' } as const) : { IfMatch: before.version };
  const failure = await asked(bucket, what, () => upload(bucket, key, path, digest, condition)).then(
    () => undefined,
    (error: unknown) => error,
  );
  // Also after a failure: it may be the answer that was lost, not the file.
  const now = await asked(bucket, `Verifying ${name} in`, () => compareObject(bucket, key, digest)).catch(
    (error: unknown) => {
      throw failure ?? error;
    },
  );
  if (now?.isFile) return;
  throw (
    failure ??
    new ObservatoryError(
      'ARCHIVE_REFUSED',
      `${bucket.name} holds something else as ${name} than was sent. Run it again, and give each database a prefix of its own`,
    )
  );
}

async function listBucket(bucket: Bucket): Promise<ArchivedFile[]> {
  // By name, because a server that lists a key twice would double its spans.
  const files = new Map<string, ArchivedFile>();
  const { prefix } = bucket.address;
  for (const of of [`${prefix}day=`, `${prefix}late/`]) {
    let token: string | undefined;
    for (let page = 1; ; page += 1) {
      const { Contents = [], NextContinuationToken } = await listPage(bucket, of, token, 1_000);
      for (const { Key = '', Size = 0, ETag } of Contents) {
        const name = Key.slice(prefix.length);
        if (!Key.startsWith(prefix) || !isNameOfFile(name) || ETag === undefined) continue;
        files.set(name, { name, bytes: Size, version: ETag });
      }
      if (files.size > MAX_FILES || page === MAX_PAGES) {
        throw new ObservatoryError(
          'ARCHIVE_REFUSED',
          `${bucket.name} has more than ${MAX_FILES} objects: give the archive a prefix of its own`,
        );
      }
      if (NextContinuationToken === undefined) break;
      token = NextContinuationToken;
    }
  }
  return [...files.values()];
}

function listPage({ sdk, client, address }: Bucket, prefix: string, token: string | undefined, max: number) {
  return client.send(
    new sdk.ListObjectsV2Command({
      Bucket: address.bucket,
      Prefix: prefix,
      MaxKeys: max,
      ContinuationToken: token,
    }),
  );
}

/** A folder named after this process, beside the downloads; those of processes that are gone are removed. */
async function makeWork(cache: string): Promise<WorkFolder> {
  await makePrivateFolder(cache);
  for (const name of await readdir(cache)) {
    const [, pid, started] = WORK.exec(name) ?? [];
    if (pid === undefined || (await isProcessAlive(Number(pid), started || undefined))) continue;
    await rm(join(cache, name), { recursive: true, force: true });
  }
  works += 1;
  const path = join(cache, `work-${process.pid}-${(await startOfProcess(process.pid)) ?? ''}-${works}`);
  await mkdir(path, { mode: 0o700 });
  return workFolder(path);
}
