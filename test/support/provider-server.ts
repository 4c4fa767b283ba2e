/** A model provider: a local HTTP server that responds as a test configures it, over real sockets. */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface ProviderRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

export interface ProviderReply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A JSON body; not with `events`. */
  readonly body?: unknown;
  /** Raw server-sent events, written one by one. */
  readonly events?: readonly string[];
  /** Pause between events, in milliseconds. */
  readonly pauseMs?: number;
  /** Destroys the socket after this many events. */
  readonly cutAfter?: number;
}

export class ProviderServer implements AsyncDisposable {
  readonly requests: ProviderRequest[] = [];
  /** Events written for the last streamed reply. */
  eventsSent = 0;
  /** Streamed replies that the client hung up on. */
  hangUps = 0;
  readonly #server: Server;
  #reply: (request: ProviderRequest) => ProviderReply;

  private constructor(reply: (request: ProviderRequest) => ProviderReply) {
    this.#reply = reply;
    this.#server = createServer((request, response) => {
      // Two equal answers would differ by it when a second passes between them.
      response.sendDate = false;
      void this.#serve(request, response);
    });
  }

  static async start(
    reply: (request: ProviderRequest) => ProviderReply = () => ({ status: 404 }),
  ): Promise<ProviderServer> {
    const provider = new ProviderServer(reply);
    await new Promise<void>((resolve) => provider.#server.listen(0, '127.0.0.1', resolve));
    return provider;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Answers from now on as told. */
  answer(reply: ProviderReply | ((request: ProviderRequest) => ProviderReply)): void {
    this.#reply = typeof reply === 'function' ? reply : () => reply;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString('utf8');
    const body: unknown = text === '' ? undefined : JSON.parse(text);
    const { method = '', url = '', headers } = request;
    const received = { method, path: url, headers, body };
    this.requests.push(received);
    const reply = this.#reply(received);
    if (reply.events === undefined) {
      response.writeHead(reply.status ?? 200, { 'content-type': 'application/json', ...reply.headers });
      response.end(reply.body === undefined ? '' : JSON.stringify(reply.body));
      return;
    }
    await this.#stream(response, reply, reply.events);
  }

  async #stream(response: ServerResponse, reply: ProviderReply, events: readonly string[]): Promise<void> {
    // Counted apart: the stream of an earlier test may still be going when the next one starts.
    let sent = 0;
    this.eventsSent = 0;
    const closed = new AbortController();
    response.on('close', () => {
      closed.abort();
      if (!response.writableFinished) this.hangUps++;
    });
    response.writeHead(reply.status ?? 200, { 'content-type': 'text/event-stream', ...reply.headers });
    response.flushHeaders();
    for (const event of events) {
      if (sent === reply.cutAfter) {
        response.destroy();
        return;
      }
      if (response.destroyed) return;
      response.write(event);
      sent += 1;
      this.eventsSent = sent;
      // A pause that nobody waits for any more would keep the process of the tests alive.
      if (reply.pauseMs !== undefined) await sleep(reply.pauseMs, undefined, closed).catch(() => {});
    }
    response.end();
  }
}

/** Server-sent events with the given data, named by `type` where the provider does so. */
export function sse(data: readonly unknown[], named = false): string[] {
  return data.map((item) => {
    const text = typeof item === 'string' ? item : JSON.stringify(item);
    const name = named ? `event: ${(item as { type: string }).type}\n` : '';
    return `${name}data: ${text}\n\n`;
  });
}
