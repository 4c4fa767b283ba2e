import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { ObservatoryError } from '../../base/index.ts';
import type { Bucket } from './bucket.ts';
import type { FileDigest } from './file-digest.ts';
import { faultCode, faultStatus } from './s3-faults.ts';

const DOWNLOADS = 3;

/** What is at a key. */
export interface ObjectThere {
  readonly version: string;
  readonly bytes: number;
  /** Whether it is exactly the file. */
  readonly isFile: boolean;
}

/** Compares what is at a key with a file: by the checksum that the server made, or by reading all of it. */
export async function compareObject(
  bucket: Bucket,
  key: string,
  file: FileDigest,
): Promise<ObjectThere | undefined> {
  const { sdk, client, address } = bucket;
  const at = { Bucket: address.bucket, Key: key };
  const head = await client
    .send(new sdk.HeadObjectCommand({ ...at, ChecksumMode: 'ENABLED' }))
    .catch((error: unknown) => {
      if (faultStatus(error) === 404) return undefined;
      throw error;
    });
  if (head === undefined) return undefined;
  const { ETag: version = '', ContentLength: bytes = -1, ChecksumSHA256: checksum } = head;
  if (bytes !== file.bytes) return { version, bytes, isFile: false };
  if (checksum === file.ofParts || checksum === file.sha256.toString('base64')) {
    return { version, bytes, isFile: true };
  }
  const read = await download(bucket, { key, bytes, version }, undefined);
  return { version, bytes, isFile: read.equals(file.sha256) };
}

/**
 * Reads an object, which a server may not make longer than it said.
 * @param into a new, empty file.
 * @returns the SHA-256 of what was read.
 */
export async function download(
  bucket: Bucket,
  object: { readonly key: string; readonly bytes: number; readonly version: string },
  into: FileHandle | undefined,
): Promise<Buffer> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await downloadOnce(bucket, object, into);
    } catch (error) {
      const isFinal =
        ObservatoryError.isInstance(error) || (faultStatus(error) > 0 && faultStatus(error) < 500);
      if (isFinal || attempt === DOWNLOADS) throw error;
    }
  }
}

async function downloadOnce(
  { sdk, client, address, name, idleMs }: Bucket,
  { key, bytes, version }: { readonly key: string; readonly bytes: number; readonly version: string },
  into: FileHandle | undefined,
): Promise<Buffer> {
  const stalled = new AbortController();
  const timer = setTimeout(() => stalled.abort(), idleMs);
  try {
    const answer = await client.send(
      new sdk.GetObjectCommand({ Bucket: address.bucket, Key: key, IfMatch: version }),
      { abortSignal: stalled.signal },
    );
    const body = answer.Body as Readable | undefined;
    const hash = createHash('sha256');
    let read = 0;
    stalled.signal.addEventListener('abort', () =>
      body?.destroy(new DOMException('stalled', 'TimeoutError')),
    );
    for await (const chunk of body ?? []) {
      timer.refresh();
      const piece = chunk as Buffer;
      if (read + piece.length > bytes) break;
      hash.update(piece);
      await into?.write(piece, 0, piece.length, read);
      read += piece.length;
    }
    const sha256 = hash.digest();
    const expected = answer.Metadata?.sha256;
    if (read === bytes && (expected === undefined || expected === sha256.toString('hex'))) return sha256;
    throw new ObservatoryError(
      'ARCHIVE_REFUSED',
      `The content of ${name}/${key.slice(address.prefix.length)} is not what was archived: its size or checksum differs. Restore that object from a backup or an earlier version, or remove it if its day is still in the database`,
    );
  } finally {
    clearTimeout(timer);
  }
}

/** Ends uploads of a key that a killed process left, whose parts are stored, and paid for, until then. */
export async function abortLeftovers({ sdk, client, address }: Bucket, key: string): Promise<void> {
  const Bucket = address.bucket;
  try {
    const { Uploads = [] } = await client.send(new sdk.ListMultipartUploadsCommand({ Bucket, Prefix: key }));
    for (const { Key, UploadId } of Uploads) {
      if (Key !== key || UploadId === undefined) continue;
      await client.send(new sdk.AbortMultipartUploadCommand({ Bucket, Key, UploadId }));
    }
  } catch (error) {
    // A server without the list, or one that has ended it meanwhile.
    if (faultStatus(error) !== 501 && faultStatus(error) !== 405 && faultCode(error) !== 'NoSuchUpload')
      throw error;
  }
}
