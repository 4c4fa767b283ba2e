import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ObservatoryError } from '../../base/index.ts';
import type { Golden } from '../file/index.ts';
import { GoldenPlayer, type PlayerOptions } from './player.ts';

/** A local HTTP server that plays a golden's provider, for clients without a `fetch` option. */
export interface Playback extends AsyncDisposable {
  /** Base URL for the Anthropic and Gemini clients. */
  readonly url: string;
  /** Base URL for the `openai` client. */
  readonly baseUrl: string;
  readonly player: GoldenPlayer;
  close(): Promise<void>;
}

/**
 * Serves a golden's provider responses, each once, on a loopback port. An unknown request gets status 409 with the
 * difference, which every SDK reports as an error.
 */
export async function playGolden(golden: Golden, options: PlayerOptions = {}): Promise<Playback> {
  const player = new GoldenPlayer(golden, options, 'playGolden()');
  const loopback = await openLoopback(
    (request, response) => answerFromGolden(player, request, response),
    refuse,
  );
  return { ...loopback, baseUrl: `${loopback.url}/v1`, player };
}

export async function answerFromGolden(
  player: GoldenPlayer,
  { method, path, body }: LoopbackRequest,
  response: ServerResponse,
): Promise<void> {
  const played = await player.fetch(new URL(path, 'http://127.0.0.1'), {
    method,
    ...(method === 'GET' || method === 'HEAD' ? {} : { body }),
  });
  response.writeHead(played.status, Object.fromEntries(played.headers));
  for await (const chunk of played.body ?? []) response.write(chunk);
  response.end();
}

function refuse(response: ServerResponse, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  const body = { error: { message, type: 'invalid_request_error', code: 'golden_mismatch', param: null } };
  response.writeHead(409, { 'content-type': 'application/json', 'x-should-retry': 'false' });
  response.end(JSON.stringify(body));
}

/** Larger requests are refused. */
const MAX_BODY_BYTES = 64 * 1024 * 1024;

/** An HTTP server that only this machine can reach. */
export interface Loopback extends AsyncDisposable {
  /** Without a trailing slash. */
  readonly url: string;
  /** Also closes open connections. Idempotent. */
  close(): Promise<void>;
}

interface LoopbackRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

type LoopbackHandler = (request: LoopbackRequest, response: ServerResponse) => void | Promise<void>;

/**
 * Starts a server on a free port of the loopback address.
 * @param refuse responds when the handler throws or the request is too large. If a response has begun, its connection
 *   is cut instead. @defaultValue status 500 with the error's text
 */
export async function openLoopback(
  handle: LoopbackHandler,
  refuse: (response: ServerResponse, error: unknown) => void = refuseAsFault,
): Promise<Loopback> {
  const server = toServer(handle, refuse);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closed ??= new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
    return closed;
  };
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close, [Symbol.asyncDispose]: close };
}

/** A server that does not listen yet. @param refuse as of {@link openLoopback} */
export function toServer(
  handle: LoopbackHandler,
  refuse: (response: ServerResponse, error: unknown) => void,
): Server {
  const answerOne = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = 'GET', url: path = '/' } = request;
    await handle({ method, path, body: await readBody(request) }, response);
  };
  return createServer((request, response) => {
    answerOne(request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else refuse(response, error);
    });
  });
}

function refuseAsFault(response: ServerResponse, error: unknown): void {
  response.writeHead(500).end(String(error));
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
