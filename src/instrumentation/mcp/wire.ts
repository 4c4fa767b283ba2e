/**
 * The spans of a server whose SDK no hook can see, for it is bundled: from the messages on the process's own stdin and
 * stdout.
 *
 * Node has no hook for what passes a stream. A listener for `data` or `readable` would start stdin and change how the
 * program reads it, and servers often replace `process.stdout.write` to keep logs off the wire. So three members are
 * shadowed on these two objects, those that Node itself calls with each chunk: `push` of stdin, and `_write` and
 * `_writev` of stdout. Each passes on what it was given to the original and returns what that returns. Nothing is
 * shadowed if stdin is a terminal or a file, `push` only until the first line unless that opens MCP, and the others only
 * from there on.
 */
import { fstatSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { onStdinUse, onStdoutUse } from '../../base/index.ts';
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
  let watch: StdioWatch | undefined;
  // Known from its first use on, also by a program that writes before it reads.
  const endStdout = onStdoutUse(() => {});
  const endStdin = onStdinUse((stdin) => {
    telemetry.guard.run('mcp.wire', () => {
      watch = new StdioWatch(telemetry, stdin);
    });
  });
  return [endStdin, endStdout, () => watch?.stop()];
}

/** Clients start their servers on pipes; Node's `spawn` makes these of sockets. */
function isPiped(): boolean {
  try {
    const stdin = fstatSync(0);
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

  constructor(telemetry: Telemetry, stdin: unknown) {
    this.#wire = new Wire(telemetry, BY_WIRE, isStdioHooked, () => {
      for (const undo of this.#undo.splice(0)) undo();
    });
    this.#server = new WireServer(this.#wire, new StdioWire());
    this.#undo.push(shadowMethod(stdin, 'push', (...call) => this.#pushed(...call)));
  }

  stop(): void {
    this.#wire.stop();
  }

  #pushed(...[original, self, args]: Parameters<Shadow>): unknown {
    const { guard, enabled } = this.#wire.telemetry;
    this.#begun = [];
    if (enabled && !this.#wire.isStopped) guard.run('mcp.wire.in', () => this.#look(args[0]));
    const [operation, ...others] = this.#begun;
    // What a handler does belongs to its request, if it came alone.
    if (operation === undefined || others.length > 0) return original.apply(self, args);
    return guard.call('mcp.wire.call', operation.context, original, self, args);
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
      const { guard, enabled } = this.#wire.telemetry;
      if (enabled && !this.#wire.isStopped) guard.run('mcp.wire.out', () => this.#written(args));
      return original.apply(self, args);
    };
    // A server that writes to the descriptor itself has no such stream, and is not watched.
    this.#undo.push(
      onStdoutUse((stdout) => {
        for (const name of ['_write', '_writev']) this.#undo.push(shadowMethod(stdout, name, written));
      }),
    );
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
