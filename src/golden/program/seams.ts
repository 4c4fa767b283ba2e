/**
 * Where a program meets models and servers, whatever SDK it uses: the global `fetch`, Node's `http` and `https`, and
 * `spawn`. They are replaced once, before the program is loaded, in the process that records or replays it.
 */
import childProcess, { type ChildProcess } from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import http, { type ClientRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import { syncBuiltinESMExports } from 'node:module';
import { urlToHttpOptions } from 'node:url';
import { tap } from './taps.ts';
import { isModelAddress, toUrl } from './traffic.ts';

/** A request of `http` or `https`, with its arguments in one form. */
export interface NodeRequest {
  readonly url: URL;
  readonly options: RequestOptions;
  readonly onResponse: ((response: IncomingMessage) => void) | undefined;
}

export interface SpawnedCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether the program writes to its stdin and reads its stdout. */
  readonly isPiped: boolean;
}

/** Replacements for the seams. Each gets the original. */
export interface Seams {
  fetch(original: typeof fetch): typeof fetch;
  /** @returns the request, made by `original` or another way. */
  request(request: NodeRequest, original: () => ClientRequest): ClientRequest;
  spawn(command: SpawnedCommand, original: () => ChildProcess): ChildProcess;
  /**
   * The program asks an origin in a way of which nothing is seen. Called once for each way and origin, and once more if
   * it is then asked as a model is.
   */
  unseen(way: 'HTTP/2' | 'undici', origin: string, isModel: boolean): void;
}

const MAX_ORIGINS = 16;
const MAX_ASKED = 1_000;

type Callable = (...args: unknown[]) => unknown;

/** Replaces the seams for the rest of the process. */
export function installSeams(seams: Seams): void {
  const fetched = seams.fetch(globalThis.fetch);
  const asked = new Set<string>();
  globalThis.fetch = (input, init) => {
    try {
      if (asked.size < MAX_ASKED) asked.add(toUrl(input).origin);
    } catch {
      // `fetch` refuses it with its own error.
    }
    return fetched(input, init);
  };
  for (const [module, protocol] of [
    [http, 'http:'],
    [https, 'https:'],
  ] as const) {
    const original = module.request as Callable;
    const request = function (this: unknown, ...args: unknown[]): ClientRequest {
      const make = (): ClientRequest => original.apply(this, args) as ClientRequest;
      const asked = readRequest(args, protocol);
      return asked === undefined ? make() : seams.request(asked, make);
    };
    const get = function (this: unknown, ...args: unknown[]): ClientRequest {
      const made = request.apply(this, args);
      made.end();
      return made;
    };
    Object.assign(module, { request, get });
  }
  const spawn = childProcess.spawn as Callable;
  const spawned = function (this: unknown, ...args: unknown[]): ChildProcess {
    const start = (): ChildProcess => spawn.apply(this, args) as ChildProcess;
    const command = readCommand(args);
    return command === undefined ? start() : seams.spawn(command, start);
  };
  Object.assign(childProcess, { spawn: spawned });
  watchUnseen(seams, asked);
  // For `import { spawn } from 'node:child_process'`.
  syncBuiltinESMExports();
}

/** @param asked origins that `fetch` was asked for: what it sends is seen, whatever carries it. */
function watchUnseen(seams: Seams, asked: ReadonlySet<string>): void {
  const seen = new Set<string>();
  const tell = (way: 'HTTP/2' | 'undici', url: string): void => {
    const origin = toOrigin(url);
    const isModel = URL.canParse(url) && isModelAddress(new URL(url));
    const key = `${way} ${isModel} ${origin}`;
    if (asked.has(origin) || seen.has(key) || seen.size >= MAX_ORIGINS) return;
    seen.add(key);
    seams.unseen(way, origin, isModel);
  };
  const connect = http2.connect as Callable;
  Object.assign(http2, {
    connect: function (this: unknown, ...args: unknown[]): unknown {
      const session = connect.apply(this, args) as object;
      tap(session, 'request', ([headers]) => {
        const { ':path': path } = (headers ?? {}) as { readonly ':path'?: unknown };
        tell('HTTP/2', toOrigin(String(args[0])) + String(path ?? '/'));
      });
      return session;
    },
  });
  // The package tells of its requests as the `fetch` of Node does.
  subscribe('undici:request:create', (message) => {
    const { origin, path } = (message as { request: { origin: unknown; path: unknown } }).request;
    const url = `${String(origin)}${String(path)}`;
    if (URL.canParse(url) && isModelAddress(new URL(url))) tell('undici', url);
  });
}

function toOrigin(address: string): string {
  return URL.canParse(address) ? new URL(address).origin : address;
}

/** The arguments `(url?, options?, callback?)`; undefined for those that Node will refuse. */
function readRequest(args: readonly unknown[], protocol: string): NodeRequest | undefined {
  try {
    const rest = [...args];
    const first = rest[0];
    const isUrl = typeof first === 'string' || first instanceof URL;
    const fromUrl = isUrl ? urlToHttpOptions(new URL(String(rest.shift()))) : {};
    const given = typeof rest[0] === 'object' && rest[0] !== null ? (rest.shift() as RequestOptions) : {};
    const options: RequestOptions = { ...fromUrl, ...given };
    const scheme = options.protocol ?? protocol;
    const host = options.hostname ?? options.host ?? 'localhost';
    const port = options.port === undefined || options.port === null ? '' : `:${options.port}`;
    const authority = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host.replace(/:\d+$/, '');
    const url = new URL(`${scheme}//${authority}${port}${options.path ?? '/'}`);
    const [onResponse] = rest;
    return {
      url,
      options,
      onResponse: typeof onResponse === 'function' ? (onResponse as NodeRequest['onResponse']) : undefined,
    };
  } catch {
    return undefined;
  }
}

/** The arguments `(command, args?, options?)`; undefined for those that Node will refuse. */
function readCommand([command, ...rest]: readonly unknown[]): SpawnedCommand | undefined {
  if (typeof command !== 'string') return undefined;
  const args = Array.isArray(rest[0]) ? rest[0].map(String) : [];
  const options = (Array.isArray(rest[0]) ? rest[1] : rest[0]) as
    | { readonly env?: Record<string, string>; readonly stdio?: unknown }
    | undefined;
  const stdio = options?.stdio ?? 'pipe';
  const isPipe = (at: number): boolean =>
    stdio === 'pipe' ||
    stdio === 'overlapped' ||
    (Array.isArray(stdio) && ['pipe', 'overlapped', undefined, null].includes(stdio[at]));
  return { command, args, env: options?.env ?? {}, isPiped: isPipe(0) && isPipe(1) };
}
