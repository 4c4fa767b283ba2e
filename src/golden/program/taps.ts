/** Taps on Node's own objects: each sees what passes and changes nothing, nor adds a listener that others would count. */
import type { ChildProcess } from 'node:child_process';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { errorMessage } from '../../base/index.ts';

/** More of a message is not kept. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Replaces a method of one object by one that calls it after `seen`. */
function tap(target: object, name: string, seen: (args: readonly unknown[]) => void): void {
  const owner = target as Record<string, (...args: unknown[]) => unknown>;
  const original = owner[name];
  if (original === undefined) return;
  owner[name] = function (this: unknown, ...args: unknown[]): unknown {
    try {
      seen(args);
    } catch {
      // What is recorded never stops the program.
    }
    return original.apply(this, args);
  };
}

/** Collects chunks, as they are written or read. */
class Collected {
  readonly #chunks: Buffer[] = [];
  #size = 0;

  add(chunk: unknown, encoding?: unknown): void {
    const bytes = toBytes(chunk, encoding);
    if (bytes === undefined || this.#size + bytes.length > MAX_BYTES) return;
    this.#size += bytes.length;
    this.#chunks.push(bytes);
  }

  get size(): number {
    return this.#size;
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }
}

function toBytes(chunk: unknown, encoding: unknown): Buffer | undefined {
  if (typeof chunk === 'string')
    return Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8');
  return chunk instanceof Uint8Array ? Buffer.from(chunk) : undefined;
}

interface RequestTap {
  /** The whole request has been written. */
  sent(body: Buffer): void;
  /** So many bytes of the answer have come, 0 for its head. */
  arrived(response: IncomingMessage, size: number): void;
  answered(response: IncomingMessage, body: Buffer, isCut: boolean): void;
  failed(error: unknown): void;
}

/** Sees a request of `http` and its response. */
export function tapRequest(request: ClientRequest, { sent, failed, ...answer }: RequestTap): void {
  const body = new Collected();
  tap(request, 'write', ([chunk, encoding]) => body.add(chunk, encoding));
  let isSent = false;
  tap(request, 'end', ([chunk, encoding]) => {
    if (isSent) return;
    isSent = true;
    // `end(chunk)` writes it, which is seen, or sends it with the headers, which is not.
    const before = body.size;
    const last = toBytes(chunk, encoding);
    queueMicrotask(() => {
      if (last !== undefined && body.size === before) body.add(last);
      sent(body.bytes);
    });
  });
  tap(request, 'emit', ([name, value]) => {
    if (name === 'error') failed(value);
    if (name === 'response') tapResponse(value as IncomingMessage, answer);
  });
}

function tapResponse(
  response: IncomingMessage,
  { arrived, answered }: Pick<RequestTap, 'arrived' | 'answered'>,
): void {
  arrived(response, 0);
  const body = new Collected();
  let isOver = false;
  const end = (isCut: boolean): void => {
    if (isOver) return;
    isOver = true;
    answered(response, body.bytes, isCut);
  };
  tap(response, 'push', ([chunk]) => {
    if (chunk === null) end(false);
    else {
      body.add(chunk);
      arrived(response, body.size);
    }
  });
  tap(response, 'emit', ([name]) => {
    if (name === 'aborted') end(true);
    if (name === 'close') end(false);
  });
}

/** A body without its encoding. */
export function decoded(body: Buffer, encoding: string | undefined): Buffer {
  const limit = { maxOutputLength: MAX_BYTES };
  try {
    if (encoding === 'gzip') return gunzipSync(body, limit);
    if (encoding === 'deflate') return inflateSync(body, limit);
    if (encoding === 'br') return brotliDecompressSync(body, limit);
  } catch {
    // Cut off, or not in this encoding.
  }
  return body;
}

interface ProcessTap {
  written(chunk: string | Uint8Array): void;
  read(chunk: string | Uint8Array): void;
  /** It has exited or was never started. */
  ended(cause: string): void;
}

/** Sees what a process is written, what it writes, and its end. */
export function tapProcess(child: ChildProcess, { written, read, ended }: ProcessTap): void {
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) return;
  const seen =
    (see: (chunk: string | Uint8Array) => void) =>
    ([chunk, encoding]: readonly unknown[]): void => {
      const bytes = toBytes(chunk, encoding);
      if (bytes !== undefined) see(bytes);
    };
  tap(stdin, 'write', seen(written));
  tap(stdout, 'push', seen(read));
  tap(child, 'emit', ([name, code, signal]) => {
    if (name === 'exit') ended(`exited with ${String(signal ?? code)}`);
    if (name === 'error') ended(errorMessage(code));
  });
}
