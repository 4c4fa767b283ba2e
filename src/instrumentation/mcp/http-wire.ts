/**
 * The spans of HTTP servers whose SDK no hook can see, for it is bundled: from what passes their MCP route.
 *
 * Node tells of each request before the program gets it. One that may be MCP by its headers has two members shadowed:
 * `push`, which Node's parser calls with each chunk of the body, and `read`, by which the program takes it. Neither
 * starts the stream, and both are as they were once the body has ended. Only the response of a request that is MCP is
 * looked at, in `write` and `end`.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Context, context } from '@opentelemetry/api';
import { HTTP_CLIENT_KEY } from './connection.ts';
import { isHttpHooked } from './inbound.ts';
import type { McpMessage, TransportLike } from './internal-types.ts';
import { INITIALIZE, PROTOCOL_METHODS } from './methods.ts';
import type { Operation } from './operation.ts';
import { CLOSED_OUTCOME, outcomeOfStatus, type RequestOutcome } from './outcome.ts';
import { readHttpClient } from './patch-transport.ts';
import { withHeaderContext } from './propagation.ts';
import { type Shadow, shadowMethod } from './shadow.ts';
import type { Telemetry } from './telemetry.ts';
import { FIRST_BYTES, WireLines } from './wire-lines.ts';
import { opensMcp, Wire, WireServer } from './wire-server.ts';

const STARTS = 'http.server.request.start';
const EVENTS = 'text/event-stream';
const SESSION_HEADER = 'mcp-session-id';
const VERSION_HEADER = 'mcp-protocol-version';
const BY_HTTP = 'MCP server, by its HTTP requests';
/** Requests watched at a time, sessions kept in mind, and bytes held of all messages that have not ended. */
const MAX_OPEN = 10_000;
const MAX_SESSIONS = 1000;
const MAX_HELD_BYTES = 32 * 1024 * 1024;

/** Have the shapes of the SDK's transports for servers over HTTP. */
interface HttpTransport extends TransportLike {
  sessionId: string | undefined;
  readonly handleRequest?: true;
  /** Of the older transport: requests are posted, and answers come on a stream. */
  readonly handlePostMessage?: true;
}

type Session = WireServer<HttpTransport>;

/** Watches the requests to this thread's HTTP servers. @returns a function that ends it. */
export function watchHttp(telemetry: Telemetry): () => void {
  const { wire } = new HttpWatch(telemetry);
  return () => wire.stop();
}

class HttpWatch {
  readonly wire: Wire;
  open = 0;
  held = 0;
  /** By id, or by the address that requests are posted to. */
  readonly #sessions = new Map<string, Session>();

  constructor(telemetry: Telemetry) {
    const onStart = (started: unknown) => {
      const { request, response } = started as Started;
      const { method } = request;
      if (!telemetry.enabled || (method !== 'POST' && method !== 'GET' && method !== 'DELETE')) return;
      telemetry.guard.run('mcp.http.start', () => this.#look(request, response));
    };
    this.wire = new Wire(telemetry, BY_HTTP, isHttpHooked, () => unsubscribe(STARTS, onStart));
    subscribe(STARTS, onStart);
  }

  keep(key: string, session: Session): void {
    this.#sessions.delete(key);
    this.#sessions.set(key, session);
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size > MAX_SESSIONS && oldest !== undefined) this.end(oldest);
  }

  end(key: string): void {
    this.#sessions.get(key)?.close();
    this.#sessions.delete(key);
  }

  #look(request: IncomingMessage, response: ServerResponse): void {
    const { method, headers, url } = request;
    const key =
      this.#sessions.size === 0 ? undefined : (headers[SESSION_HEADER]?.toString() ?? findAddress(url));
    const session = key === undefined ? undefined : this.#sessions.get(key);
    const takesEvents = headers.accept?.includes(EVENTS) === true;
    if (method === 'DELETE') {
      if (key === undefined || session === undefined) return;
      response.once('close', () => {
        if (response.statusCode < 300) this.end(key);
      });
    } else if (this.open >= MAX_OPEN) return;
    else if (method === 'GET') {
      if (takesEvents) new Exchange(this, request, response, session).watchResponse();
    } else if (headers['content-type']?.includes('json') === true) {
      const isMarked = session !== undefined || SESSION_HEADER in headers || VERSION_HEADER in headers;
      if (isMarked || takesEvents) new Exchange(this, request, response, session).watchBody(isMarked);
    }
  }
}

