import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { keptResponseHeaders } from '../../src/golden/index.ts';
import { type GoldenSource, openSource } from './golden-source.ts';
import { type ModelServer, receiveRequest, type Script } from './scripted-provider.ts';
import type { SeenRequest } from './scripted-request.ts';

/** Headers of the connection, not of the request. */
const OF_THE_CONNECTION = /^(?:host|connection|content-length|transfer-encoding|accept-encoding)$/;

/**
 * A model whose answers are those of a golden in `test/goldens`, on a port of the loopback address. The script is what
 * the golden is made of (see golden-source.ts); in a test run nobody asks it.
 *
 * A request that the golden does not hold is answered with an error, and so is one the real API refuses. Whatever the
 * asker makes of that, `close` fails with the difference, and for answers that nobody asked for.
 */
export class GoldenModel implements ModelServer {
  readonly requests: SeenRequest[] = [];
  readonly refused: string[] = [];
  readonly #source: GoldenSource;
  readonly #server: Server;
  readonly #underWay = new Set<Promise<void>>();

  private constructor(source: GoldenSource) {
    this.#source = source;
    this.#server = createServer((request, response) => {
      const answered = this.#answer(request, response).catch((error: unknown) => {
        // The connection broke in the golden too.
        if (response.headersSent) response.destroy();
        else response.writeHead(409, { 'x-should-retry': 'false' }).end(String(error));
      });
      this.#underWay.add(answered);
      void answered.finally(() => this.#underWay.delete(answered));
    });
  }

  /** @param name of the golden's file, below `test/goldens` and without its ending. */
  static async open(name: string, script: Script): Promise<GoldenModel> {
    const model = new GoldenModel(await openSource(name, script));
    model.#server.listen(0, '127.0.0.1');
    await once(model.#server, 'listening');
    return model;
  }

  baseUrl(provider: string): string {
    const origin = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return provider === 'openai' ? `${origin}/v1` : origin;
  }

  async close(): Promise<void> {
    await Promise.all(this.#underWay);
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
    await this.#source.finish();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const received = await receiveRequest(request, response, this);
    if (received === undefined) return;
    const { method = 'POST', url = '/' } = request;
    const { body } = received;
    const answer = await this.#source.answer(url, { method, headers: headersOf(request), body });
    response.writeHead(answer.status, keptResponseHeaders(answer.headers));
    for await (const chunk of answer.body ?? []) response.write(chunk);
    response.end();
  }
}

function headersOf(request: IncomingMessage): [string, string][] {
  return Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' && !OF_THE_CONNECTION.test(name) ? [[name, value]] : [],
  );
}
