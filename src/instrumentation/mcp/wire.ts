/**
 * The spans of a server whose SDK no hook can see, for it is bundled: from the messages on the process's own stdin and
 * stdout.
 *
 * Node has no hook for what passes a stream. A listener for `data` or `readable` would start stdin and change how the
 * program reads it, and servers often replace `process.stdout.write` to keep logs off the wire. So three members are
 * shadowed on these two objects, those that Node itself calls with each chunk: `push` of stdin, and `_write` and
 * `_writev` of stdout; and the functions of `fs`, for those that read and write the descriptors themselves. Each passes
 * on what it was given to the original and returns what that returns. Nothing is shadowed if stdin is a terminal or a
 * file, or after a first line that does not open MCP, and what writes to the stream only from there on.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { isMainThread } from 'node:worker_threads';
import { onStdinUse, onStdoutUse } from '../../base/index.ts';
import { isObject, numberAt } from '../../json/index.ts';
import { watchHttp } from './http-wire.ts';
import { isStdioHooked } from './inbound.ts';
import type { McpMessage, TransportLike } from './internal-types.ts';
import type { Operation } from './operation.ts';
import { type Shadow, shadowMethod } from './shadow.ts';
import type { Telemetry } from './telemetry.ts';
import { FIRST_BYTES, WireLines } from './wire-lines.ts';
import { opensMcp, Wire, WireServer } from './wire-server.ts';

/** The name of such a server in the report of what is hooked. */
const BY_WIRE = 'MCP server, by its stdin and stdout';
/** Longest first line that is waited for. */
const MAX_FIRST_BYTES = 64 * 1024;
/** Has the shape of the SDK's transport for a server on stdio. */
class StdioWire implements TransportLike {
  readonly sessionId: unknown = undefined;
  readonly _stdin = true;
  readonly _stdout = true;
}

/** Set while a copy of this package watches. */
const WATCHED = Symbol.for('mcp-observatory wires are watched');

/**
 * Watches the process's stdio from the first use of `process.stdin` on, and its HTTP servers, unless they are watched
 * already.
 * @returns a function that ends it and puts everything back.
 */
export function watchWires(telemetry: Telemetry): () => void {
  if (Reflect.has(globalThis, WATCHED)) return () => {};
  Reflect.set(globalThis, WATCHED, true);
  const ends = [watchHttp(telemetry), ...(isMainThread && isPiped() ? watchStdio(telemetry) : [])];
  return () => {
    for (const end of ends) end();
    Reflect.deleteProperty(globalThis, WATCHED);
  };
}

function watchStdio(telemetry: Telemetry): readonly (() => void)[] {
  const watch = new StdioWatch(telemetry);
  // Known from its first use on, also by a program that writes before it reads.
  const endStdout = onStdoutUse(() => {});
  const endStdin = onStdinUse((stdin) => {
    telemetry.guard.run('mcp.wire', () => watch.readStream(stdin));
  });
  return [endStdin, endStdout, () => watch.stop()];
}

/** Clients start their servers on pipes; Node's `spawn` makes these of sockets. */
function isPiped(): boolean {
  try {
    const stdin = fs.fstatSync(0);
    return stdin.isFIFO() || stdin.isSocket();
  } catch {
    return false;
  }
}

class StdioWatch {
  readonly #wire: Wire;
  readonly #server: WireServer;
  readonly #incoming = new WireLines((messages) => this.#receive(messages));
  readonly #outgoing = new WireLines((messages) => this.#server.send(messages));
  readonly #undo: (() => void)[] = [];
  #isServer = false;
  /** Requests that the chunk at hand has brought. */
  #begun: Operation[] = [];

