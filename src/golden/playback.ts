import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Golden } from './format.ts';

/** Requests larger than this are refused; a conversation is far smaller. */
const MAX_BODY_BYTES = 16 * 1024 * 1024;

/** A local HTTP server that answers as the provider did in a golden. */
export interface Playback extends AsyncDisposable {
  /** Base URL for the `openai` client. */
  readonly baseUrl: string;
  close(): Promise<void>;
}

/**
 * Plays a golden's provider responses, in order and each once, to `POST /v1/chat/completions`.
 *
 * A request that is not the next one of the golden (another model, or another number of messages) or one after the
 * last is answered with status 409 and says what was expected, so that a change of behaviour cannot pass unseen.
 */
export async function playGolden(golden: Golden): Promise<Playback> {
  let next = 0;
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      if (!response.headersSent) send(response, 400, problem(String(error)));
    });
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readJson(request);
    if (request.method !== 'POST' || request.url !== '/v1/chat/completions') {
      return send(response, 404, problem(`${request.method} ${request.url} is not played`));
    }
    const exchange = golden.provider_responses[next];
    if (exchange === undefined) {
      return send(response, 409, problem(`'${golden.test_name}' holds ${next} exchanges and all are used`));
    }
    const difference = differenceOf(exchange.request.body as Record<string, unknown>, body);
    if (difference !== undefined) {
      return send(response, 409, problem(`exchange ${next + 1} of '${golden.test_name}': ${difference}`));
    }
    next += 1;
    send(response, 200, exchange.response.body as object);
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { baseUrl: `http://127.0.0.1:${port}/v1`, close, [Symbol.asyncDispose]: close };
}

function differenceOf(expected: Readonly<Record<string, unknown>>, actual: Record<string, unknown>) {
  if (expected.model !== actual.model)
    return `model is '${actual.model}', the golden has '${expected.model}'`;
  const wanted = messageCount(expected);
  const got = messageCount(actual);
  return wanted === got ? undefined : `${got} messages were sent, the golden has ${wanted}`;
}

function messageCount(request: Readonly<Record<string, unknown>>): number {
  return Array.isArray(request.messages) ? request.messages.length : 0;
}

async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new RangeError(`the request is larger than ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  return chunks.length === 0
    ? {}
    : (JSON.parse(Buffer.concat(chunks).toString('utf8')) as Record<string, unknown>);
}

function problem(message: string): object {
  return { error: { message, type: 'invalid_request_error', code: 'playback_mismatch', param: null } };
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
