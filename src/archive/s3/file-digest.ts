import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';

const MIB = 1 << 20;
/** Parts of this size, 5 MiB being the least; a larger file has larger ones, because it may have 10,000. */
const PART_BYTES = 8 * MIB;
const MOST_PARTS = 9_000;

/** What a file is, in the forms in which S3 tells of an object. */
export interface FileDigest {
  readonly bytes: number;
  readonly sha256: Buffer;
  readonly partBytes: number;
  /** SHA-256 of each part, in base64; a file that is sent whole has one. */
  readonly parts: readonly string[];
  /** The checksum that S3 computes of an object in these parts. */
  readonly ofParts: string;
}

export async function digestFile(path: string): Promise<FileDigest> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const partBytes = Math.max(PART_BYTES, Math.ceil(size / MOST_PARTS / MIB) * MIB);
    const whole = createHash('sha256');
    const parts: Buffer[] = [];
    // In pieces, so that nothing holds the event loop.
    const piece = Buffer.allocUnsafe(MIB);
    let part = createHash('sha256');
    let bytes = 0;
    for (;;) {
      const { bytesRead } = await file.read(piece, 0, MIB, bytes);
      if (bytesRead === 0) break;
      bytes += bytesRead;
      const read = piece.subarray(0, bytesRead);
      whole.update(read);
      part.update(read);
      if (bytes % partBytes > 0) continue;
      parts.push(part.digest());
      part = createHash('sha256');
    }
    if (bytes % partBytes > 0 || parts.length === 0) parts.push(part.digest());
    const ofParts = createHash('sha256').update(Buffer.concat(parts)).digest('base64');
    return {
      bytes,
      sha256: whole.digest(),
      partBytes,
      parts: parts.map((one) => one.toString('base64')),
      ofParts: `${ofParts}-${parts.length}`,
    };
  } finally {
    await file.close();
  }
}
