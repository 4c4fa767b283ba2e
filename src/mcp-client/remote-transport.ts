import { setImmediate } from 'node:timers/promises';
import { fetchWithinOrigin, importPeer, isDoneWithin, loadPeer, ObservatoryError } from '../base/index.ts';
import { writeIntegers } from '../json/index.ts';
import { AnswerBacklog } from './answer-backlog.ts';
import { answersInTurn } from './answers-in-turn.ts';
import type { RemoteServerConfig } from './config.ts';
import { readPostResponse, requestIdIn } from './http-answer.ts';
import { SessionExpired, withHeaders } from './http-refusal.ts';
import type { MessageLimits } from './message-meter.ts';
import { RequestWatch } from './request-watch.ts';
import { boundMessages } from './response-body.ts';
import type { Transport } from './session.ts';
import { isNoMessage } from './unavailable.ts';

/** Bound on the request that ends a session at the server. */
const TERMINATE_TIMEOUT_MS = 1_000;
/** How long requests on an expired session may still be refused, each by its own answer, before it is closed. */
const REFUSAL_TIMEOUT_MS = 1_000;

/** A dropped answer stream is resumed twice, then given up, after about 1.3 s in all. */
const RECONNECTION = {
  initialReconnectionDelay: 500,
  maxReconnectionDelay: 2_000,
  reconnectionDelayGrowFactor: 1.5,
  maxRetries: 2,
};

export interface RemoteTransport {
  readonly transport: Transport;
  /** The latest refusal, if any; decides on the fallback to SSE. */
  readonly refusedWith: () => Pick<Response, 'status' | 'headers'> | undefined;
  /** The redirect that was not followed, if any. */
  readonly redirect: () => ObservatoryError | undefined;
  /** Ends the session at the server, then closes every socket. Never rejects. */
  close(): Promise<void>;
}

interface SdkHttpTransport extends Transport {
  terminateSession?: (() => Promise<void>) | undefined;
}

/** Opens a streamable HTTP or SSE transport of the given SDK generation, on sockets of its own. */
export async function openRemoteTransport(
  config: RemoteServerConfig,
  options: {
    readonly sdk: 'v1' | 'v2';
    readonly kind: 'http' | 'sse';
    readonly limits: MessageLimits;
    readonly onLost: (error: unknown) => void;
  },
): Promise<RemoteTransport> {
  const { StreamableHTTPClientTransport, SSEClientTransport } = await loadTransports(options.sdk);
  const owned = await createOwnedFetch();
  const backlog = new AnswerBacklog(options.onLost);
  const send = answersInTurn(
    withHeaders(sendIntegers(fetchWithinOrigin(owned.fetch)), config.headers),
    backlog,
  );
  let refusal: Response | undefined;
  let redirect: ObservatoryError | undefined;
  let established = false;
  let isExpired = false;
  const unanswered = new Set<Promise<unknown>>();
  const watch = new RequestWatch();
  const exchange = async (...[input, init]: Parameters<typeof fetch>): Promise<() => Promise<Response>> => {
    let response: Response;
    try {
      response = await send(input, init);
    } catch (error) {
      if (isUnreachable(error)) options.onLost(error);
      if (ObservatoryError.isInstance(error)) redirect = error;
      throw error;
    }
    if (!response.ok && init?.method === 'POST') refusal = response;
    if (response.status === 401 || response.status === 403) refusal = response;
    const bounded = boundMessages(response, init?.method, {
      limits: options.limits,
      onExceeded: options.onLost,
      room: () => backlog.room(init?.signal),
      requestId: requestIdIn(init),
      onAnswered: (id) => watch.streamEnded(id),
      onMessage: (message) => transport.onmessage?.(message),
    });
    // What an SSE server says to a POST is no answer; that comes on its stream.
    if (options.kind === 'sse' && response.ok) return async () => bounded.response;
    if (bounded.isStream) return bounded.atOnce;
    const answer = await readPostResponse(bounded.response, init);
    // By the specification the session is over, and a new one has to be initialized.
    if (answer.error instanceof SessionExpired) {
      isExpired = true;
      options.onLost(answer.error);
    }
    if (answer.error !== undefined) throw answer.error;
    return async () => answer.response;
  };
  const watched: typeof fetch = async (input, init) => {
    const answer = exchange(input, init);
    if (init?.method === 'POST') {
      const done = (): void => void unanswered.delete(settled);
      const settled = answer.then(done, done);
      unanswered.add(settled);
    }
    return await (await answer)();
  };
  const reconnections = new Reconnections();
  const fixed = typeof config.headers === 'function' ? {} : { ...config.headers };
  const common = { fetch: watched, requestInit: { headers: fixed } };
  const transport = (options.kind === 'http'
    ? new StreamableHTTPClientTransport(config.url, { ...common, reconnectionOptions: RECONNECTION })
    : new SSEClientTransport(config.url, common)) as unknown as SdkHttpTransport;
  if (options.sdk === 'v1' && !('_fetch' in transport)) {
    await owned.close();
    throw sdkTooOld();
  }
  if (options.kind === 'http') {
    watch.attach(transport);
    if (options.sdk === 'v1') reconnections.watchField(transport);
  } else {
    const start = transport.start.bind(transport);
    transport.start = async () => {
      await start();
      established = true;
    };
    // All answers of an SSE server come over one stream. When it breaks they are lost, even if the SDK opens another.
    const { onerror } = transport;
    transport.onerror = (error) => {
      onerror?.(error);
      if (established && !isNoMessage(error)) options.onLost(error);
    };
  }
  return {
    transport,
    refusedWith: () => refusal,
    redirect: () => redirect,
    close: async () => {
      // A request that closing cut off might have run; one that the server refuses is known not to have.
      if (isExpired && (await isDoneWithin(REFUSAL_TIMEOUT_MS, Promise.all(unanswered))))
        await setImmediate();
      backlog.close();
      const terminated = transport.terminateSession?.().catch(() => undefined);
      if (terminated) await isDoneWithin(TERMINATE_TIMEOUT_MS, terminated);
      reconnections.close();
      await transport.close().catch(() => undefined);
      watch.close();
      await owned.close();
    },
  };
}