interface Started {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** One HTTP request and its response. */
class Exchange {
  readonly #watch: HttpWatch;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #body = new WireLines((messages) => {
    this.#messages = messages;
  }, 'body');
  readonly #answer = new WireLines((messages) => this.#session?.send(messages), 'events');
  #session: Session | undefined;
  #messages: readonly McpMessage[] | undefined;
  /** Where the program reads the body. */
  #from: Context | undefined;
  #undo: (() => void)[] = [];
  #isMarked = false;
  #hasBegun = false;
  #isAnswering = false;
  #isWriting = false;
  #isCounted = true;
  #held = 0;
  /** Its address, if it is a stream of the older transport. */
  #stream: string | undefined;

  constructor(
    watch: HttpWatch,
    request: IncomingMessage,
    response: ServerResponse,
    session: Session | undefined,
  ) {
    this.#watch = watch;
    this.#request = request;
    this.#response = response;
    this.#session = session;
    watch.open += 1;
    response.once('close', this.#close);
  }

  /** @param isMarked whether the headers say that it is MCP. */
  watchBody(isMarked: boolean): void {
    this.#isMarked = isMarked;
    this.#undo.push(
      shadowMethod(this.#request, 'push', (...call) => this.#through(call, () => this.#pushed(call[2][0]))),
      // Node itself reads nothing now and then, to fill its buffer.
      shadowMethod(this.#request, 'read', (...call) =>
        call[2][0] === 0 ? call[0].apply(call[1], call[2]) : this.#through(call, () => this.#read()),
      ),
    );
  }

  watchResponse(): void {
    for (const name of ['write', 'end'])
      this.#undo.push(shadowMethod(this.#response, name, (...call) => this.#written(call, name === 'end')));
  }

  /** Makes the call; what a handler does belongs to its request, if it came alone. */
  #through([original, self, args]: Parameters<Shadow>, look: () => Operation | undefined): unknown {
    const { guard } = this.#watch.wire.telemetry;
    const operation = guard.run('mcp.http.in', look);
    if (operation === undefined) return original.apply(self, args);
    return guard.call('mcp.http.call', operation.context, original, self, args);
  }

  #pushed(chunk: unknown): Operation | undefined {
    if (chunk === null) {
      this.#body.end();
      if (!this.#isMcp()) this.#leave();
      else if (this.#from !== undefined) return this.#begin(this.#from);
    } else if (chunk instanceof Uint8Array) {
      if (this.#body.length === 0 && !FIRST_BYTES.has(chunk[0] ?? 0)) this.#leave();
      else this.#hold(this.#body, chunk, undefined);
    }
    return undefined;
  }

  #read(): Operation | undefined {
    this.#from ??= context.active();
    return this.#messages === undefined ? undefined : this.#begin(this.#from);
  }

  #isMcp(): boolean {
    const { method } = this.#messages?.[0] ?? {};
    if (this.#isMarked) return this.#messages?.length !== 0;
    if (typeof method !== 'string') return false;
    return opensMcp(this.#messages?.[0]) || (method !== INITIALIZE && PROTOCOL_METHODS.has(method));
  }

  #begin(from: Context): Operation | undefined {
    if (this.#hasBegun || this.#messages === undefined) return undefined;
    this.#hasBegun = true;
    this.#restore();
    if (!this.#watch.wire.check(false)) return undefined;
    const { headers } = this.#request;
    const sessionId = headers[SESSION_HEADER] as string | undefined;
    this.#session ??= new WireServer(this.#watch.wire, { sessionId, handleRequest: true });
    this.watchResponse();
    const caller = from.setValue(HTTP_CLIENT_KEY, readHttpClient(this.#request));
    const extra = { requestInfo: { headers } };
    const begun = this.#session.receive(this.#messages, withHeaderContext(caller, headers), extra);
    return begun.length === 1 ? begun[0] : undefined;
  }

  /** Makes the call; an `end` of somebody else's may write. */
  #written([original, self, args]: Parameters<Shadow>, isEnd: boolean): unknown {
    if (this.#isWriting) return original.apply(self, args);
    this.#isWriting = true;
    try {
      this.#watch.wire.telemetry.guard.run('mcp.http.out', () => this.#look(args, isEnd));
      return original.apply(self, args);
    } finally {
      this.#isWriting = false;
    }
  }

  #look([chunk, encoding]: unknown[], isEnd: boolean): void {
    if (this.#watch.wire.isStopped) {
      this.#restore();
      return;
    }
    if ((typeof chunk === 'string' || chunk instanceof Uint8Array) && chunk.length > 0) {
      if (!this.#isAnswering) this.#beginAnswer(chunk);
      this.#isAnswering = true;
      if (this.#session !== undefined) this.#hold(this.#answer, chunk, encoding);
    }
    if (isEnd) this.#answer.end();
  }

  #beginAnswer(chunk: string | Uint8Array): void {
    if (this.#session === undefined) {
      this.#beginStream(chunk);
      return;
    }
    const first = typeof chunk === 'string' ? chunk.charCodeAt(0) : chunk[0];
    this.#answer.form = FIRST_BYTES.has(first ?? 0) ? 'body' : 'events';
    const { transport } = this.#session;
    const id = findHeader(this.#response, SESSION_HEADER) ?? transport.sessionId;
    if (id === undefined || this.#response.statusCode >= 400 || transport.handlePostMessage) return;
    transport.sessionId = id;
    this.#watch.keep(id, this.#session);
  }

  /** A stream of the older transport opens with the address that requests are posted to. */
  #beginStream(chunk: string | Uint8Array): void {
    const text = Buffer.from(chunk.slice(0, MAX_OPENING) as string).toString();
    const address = findAddress(ENDPOINT.exec(text)?.[1]);
    if (address === undefined) {
      this.#leave();
      return;
    }
    this.#stream = address;
    const sessionId = new URLSearchParams(address).get('sessionId') ?? undefined;
    this.#session = new WireServer(this.#watch.wire, { sessionId, handlePostMessage: true });
    this.#watch.keep(address, this.#session);
  }

  #hold(lines: WireLines, chunk: unknown, encoding: unknown): void {
    lines.add(chunk, encoding);
    const held = this.#body.length + this.#answer.length;
    this.#watch.held += held - this.#held;
    this.#held = held;
    if (this.#watch.held > MAX_HELD_BYTES) this.#restore();
  }

  readonly #close = (): void => {
    this.#watch.wire.telemetry.guard.run('mcp.http.close', () => {
      this.#leave();
      if (this.#stream !== undefined) this.#watch.end(this.#stream);
      else if (this.#hasBegun && !this.#watch.wire.isStopped) {
        const outcome = this.#outcome();
        if (outcome !== undefined) this.#session?.end(this.#messages ?? [], outcome);
      }
    });
  };

  /** How the requests ended that this response has not answered; `undefined` if another one may. */
  #outcome(): RequestOutcome | undefined {
    const { statusCode, writableFinished } = this.#response;
    if (statusCode >= 400) return outcomeOfStatus(statusCode);
    if (this.#session?.transport.handlePostMessage) return undefined;
    if (!writableFinished) return CLOSED_OUTCOME;
    return this.#answer.form === 'events' && this.#session?.transport.sessionId !== undefined
      ? undefined
      : {};
  }

  #leave(): void {
    this.#restore();
    if (!this.#isCounted) return;
    this.#isCounted = false;
    this.#response.removeListener('close', this.#close);
    this.#watch.open -= 1;
    this.#watch.held -= this.#held;
    this.#held = 0;
  }

  #restore(): void {
    for (const undo of this.#undo.splice(0).reverse()) undo();
  }
}

/** Also of one that `writeHead` was given. */
function findHeader(response: ServerResponse, name: string): string | undefined {
  const set = response.getHeader(name);
  if (typeof set === 'string') return set;
  const { _header: head } = response as { readonly _header?: unknown };
  return typeof head === 'string' ? new RegExp(`^${name}: (\\S+)`, 'im').exec(head)?.[1] : undefined;
}

const MAX_OPENING = 4096;
const ENDPOINT = /^event: ?endpoint\r?\ndata: ?(\S+)/m;

/** What tells the sessions of the older transport apart. */
function findAddress(url: string | undefined): string | undefined {
  const at = url?.indexOf('?') ?? -1;
  return at < 0 ? undefined : url?.slice(at);
}
