import { basename } from 'node:path';
import { type JsonObject, parseOrKeep } from '../../json/index.ts';
import {
  type Golden,
  GoldenMismatchError,
  isSameButForSecrets,
  onAbort,
  type Reached,
} from '../file/index.ts';
import type { GoldenPlayer } from '../replay/index.ts';
import { PlayedServer } from './played-server.ts';
import type { SpawnedCommand } from './seams.ts';
import { type PassedMessage, rpcMessages } from './traffic.ts';

/** The part of an address before its path. */
const HOST = /^[a-z]+:\/\/[^/]*/;

type Over<K extends 'command' | 'url'> = { readonly name: string } & Extract<Reached, Record<K, unknown>>;

/** The MCP servers of a golden, found by how the program reaches them. */
export class PlayedServers {
  readonly #player: GoldenPlayer;
  readonly #commands: Over<'command'>[] = [];
  readonly #addresses: Over<'url'>[] = [];
  /** Of a golden from a trace, which does not tell how they are reached. */
  readonly #others = new Set<string>();
  /** Which of them was taken for what is reached so. */
  readonly #taken = new Map<string, string>();
  /** By the address that the program uses. */
  readonly #open = new Map<string, PlayedServer>();
  /** The names of servers by that address. */
  readonly #bound = new Map<string, string>();

  constructor(golden: Golden, player: GoldenPlayer) {
    this.#player = player;
    for (const [name, { reached }] of Object.entries(golden.mcp_cassette?.servers ?? {})) {
      if (reached === undefined) this.#others.add(name);
      else if ('url' in reached) this.#addresses.push({ name, ...reached });
      else this.#commands.push({ name, ...reached });
    }
  }

  /** The server of a command; undefined for a process that is not an MCP server. Paths may have changed. */
  spawned({ command, args, env }: SpawnedCommand): PlayedServer | undefined {
    const { scrubber } = this.#player;
    scrubber.addEnvironment(env);
    scrubber.addOptions(args);
    const name = this.#nameOfCommand(scrubber.clean({ command, args: [...args] }));
    return name === undefined ? undefined : new PlayedServer(this.#player, name);
  }

  /** What the golden calls the server that is reached so; undefined if it has none. */
  nameOf(reached: Reached): string | undefined {
    if ('url' in reached) return this.#nameAt(reached.url);
    return this.#nameOfCommand(reached) ?? this.#takeOther([reached.command, ...reached.args].join(' '));
  }

  #nameOfCommand(asked: Extract<Reached, { command: unknown }>): string | undefined {
    const [best] = this.#commands
      .map((recorded) => ({ name: recorded.name, likeness: toLikeness(recorded, asked) }))
      .filter(({ likeness }) => likeness > 0)
      .sort((left, right) => right.likeness - left.likeness);
    return best?.name;
  }

  /** Whether an address is that of a server, for requests without messages. */
  has(url: URL): boolean {
    const address = url.origin + url.pathname;
    return (
      this.#open.has(address) ||
      this.#addresses.some((recorded) => isSameButForSecrets(recorded.url, address))
    );
  }

  /** The response of a server to messages. @throws GoldenMismatchError for an address that no server has */
  async answer(url: URL, body: string, signal: AbortSignal | undefined): Promise<Response> {
    const messages = rpcMessages(parseOrKeep(body)) ?? [];
    const server = this.#at(url, messages);
    const asked = messages.filter(({ id, method }) => id !== undefined && method !== undefined);
    if (asked.length === 0) {
      for (const message of messages) void server.receive(message, { send: () => {}, die: () => {} });
      return new Response(null, { status: 202 });
    }
    return await answered(server, asked, signal);
  }