/** Writes the integers of arguments that no double holds as numbers, in the body and in headers that repeat them. */
function sendIntegers(send: typeof fetch): typeof fetch {
  return (input, init) => {
    if (typeof init?.body !== 'string') return send(input, init);
    const body = writeIntegers(init.body);
    if (body === init.body) return send(input, init);
    const headers = [...new Headers(init.headers)].map(([name, value]): [string, string] => [
      name,
      writeIntegers(value),
    ]);
    return send(input, { ...init, body, headers });
  };
}

/** Whether the server is not there; other errors may come from a kept-alive socket that has just been closed. */
function isUnreachable(error: unknown): boolean {
  const code = (error as { cause?: { code?: unknown } }).cause?.code;
  return ['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'ENETUNREACH'].includes(String(code));
}

/** Transports that take no `fetch` follow redirects anywhere and read messages without bounds. */
function sdkTooOld(): ObservatoryError {
  const wanted = '@modelcontextprotocol/sdk@^1.15.0';
  return new ObservatoryError(
    'MISSING_PEER',
    `A server with a "url" needs ${wanted}; the version that is installed takes no \`fetch\`. Run: npm install ${wanted}`,
  );
}

async function loadTransports(sdk: 'v1' | 'v2') {
  if (sdk === 'v2')
    return loadPeer(
      '@modelcontextprotocol/client',
      () => importPeer<typeof import('@modelcontextprotocol/client')>('@modelcontextprotocol/client'),
      {
        neededFor: 'This MCP server',
      },
    );
  const [http, sse] = await loadPeer(
    '@modelcontextprotocol/sdk',
    () =>
      Promise.all([
        importPeer<typeof import('@modelcontextprotocol/sdk/client/streamableHttp.js')>(
          '@modelcontextprotocol/sdk/client/streamableHttp.js',
        ),
        importPeer<typeof import('@modelcontextprotocol/sdk/client/sse.js')>(
          '@modelcontextprotocol/sdk/client/sse.js',
        ),
      ]),
    // The first version whose transports send every request through the `fetch` they are given.
    { neededFor: 'A remote MCP server', range: '^1.15.0' },
  );
  return {
    StreamableHTTPClientTransport: http.StreamableHTTPClientTransport,
    SSEClientTransport: sse.SSEClientTransport,
  };
}

/** The part of undici's Agent used here. */
interface Dispatcher {
  destroy(): Promise<void>;
}

type DispatcherClass = new (options: object) => Dispatcher;

interface OwnedFetch {
  readonly fetch: typeof fetch;
  /** Closes every socket this fetch has opened. */
  close(): Promise<void>;
}

/**
 * A `fetch` with its own connection pool, for two reasons. The pool of the global `fetch` keeps idle sockets open after
 * `close()`, and it ends any response that is silent for five minutes, although a tool call may take longer. Node does
 * not export its HTTP client (undici), but the global dispatcher is an instance of its class. Without that class, or
 * with a proxy installed in its place, this is the global `fetch`.
 */
async function createOwnedFetch(): Promise<OwnedFetch> {
  // The first use of fetch loads undici, which then sets the global dispatcher.
  const key = Symbol.for('undici.globalDispatcher.1');
  if (!(key in globalThis)) await fetch('data:,').catch(() => undefined);
  const global = (globalThis as Record<symbol, unknown>)[key];
  const Agent = global?.constructor as DispatcherClass | undefined;
  if (Agent?.name !== 'Agent') return { fetch, close: async () => undefined };
  // The timeouts of each call bound silence.
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  return {
    fetch: (input, init) => fetch(input, { ...init, dispatcher } as RequestInit),
    close: () => dispatcher.destroy().catch(() => undefined),
  };
}

/** More than can be waiting at once: a transport waits two seconds at most, or what the server asks for. */
const MAX_TRACKED = 256;

/**
 * Holds the timers with which the HTTP transports of the SDKs schedule the reopening of streams. A transport remembers
 * only its latest timer, so after its `close()` the others would keep running, and the process with them.
 */
class Reconnections {
  readonly #timers: Set<NodeJS.Timeout> = new Set();
  #closed = false;

  /** For SDK v1, which writes its latest timer to a private field: intercepts the writes. */
  watchField(transport: object): void {
    let latest: NodeJS.Timeout | undefined;
    Object.defineProperty(transport, '_reconnectionTimeout', {
      configurable: true,
      get: () => latest,
      set: (timer: NodeJS.Timeout | undefined) => {
        latest = timer;
        if (timer === undefined) return;
        if (this.#closed) return clearTimeout(timer);
        this.#timers.add(timer);
        const [oldest] = this.#timers;
        if (this.#timers.size > MAX_TRACKED && oldest !== undefined) this.#timers.delete(oldest);
      },
    });
  }

  /** Cancels the pending timers, and those that a reconnection in progress would set when it fails. */
  close(): void {
    this.#closed = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }
}
