import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ObservatoryError } from '../errors.ts';
import type { Golden } from './format.ts';
import { GoldenPlayer, type PlayerOptions } from './player.ts';

/** Requests larger than this are refused; a conversation is far smaller. */
const MAX_BODY_BYTES = 64 * 1024 * 1024;

/** A local HTTP server that answers as the provider did in a golden, for clients that take no `fetch`. */
export interface Playback extends AsyncDisposable {
  /** Address for the Anthropic and Gemini clients. */
  readonly url: string;
  /** Address for the `openai` client. */
  readonly baseUrl: string;
  readonly player: GoldenPlayer;
  close(): Promise<void>;
}

/**
 * Plays a golden's provider responses, each once, on a port of the loopback address. A request the golden does not hold
 * is answered with status 409 and the difference, which no SDK takes for anything but an error.
 */
export async function playGolden(golden: Golden, options: PlayerOptions = {}): Promise<Playback> {
  const player = new GoldenPlayer(golden, options);
  const server = createServer((request, response) => {
    answer(player, request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else refuse(response, error);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = async (): Promise<void> => {
    if (!server.listening) return;
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };
  return { url, baseUrl: `${url}/v1`, player, close, [Symbol.asyncDispose]: close };
}

async function answer(
  player: GoldenPlayer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method = 'GET', url = '/' } = request;
  const body = await readBody(request);
  const played = await player.fetch(new URL(url, 'http://127.0.0.1'), {
    method,
    ...(method === 'GET' || method === 'HEAD' ? {} : { body }),
  });
  response.writeHead(played.status, Object.fromEntries(played.headers));
  for await (const chunk of played.body ?? []) response.write(chunk);
  response.end();
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) {
      throw new ObservatoryError('INVALID_INPUT', `The request is larger than ${MAX_BODY_BYTES} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function refuse(response: ServerResponse, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  const body = { error: { message, type: 'invalid_request_error', code: 'golden_mismatch', param: null } };
  response.writeHead(409, { 'content-type': 'application/json', 'x-should-retry': 'false' });
  response.end(JSON.stringify(body));
}