  constructor(telemetry: Telemetry) {
    this.#wire = new Wire(telemetry, BY_WIRE, isStdioHooked, () => {
      for (const undo of this.#undo.splice(0)) undo();
    });
    this.#server = new WireServer(this.#wire, new StdioWire());
    // Both from the start: what a module of the program has imported by name stays what it was then.
    this.#undo.push(
      shadowDescriptor(
        0,
        'read',
        (bytes) => this.#begin(bytes),
        (...call) => this.#inRequest(...call),
      ),
      shadowDescriptor(1, 'write', (bytes) => this.#passed(() => this.#outgoing.add(bytes()))),
    );
  }

  readStream(stdin: unknown): void {
    if (this.#wire.isStopped) return;
    const pushed: Shadow = (original, self, args) => {
      this.#begin(() => args[0]);
      return this.#inRequest(original, self, args);
    };
    this.#undo.push(shadowMethod(stdin, 'push', pushed));
  }

  stop(): void {
    this.#wire.stop();
  }

  #begin(chunk: () => unknown): void {
    const { guard, enabled } = this.#wire.telemetry;
    this.#begun = [];
    if (enabled && !this.#wire.isStopped) guard.run('mcp.wire.in', () => this.#look(chunk()));
  }

  /** What a handler does belongs to its request, if it came alone. */
  #inRequest(...[original, self, args]: Parameters<Shadow>): unknown {
    const [operation, ...others] = this.#begun;
    if (operation === undefined || others.length > 0) return original.apply(self, args);
    return this.#wire.telemetry.guard.call('mcp.wire.call', operation.context, original, self, args);
  }

  #look(chunk: unknown): void {
    if (chunk === null || chunk === undefined) return;
    const { length } = this.#incoming;
    const isFirst = length === 0 && !this.#isServer && chunk instanceof Uint8Array;
    if (isFirst && !FIRST_BYTES.has(chunk[0] ?? 0)) this.stop();
    else this.#incoming.add(chunk);
    if (!this.#isServer && this.#incoming.length > MAX_FIRST_BYTES) this.stop();
  }

  #receive(messages: readonly McpMessage[]): void {
    if (!this.#isServer && opensMcp(messages[0])) this.#beginServer();
    if (!this.#isServer) this.stop();
    else if (this.#wire.check(false)) this.#begun.push(...this.#server.receive(messages));
  }

  #beginServer(): void {
    this.#isServer = true;
    const written: Shadow = (original, self, args) => {
      this.#passed(() => this.#written(args));
      return original.apply(self, args);
    };
    this.#undo.push(
      onStdoutUse((stdout) => {
        for (const name of ['_write', '_writev']) this.#undo.push(shadowMethod(stdout, name, written));
      }),
    );
  }

  #passed(look: () => void): void {
    const { guard, enabled } = this.#wire.telemetry;
    if (enabled && this.#isServer && !this.#wire.isStopped) guard.run('mcp.wire.out', look);
  }

  /** `_write(chunk, encoding, callback)`, or `_writev([{ chunk, encoding }, ...], callback)`. */
  #written([chunk, encoding]: unknown[]): void {
    if (!Array.isArray(chunk)) this.#outgoing.add(chunk, encoding);
    else for (const one of chunk as readonly WrittenChunk[]) this.#outgoing.add(one.chunk, one.encoding);
  }
}

interface WrittenChunk {
  readonly chunk: unknown;
  readonly encoding: unknown;
}

/**
 * Shadows the functions of `fs` that read or write, for one descriptor.
 * @param take Gets the bytes that passed, made when it asks for them.
 * @param callBack Calls the program's callback.
 */
function shadowDescriptor(
  descriptor: number,
  verb: 'read' | 'write',
  take: (bytes: () => Uint8Array) => void,
  callBack: Shadow = (callback, self, args) => callback.apply(self, args),
): () => void {
  const atOnce: Shadow = (original, self, args) => {
    const count = original.apply(self, args);
    if (args[0] === descriptor) take(() => bytesIn(args, count));
    return count;
  };
  const later: Shadow = (original, self, args) => {
    const callback = args.at(-1);
    if (args[0] !== descriptor || typeof callback !== 'function') return original.apply(self, args);
    const done = function (this: unknown, ...given: unknown[]): unknown {
      take(() => bytesIn(args, given[1], given[2]));
      return callBack(callback as Parameters<Shadow>[0], this, given);
    };
    return original.apply(self, [...args.slice(0, -1), done]);
  };
  const ends = [shadowMethod(fs, `${verb}Sync`, atOnce), shadowMethod(fs, verb, later)];
  syncBuiltinESMExports();
  return () => {
    for (const end of ends) end();
    syncBuiltinESMExports();
  };
}

/** The first `count` bytes of what `fs.read` and `fs.write` were given, in any of their forms. */
function bytesIn([, data, third, fourth]: readonly unknown[], count: unknown, made?: unknown): Uint8Array {
  const held = typeof data === 'string' || ArrayBuffer.isView(data) ? data : made;
  const length = typeof count === 'number' ? count : 0;
  if (typeof held === 'string')
    return Buffer.from(held, typeof fourth === 'string' ? (fourth as BufferEncoding) : 'utf8').subarray(
      0,
      length,
    );
  if (!ArrayBuffer.isView(held)) return Buffer.alloc(0);
  const options = [third, data].find((one) => isObject(one) && !ArrayBuffer.isView(one));
  const offset = typeof third === 'number' ? third : numberAt(options, 'offset');
  return Buffer.from(held.buffer, held.byteOffset + (offset ?? 0), length);
}
