import { type FileHandle, open } from 'node:fs/promises';
import type { Bucket } from './bucket.ts';
import type { FileDigest } from './file-digest.ts';
import { faultStatus } from './s3-faults.ts';

/** Parts on their way at once; each is in memory. */
const AT_ONCE = 3;

/** What must be at a key for it to be written: nothing, or exactly what was seen there. */
export type WriteCondition = { readonly IfNoneMatch: '*' } | { readonly IfMatch: string };

/**
 * Writes a file to a key. There is nothing, or what was there, until all of it has arrived and the server has compared it
 * with its checksums.
 */
export async function upload(
  bucket: Bucket,
  key: string,
  path: string,
  digest: FileDigest,
  condition: WriteCondition,
): Promise<void> {
  const file = await open(path, 'r');
  try {
    if (digest.parts.length === 1) await putWhole(bucket, key, file, digest, condition);
    else await putParts(bucket, key, file, digest, condition);
  } finally {
    await file.close();
  }
}

async function putWhole(
  { sdk, client, address }: Bucket,
  Key: string,
  file: FileHandle,
  digest: FileDigest,
  condition: WriteCondition,
): Promise<void> {
  const Body = await readPart(file, digest, 0);
  await whereSupported(condition, (conditions) =>
    client.send(
      new sdk.PutObjectCommand({
        Bucket: address.bucket,
        Key,
        Body,
        ChecksumSHA256: digest.sha256.toString('base64'),
        Metadata: metadataOf(digest),
        ...conditions,
      }),
    ),
  );
}

async function putParts(
  { sdk, client, address }: Bucket,
  Key: string,
  file: FileHandle,
  digest: FileDigest,
  condition: WriteCondition,
): Promise<void> {
  const at = { Bucket: address.bucket, Key };
  const { UploadId } = await client.send(
    new sdk.CreateMultipartUploadCommand({
      ...at,
      ChecksumAlgorithm: 'SHA256',
      Metadata: metadataOf(digest),
    }),
  );
  const of = { ...at, UploadId };
  try {
    const tags: (string | undefined)[] = [];
    let next = 0;
    const sendParts = async () => {
      while (next < digest.parts.length) {
        const index = next;
        next += 1;
        const Body = await readPart(file, digest, index);
        const part = { PartNumber: index + 1, ChecksumSHA256: digest.parts[index] };
        try {
          tags[index] = (await client.send(new sdk.UploadPartCommand({ ...of, ...part, Body }))).ETag;
        } catch (error) {
          next = digest.parts.length;
          throw error;
        }
      }
    };
    // All of them have ended before the upload is: a part that arrives later would be kept, and paid for.
    const senders = await Promise.allSettled(Array.from({ length: AT_ONCE }, sendParts));
    for (const sender of senders) if (sender.status === 'rejected') throw sender.reason;
    const Parts = digest.parts.map((ChecksumSHA256, index) => ({
      PartNumber: index + 1,
      ETag: tags[index],
      ChecksumSHA256,
    }));
    await whereSupported(condition, (conditions) =>
      client.send(
        new sdk.CompleteMultipartUploadCommand({ ...of, MultipartUpload: { Parts }, ...conditions }),
      ),
    );
  } catch (error) {
    await client.send(new sdk.AbortMultipartUploadCommand(of)).catch(() => {});
    throw error;
  }
}

/** Sends without the condition where a server has none. */
async function whereSupported(
  condition: WriteCondition,
  send: (conditions: Partial<Record<'IfMatch' | 'IfNoneMatch', string>>) => Promise<unknown>,
): Promise<void> {
  try {
    await send(condition);
  } catch (error) {
    if (faultStatus(error) !== 501) throw error;
    await send({});
  }
}

function metadataOf(digest: FileDigest): Record<string, string> {
  return { sha256: digest.sha256.toString('hex') };
}

async function readPart(file: FileHandle, { bytes, partBytes }: FileDigest, index: number): Promise<Buffer> {
  const from = index * partBytes;
  const part = Buffer.allocUnsafe(Math.min(partBytes, bytes - from));
  for (let read = 0; read < part.length; ) {
    const { bytesRead } = await file.read(part, read, part.length - read, from + read);
    if (bytesRead === 0) throw new Error('the file became shorter while it was sent');
    read += bytesRead;
  }
  return part;
}
