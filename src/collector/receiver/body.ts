import type { Readable } from 'node:stream';
import * as zlib from 'node:zlib';
import type { Ticket } from './admission.ts';
import { Rejection } from './rejection.ts';

/** Time that a sender has for a body of any size, and the least bytes per second after it. */
const GRACE_MS = 3000;
const MIN_BYTES_PER_SECOND = 16 * 1024;
/** A body must be whole after this time and the grace, so that a large reservation is not held by a trickle. */
const MAX_BODY_MS = 30_000;

/** Room that is reserved for a body of unknown length, and by which the reservation grows. */
const STEP_BYTES = 64 * 1024;

/** Limits of a body, and how its length is known. */
export interface BodyLimits {
  readonly maxBytes: number;
  /** The length that the sender announced; undefined if it did not. */
  readonly length?: number | undefined;
  /** Reads the length from the first bytes of the body; undefined if there are too few. */
  readonly lengthIn?: ((head: Buffer) => number | undefined) | undefined;
  /** Called when there is room for it, before anything is read. */
  readonly onRoom?: (() => void) | undefined;
}

/**
 * Reads a body. Room is reserved for its length before it is read, or step by step if it has none. When this rejects,
 * the rest of the body is left unread: close the connection.
 * @throws Rejection `too_large`, `overloaded`, `too_slow`, or `malformed` when the sender disconnects.
 */
export async function readBody(stream: Readable, limits: BodyLimits, ticket: Ticket): Promise<Buffer> {
  const body = new Body(limits, ticket);
  limits.onRoom?.();
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      stream.off('data', take).off('end', end).off('error', cut).off('close', cut);
    };
    const refuse = (error: unknown): void => {
      stop();
      stream.pause();
      reject(error);
    };
    const take = (chunk: Buffer): void => {
      try {
        body.add(chunk);
      } catch (error) {
        refuse(error);
      }
    };
    const end = (): void => {
      stop();
      resolve(body.whole());
    };
    const cut = (): void => refuse(new Rejection('malformed', 'The body ended before its length'));
    const checkRate = (): void => {
      const left = startedAt + body.allowedMs - performance.now();
      if (left <= 0) refuse(new Rejection('too_slow', 'The body comes too slowly', 1));
      else timer = setTimeout(checkRate, left);
    };
    let timer = setTimeout(checkRate, body.allowedMs);
    // An abandoned stream may fail later, when nothing else listens.
    stream
      .on('error', () => {})
      .once('end', end)
      .once('error', cut)
      .once('close', cut)
      .on('data', take);
  });
}

/** The part of a body received so far, and the room reserved for the whole. */
class Body {
  readonly #limits: BodyLimits;
  readonly #ticket: Ticket;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #reserved = 0;
  #isLengthKnown: boolean;

  constructor(limits: BodyLimits, ticket: Ticket) {
    this.#limits = limits;
    this.#ticket = ticket;
    this.#isLengthKnown = limits.length !== undefined;
    this.#reserve(limits.length ?? Math.min(STEP_BYTES, limits.maxBytes));
  }

  /** Milliseconds from the start of the body within which more of it must have come. */
  get allowedMs(): number {
    const rate = Math.max(MIN_BYTES_PER_SECOND, this.#reserved / (MAX_BODY_MS / 1000));
    return GRACE_MS + (1000 * this.#bytes) / rate;
  }

  add(chunk: Buffer): void {
    this.#bytes += chunk.length;
    this.#chunks.push(chunk);
    if (!this.#isLengthKnown) this.#findLength();
    if (this.#bytes <= this.#reserved) return;
    const doubled = Math.min(2 * this.#reserved, this.#limits.maxBytes);
    this.#reserve(Math.max(this.#bytes, doubled));
  }

  whole(): Buffer {
    return this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks, this.#bytes);
  }

  #findLength(): void {
    const length = this.#limits.lengthIn?.(this.whole());
    if (length === undefined) return;
    this.#isLengthKnown = true;
    this.#reserve(length);
  }

  #reserve(bytes: number): void {
    if (bytes > this.#limits.maxBytes) throw tooLarge(this.#limits.maxBytes);
    this.#ticket.reserve(bytes);
    this.#reserved = bytes;
  }
}

type Unpack = (
  body: Buffer,
  options: { maxOutputLength: number; chunkSize: number; params?: Record<number, number> },
) => Buffer;

/** Node has it from 22.15 and 23.8. */
const { zstdDecompressSync } = zlib as { readonly zstdDecompressSync?: Unpack };

/** A frame can ask for a window of any size. HTTP allows 8 MiB (RFC 9659). Node names the parameter only with zstd. */
const ZSTD_D_WINDOW_LOG_MAX = 100;
const ZSTD_WINDOW = { [ZSTD_D_WINDOW_LOG_MAX]: 23 };

/** Whether a body has the header of zlib's format (RFC 1950), which some senders of `deflate` leave out. */
function hasZlibHeader(body: Buffer): boolean {
  return body.length > 1 && ((body[0] as number) & 0x0f) === 8 && body.readUInt16BE(0) % 31 === 0;
}

const UNPACKERS: ReadonlyMap<string, Unpack> = new Map<string, Unpack>([
  ['gzip', zlib.gunzipSync],
  [
    'deflate',
    (body, options) =>
      hasZlibHeader(body) ? zlib.inflateSync(body, options) : zlib.inflateRawSync(body, options),
  ],
  ...(zstdDecompressSync === undefined
    ? []
    : [
        ['zstd', (body, options) => zstdDecompressSync(body, { ...options, params: ZSTD_WINDOW })] satisfies [
          string,
          Unpack,
        ],
      ]),
]);

/** The encodings of packed bodies that are read. */
export const ENCODINGS: readonly string[] = [...UNPACKERS.keys()];

/**
 * The encoding that a header names; undefined for a body that is not packed.
 * @throws Rejection `unsupported_encoding`.
 */
export function findPacking(header: string, value: string | undefined): string | undefined {
  // RFC 9110: the same as gzip.
  const name = value?.trim().toLowerCase().replace('x-gzip', 'gzip') || 'identity';
  if (name === 'identity') return undefined;
  if (UNPACKERS.has(name)) return name;
  throw new Rejection('unsupported_encoding', `Expected ${header} ${ENCODINGS.join(' or ')}, or none`);
}

/**
 * Decompresses a body up to a size. Synchronous, so that only one body is decompressed at a time and many small ones
 * cannot fill the memory together.
 * @throws Rejection `too_large` or `malformed`.
 */
export function unpack(body: Buffer, packing: string, maxBytes: number): Buffer {
  const chunkSize = Math.min(Math.max(4 * body.length, 16_384), 1_048_576, Math.max(maxBytes, 64));
  try {
    return (UNPACKERS.get(packing) as Unpack)(body, { maxOutputLength: maxBytes, chunkSize });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(maxBytes);
    throw new Rejection('malformed', `The body is not valid ${packing}`);
  }
}

export function tooLarge(maxBytes: number): Rejection {
  return new Rejection(
    'too_large',
    `A request may have ${maxBytes} bytes, packed and unpacked; send smaller batches`,
  );
}
