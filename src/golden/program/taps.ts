/** Taps on Node's own objects: each sees what passes and changes nothing, nor adds a listener that others would count. */
import type { ChildProcess } from 'node:child_process';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { errorMessage } from '../../base/index.ts';

/** More of a body that was compressed is not kept. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Bytes that all bodies together may hold. */
export class Room {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  /** @returns false, and takes nothing, if there is not enough. */
  take(bytes: number): boolean {
    if (bytes > this.#left) return false;
    this.#left -= bytes;
    return true;
  }

  free(bytes: number): void {
    this.#left += bytes;
  }
}

/**
 * Replaces a method of one object by one that calls it after `seen`.
 * @param settled what a `push` waits for, if anything: it says meanwhile that its stream is full.
 */
export function tap(
  target: object,
  name: string,
  seen: (args: readonly unknown[]) => void,
  settled: () => Promise<void> | undefined = () => undefined,
): void {
  const owner = target as Record<string, (...args: unknown[]) => unknown>;
  const original = owner[name];
  if (original === undefined) return;
  let last: Promise<void> | undefined;
  const held: (() => void)[] = [];
  owner[name] = function (this: unknown, ...args: unknown[]): unknown {
    try {
      seen(args);
    } catch {
      // What is recorded never stops the program.
    }
    const until = settled();
    if (until === undefined && last === undefined) return original.apply(this, args);
    if (held.push(() => original.apply(this, args)) === 1) releaseBefore(owner, held);
    const turn = Promise.all([last, until]).then(() => {
      if (last === turn) last = undefined;
      // What a listener throws is thrown as ever.
      queueMicrotask(() => held.shift()?.());
    });
    last = turn;
    return false;
  };
}

/** Has a stream that is destroyed get first what is held, as it would have had without us. */
function releaseBefore(stream: Record<string, (...args: unknown[]) => unknown>, held: (() => void)[]): void {
  const { destroy } = stream;
  if (destroy === undefined || RELEASED.has(stream)) return;
  RELEASED.add(stream);
  stream.destroy = function (this: unknown, ...args: unknown[]): unknown {
    for (const push of held.splice(0)) push();
    return destroy.apply(this, args);
  };
}

const RELEASED = new WeakSet<object>();

/** Collects the chunks of a body. One that is larger than there is room for is given up whole. */
export class Collected {
  readonly #room: Room;
  #chunks: Uint8Array[] = [];
  #size = 0;
  #isOver = false;

  constructor(room: Room) {
    this.#room = room;
  }

  add(chunk: unknown, encoding?: unknown): void {
    const bytes = this.#isOver ? undefined : toBytes(chunk, encoding);
    if (bytes === undefined) return;
    if (this.#room.take(bytes.length)) {
      this.#size += bytes.length;
      this.#chunks.push(bytes);
    } else {
      this.drop();
      this.#isOver = true;
    }
  }

  drop(): void {
    this.#room.free(this.#size);
    this.#size = 0;
    this.#chunks = [];
  }

  get size(): number {
    return this.#size;
  }

  /** Whether it was given up. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Undefined if it was given up. */
  get bytes(): Buffer | undefined {
    return this.#isOver ? undefined : Buffer.concat(this.#chunks);
  }
}

function toBytes(chunk: unknown, encoding: unknown): Buffer | undefined {
  if (typeof chunk === 'string')
    return Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8');
  return chunk instanceof Uint8Array ? Buffer.from(chunk) : undefined;
}

interface RequestTap {
  /** The whole request has been written; undefined where it was too large. */
  sent(body: Buffer | undefined): void;
  /** Whether the answer is to be kept, for what is known of the request by now. */
  wanted(): boolean;
  /** So many bytes of the answer have come, 0 for its head. */
  arrived(response: IncomingMessage, size: number): void;
  answered(response: IncomingMessage, body: Buffer | undefined, isCut: boolean): void;
  failed(error: unknown): void;
  /** What the program waits for before it has more of the answer. */
  settled(): Promise<void> | undefined;
}

export function tapRequest(request: ClientRequest, room: Room, seen: RequestTap): void {
  const body = new Collected(room);
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
      seen.sent(body.bytes);
      body.drop();
    });
  });
  tap(request, 'emit', ([name, value]) => {
    if (name === 'error') seen.failed(value);
    if (name === 'response') tapResponse(value as IncomingMessage, new Collected(room), seen);
    // Also one that its program gave up before it was written.
    if (name === 'close') body.drop();
  });
}

function tapResponse(
  response: IncomingMessage,
  body: Collected,
  { wanted, arrived, answered, settled }: RequestTap,
): void {
  arrived(response, 0);
  let isOver = false;
  const end = (isCut: boolean): void => {
    if (isOver) return;
    isOver = true;
    answered(response, body.bytes, isCut);
    body.drop();
  };
  const pushed = ([chunk]: readonly unknown[]): void => {
    if (chunk === null) end(false);
    else if (wanted()) {
      body.add(chunk);
      arrived(response, body.size);
    }
  };
  tap(response, 'push', pushed, settled);
  tap(response, 'emit', ([name]) => {
    if (name === 'aborted') end(true);
    if (name === 'close') end(false);
  });
}

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
  written(chunk: Uint8Array): void;
  read(chunk: Uint8Array): void;
  /** It has exited or was never started. */
  ended(cause: string): void;
  /** What the program waits for before it has what the process wrote. */
  settled?(): Promise<void> | undefined;
}

/** Sees what a process is written, what it writes, and its end. */
export function tapProcess(child: ChildProcess, { written, read, ended, settled }: ProcessTap): void {
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) return;
  const seen =
    (see: (chunk: Uint8Array) => void) =>
    ([chunk, encoding]: readonly unknown[]): void => {
      const bytes = toBytes(chunk, encoding);
      if (bytes !== undefined) see(bytes);
    };
  tap(stdin, 'write', seen(written));
  tap(stdout, 'push', seen(read), settled);
  tap(child, 'emit', ([name, code, signal]) => {
    if (name === 'exit') ended(`exited with ${String(signal ?? code)}`);
    if (name === 'error') ended(errorMessage(code));
  });
}

/** Headers of `http` as those of `fetch`. */
export function readHeaders(headers: Readonly<Record<string, unknown>>): Headers {
  const out = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== undefined) out.append(name, String(one));
  }
  return out;
}