  /** A stream of what a server sends by itself; a refusal where it sent nothing, and for the end of a session. */
  listen(method: string, url: URL, signal: AbortSignal | undefined): Response {
    const server = this.#open.get(url.origin + url.pathname);
    if (method !== 'GET' || server?.isTalking !== true) return new Response(null, { status: 405 });
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        if (signal !== undefined) onAbort(signal, () => controller.error(signal.reason));
        server.listen((message) => {
          if (signal?.aborted !== true) controller.enqueue(toEvent(message));
        });
      },
      cancel: () => server.listen(() => {}),
    });
    return new Response(body, { headers: EVENT_STREAM });
  }

  #at(url: URL, messages: readonly PassedMessage[]): PlayedServer {
    const address = url.origin + url.pathname;
    const known = this.#open.get(address);
    if (known !== undefined && !messages.some(({ method }) => method === 'initialize')) return known;
    const name = this.#nameAt(address);
    if (name === undefined) {
      const names = this.#addresses.map((one) => `${one.name} at ${one.url}`).join(', ');
      throw this.#player.missed(
        new GoldenMismatchError(`The golden has no MCP server at ${address}; it has ${names || 'none'}`),
      );
    }
    const server = new PlayedServer(this.#player, name);
    this.#open.set(address, server);
    return server;
  }

  #nameAt(address: string): string | undefined {
    const known = this.#bound.get(address);
    if (known !== undefined) return known;
    const bound = new Set(this.#bound.values());
    const free = this.#addresses.filter(({ name }) => !bound.has(name));
    const path = address.replace(HOST, '');
    // A server of a test has another port each time.
    const found =
      free.find((recorded) => isSameButForSecrets(recorded.url, address)) ??
      free.find((recorded) => isSameButForSecrets(recorded.url.replace(HOST, ''), path));
    const name = found?.name ?? this.#takeOther(address);
    if (name !== undefined) this.#bound.set(address, name);
    return name;
  }

  /** Whether any process that speaks MCP may be one of the servers. */
  get hasOthers(): boolean {
    return this.#others.size > 0;
  }

  other(reached: string): PlayedServer | undefined {
    const name = this.#takeOther(reached);
    return name === undefined ? undefined : new PlayedServer(this.#player, name);
  }

  /** The server whose name is the most like how one is reached; of those alike, the first that was called. */
  #takeOther(reached: string): string | undefined {
    const words = new Set(listWords(reached));
    const countShared = (name: string): number => listWords(name).filter((word) => words.has(word)).length;
    const taken = new Set(this.#taken.values());
    const [best] = [...this.#others]
      .filter((name) => !taken.has(name))
      .sort((left, right) => countShared(right) - countShared(left));
    const name = this.#taken.get(reached) ?? best;
    if (name !== undefined) this.#taken.set(reached, name);
    return name;
  }
}

const EVENT_STREAM = { 'content-type': 'text/event-stream' } as const;

function toEvent(message: object): Uint8Array {
  return Buffer.from(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
}

/** The answers to requests: as JSON where one is all there is to say, else as a stream. */
async function answered(
  server: PlayedServer,
  asked: readonly PassedMessage[],
  signal: AbortSignal | undefined,
): Promise<Response> {
  let stream: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      stream = controller;
    },
  });
  const response = new Response(body, { headers: EVENT_STREAM });
  return await new Promise((resolve, reject) => {
    let isStream = asked.length > 1;
    let left = asked.length;
    const open = (): void => {
      isStream = true;
      resolve(response);
    };
    if (isStream) open();
    const giveUp = (): void => {
      reject(signal?.reason);
      close(() => stream?.error(signal?.reason));
    };
    if (signal !== undefined) onAbort(signal, giveUp);
    const close = (end?: () => void): void => {
      left = 0;
      signal?.removeEventListener('abort', giveUp);
      try {
        end?.();
      } catch {
        // The client has closed it.
      }
    };
    const carrier = {
      send: (message: JsonObject) => {
        const isAnswer = 'result' in message || 'error' in message;
        if (left === 0) return isAnswer ? undefined : server.sendBeside(message);
        if (isAnswer && !isStream) {
          resolve(Response.json(message));
          close();
          return;
        }
        open();
        stream?.enqueue(toEvent(message));
        if (isAnswer) left -= 1;
        if (left === 0) close(() => stream?.close());
      },
      die: (cause: string) => {
        const [isRefusal, status, text = null] = /^HTTP ([3-5]\d\d)(?:: (.*))?$/s.exec(cause) ?? [];
        if (isRefusal) resolve(new Response(text, { status: Number(status) }));
        const error = new TypeError('fetch failed', { cause: new Error(cause) });
        reject(error);
        close(() => stream?.error(error));
      },
    };
    for (const message of asked) void server.receive(message, carrier);
  });
}

/** How alike two commands are: by the program's name, and the share of arguments that one has and the other too. */
function toLikeness(
  recorded: Over<'command'>,
  asked: { readonly command: string; readonly args: readonly string[] },
): number {
  if (basename(recorded.command) !== basename(asked.command)) return 0;
  // Options are common to many programs; of what they run, something must be the same.
  const operands = recorded.args.filter((arg) => !arg.startsWith('-'));
  if (operands.length > 0 && !operands.some((arg) => asked.args.some((other) => isSameName(other, arg))))
    return 0;
  const count = Math.max(recorded.args.length, asked.args.length);
  if (count === 0) return 1;
  const same = recorded.args.filter((arg, index) => arg === asked.args[index]).length;
  const alike = recorded.args.filter((arg) => asked.args.some((other) => isSameName(other, arg))).length;
  return (same + alike) / (2 * count);
}

function listWords(text: string): string[] {
  return text.toLowerCase().split(/[^a-z0-9]+/);
}

function isSameName(left: string, right: string): boolean {
  return basename(left) === basename(right);
}
