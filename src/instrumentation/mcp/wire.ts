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
import { reportHooked } from '../shared/index.ts';
import { asProtocolVersion, connectionOn } from './connection.ts';
import { isStdioHooked, receiveNotification, receiveRequest } from './inbound.ts';
import type { McpMessage, TransportLike } from './internal-types.ts';
import { PROGRESS } from './methods.ts';
import type { Operation } from './operation.ts';
import { answerRequest } from './outbound.ts';
import { outcomeOfResult } from './outcome.ts';
import type { Telemetry } from './telemetry.ts';
import { WireLines } from './wire-lines.ts';

/** The name of such a server in the report of what is hooked. */
const BY_WIRE = 'MCP server, by its stdin and stdout';
/** Messages that are kept until the first answer. */
const MAX_WAITING = 32;
/** Longest first line that is waited for. */
const MAX_FIRST_BYTES = 64 * 1024;
/** White space, a byte order mark, and the brackets of JSON. */
const FIRST_BYTES: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0x7b, 0x5b]);

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Has the shape of the SDK's transport for a server on stdio. */
class StdioWire implements TransportLike {
  readonly sessionId: unknown = undefined;
  readonly _stdin = true;
  readonly _stdout = true;
}

/** Set while a copy of this package watches. */
const WATCHED = Symbol.for('mcp-observatory stdio is watched');

/**
 * Watches the process's stdio from the first use of `process.stdin` on, unless that is watched already.
 * @returns a function that ends it and puts everything back.
 */
export function watchStdio(telemetry: Telemetry): () => void {
  if (!isMainThread || !isPiped() || Reflect.has(globalThis, WATCHED)) return () => {};
  Reflect.set(globalThis, WATCHED, true);
  let watch: StdioWatch | undefined;
  // Known from its first use on, also by a program that writes before it reads.
  const endStdout = onStdoutUse(() => {});
  const endStdin = onStdinUse((stdin) => {
    telemetry.guard.run('mcp.wire', () => {
      watch = new StdioWatch(telemetry, stdin);
    });
  });
  return () => {
    endStdin();
    endStdout();
    watch?.stop();
    Reflect.deleteProperty(globalThis, WATCHED);
  };
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
  readonly #telemetry: Telemetry;
  readonly #protocol = { _transport: new StdioWire() };
  readonly #incoming = new WireLines((messages) => this.#receive(messages));
  readonly #outgoing = new WireLines((messages) => this.#send(messages));
  readonly #undo: (() => void)[] = [];
  /** Until the first answer it is not known whether a hook of the SDK sees the messages too. */
  #waiting: { readonly message: McpMessage; readonly arrivedAt: number }[] | undefined = [];
  #isServer = false;
  #isStopped = false;
  /** Requests that the chunk at hand has brought. */
  #begun: Operation[] = [];

  constructor(telemetry: Telemetry, stdin: unknown) {
    this.#telemetry = telemetry;
    this.#shadow(stdin, 'push', (original, self, args) => this.#pushed(original, self, args));
  }

  stop(): void {
    this.#isStopped = true;
    this.#waiting = undefined;
    for (const undo of this.#undo.splice(0)) undo();
  }

  #pushed(original: Method, self: unknown, args: unknown[]): unknown {
    const { guard, enabled } = this.#telemetry;
    this.#begun = [];
    if (enabled && !this.#isStopped) guard.run('mcp.wire.in', () => this.#look(args[0]));
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
    if (!this.#isServer && isOpening(messages[0])) this.#beginServer();
    if (!this.#isServer || isStdioHooked()) this.stop();
    if (this.#isStopped) return;
    for (const message of messages) {
      if (typeof message.method !== 'string') continue;
      if (this.#waiting === undefined) this.#begin(message);
      else if (this.#waiting.length < MAX_WAITING) this.#waiting.push({ message, arrivedAt: Date.now() });
    }
  }

  #beginServer(): void {
    this.#isServer = true;
    const written = (original: Method, self: unknown, args: unknown[]) => {
      const { guard, enabled } = this.#telemetry;
      if (enabled && !this.#isStopped) guard.run('mcp.wire.out', () => this.#written(args));
      return original.apply(self, args);
    };
    // A server that writes to the descriptor itself has no such stream, and is not watched.
    this.#undo.push(
      onStdoutUse((stdout) => {
        for (const name of ['_write', '_writev']) this.#shadow(stdout, name, written);
      }),
    );
  }

  /** `_write(chunk, encoding, callback)`, or `_writev([{ chunk, encoding }, ...], callback)`. */
  #written([chunk, encoding]: unknown[]): void {
    if (!Array.isArray(chunk)) this.#outgoing.add(chunk, encoding);
    else for (const one of chunk as readonly WrittenChunk[]) this.#outgoing.add(one.chunk, one.encoding);
  }

  #begin(message: McpMessage, arrivedAt?: number): void {
    if (message.id !== undefined && message.id !== null) {
      const operation = receiveRequest(this.#telemetry, this.#protocol, message, undefined, arrivedAt);
      if (operation !== undefined) this.#begun.push(operation);
      return;
    }
    const { operation } = receiveNotification(this.#telemetry, this.#protocol, message, undefined) ?? {};
    operation?.end(outcomeOfResult(operation.method, undefined));
  }

  #send(messages: readonly McpMessage[]): void {
    for (const message of messages) {
      if (message.method === undefined) this.#answer(message);
      else if (message.method === PROGRESS && this.#waiting === undefined)
        this.#received.withToken(message.params?.progressToken)?.progress(message.params ?? {});
    }
  }

  #answer(message: McpMessage): void {
    if (isStdioHooked()) this.stop();
    if (this.#isStopped) return;
    if (this.#waiting !== undefined) this.#endWaiting(this.#waiting);
    answerRequest(connectionOn(this.#protocol._transport, this.#telemetry), message);
  }

  #endWaiting(waiting: readonly { readonly message: McpMessage; readonly arrivedAt: number }[]): void {
    this.#waiting = undefined;
    reportHooked({ name: BY_WIRE, version: undefined, patched: ['stdin', 'stdout'], missing: [] });
    for (const { message, arrivedAt } of waiting) this.#begin(message, arrivedAt);
  }

  get #received() {
    return connectionOn(this.#protocol._transport, this.#telemetry).received;
  }

  /** Sets a method of one object alone; undone only while nobody else has set it since. */
  #shadow(
    holder: unknown,
    name: string,
    around: (original: Method, self: unknown, args: unknown[]) => unknown,
  ): void {
    const object = holder as Record<string, unknown>;
    const original = object[name];
    if (typeof original !== 'function') return;
    const own = Object.getOwnPropertyDescriptor(object, name);
    const value = function (this: unknown, ...args: unknown[]): unknown {
      return around(original as Method, this, args);
    };
    Object.defineProperty(object, name, { value, configurable: true, writable: true, enumerable: false });
    this.#undo.push(() => {
      if (object[name] !== value) return;
      if (own === undefined) delete object[name];
      else Object.defineProperty(object, name, own);
    });
  }
}

interface WrittenChunk {
  readonly chunk: unknown;
  readonly encoding: unknown;
}

/** Whether a message opens MCP, and none of the other protocols that speak JSON-RPC over stdio. */
function isOpening({ method, params }: McpMessage = {}): boolean {
  const version = params?.protocolVersion ?? params?._meta?.['io.modelcontextprotocol/protocolVersion'];
  return typeof method === 'string' && asProtocolVersion(version) !== undefined;
}
