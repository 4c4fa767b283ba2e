import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import type { StoreMcp } from '../mcp/index.ts';
import { readJsonBody } from './decide.ts';

const MAX_BYTES = 1_048_576;

/** Gives a request of Node to the MCP server and its answer to the sender, as it comes. */
export async function answerMcp(
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
  mcp: StoreMcp,
): Promise<void> {
  const { method = 'GET' } = request;
  const body = method === 'POST' ? JSON.stringify(await readJsonBody(request, MAX_BYTES)) : null;
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (typeof value === 'string' && !name.startsWith(':')) headers.set(name, value);
  }
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const asked = new Request(new URL(url.pathname, `http://${request.headers.host ?? 'page'}`), {
    method,
    headers,
    body,
    signal: gone.signal,
  });
  const answer = await mcp.fetch(asked);
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (answer.body === null) response.end();
  else
    await pipeline(Readable.fromWeb(answer.body as ReadableStream), response).catch(() => response.destroy());
}
