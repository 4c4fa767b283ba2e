import type { Readable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import type { Ticket } from './admission.ts';
import { Rejection } from './rejection.ts';

/**
 * Reads a body, ignoring its announced length.
 * @throws Rejection `too_large`, `overloaded`, or `malformed` when the sender disconnects.
 */
export async function readBody(stream: Readable, maxBytes: number, ticket: Ticket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
      bytes += (chunk as Buffer).length;
      if (bytes > maxBytes) throw tooLarge(maxBytes);
      ticket.holds(bytes);
      chunks.push(chunk as Buffer);
    }
  } catch (error) {
    if (error instanceof Rejection) throw error;
    throw new Rejection('malformed', 'The body ended before its length');
  }
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes);
}

/**
 * Decompresses gzip up to a size. Synchronous, so that only one body is decompressed at a time and many small ones
 * cannot fill the memory together.
 * @throws Rejection `too_large` or `malformed`.
 */
export function unpack(body: Buffer, maxBytes: number): Buffer {
  const chunkSize = Math.min(Math.max(4 * body.length, 16_384), 1_048_576, Math.max(maxBytes, 64));
  try {
    return gunzipSync(body, { maxOutputLength: maxBytes, chunkSize });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(maxBytes);
    throw new Rejection('malformed', 'The body is not valid gzip');
  }
}

export function tooLarge(maxBytes: number): Rejection {
  return new Rejection(
    'too_large',
    `A request may have ${maxBytes} bytes, packed and unpacked; send smaller batches`,
  );
}
