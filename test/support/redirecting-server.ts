import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { listen } from './http-server.ts';

/** Status and `location` of the answer to a request; undefined answers it. */
export type Redirects = (request: {
  readonly what: string;
  readonly path: string;
  readonly elsewhere: string;
}) => readonly [status: number, location: string] | undefined;

export interface Asked {
  readonly method: string | undefined;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface RedirectingServer extends AsyncDisposable {
  readonly url: string;
  /** Address of the other server. */
  readonly elsewhere: string;
  readonly asked: Asked[];
  /** Requests that reached the other server. */
  readonly reachedElsewhere: Asked[];
}

/** @param redirects is given the JSON-RPC method of a POST, else the HTTP method. */
export async function startRedirecting(redirects: Redirects): Promise<RedirectingServer> {
  const asked: Asked[] = [];
  const reachedElsewhere: Asked[] = [];
  const other = await serve(async (request, response) => {
    reachedElsewhere.push(request);
    answer(request, response);
  });
  const elsewhere = other.origin;
  const own = await serve(async (request, response) => {
    asked.push(request);
    const { id: _id, method } = (request.body === '' ? {} : JSON.parse(request.body)) as Message;
    const redirect = redirects({ what: method ?? request.method ?? '', path: request.path, elsewhere });
    if (redirect === undefined) return answer(request, response);
    response.writeHead(redirect[0], { location: redirect[1] }).end('moved');
  });
  return {
    url: `${own.origin}/mcp`,
    elsewhere,
    asked,
    reachedElsewhere,
    [Symbol.asyncDispose]: async () => {
      await own[Symbol.asyncDispose]();
      await other[Symbol.asyncDispose]();
    },
  };
}

interface Message {
  readonly id?: number;
  readonly method?: string;
}

function answer({ method, body, headers }: Asked, response: ServerResponse): void {
  if (method === 'GET' && headers.accept === 'text/event-stream') {
    response.writeHead(405).end();
    return;
  }
  const { id, method: name } = (body === '' ? {} : JSON.parse(body)) as Message;
  if (id === undefined) {
    response.writeHead(202).end();
    return;
  }
  const results: Readonly<Record<string, object>> = {
    initialize: {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'moved', version: '1' },
    },
    'tools/list': { tools: [{ name: 't', inputSchema: { type: 'object' } }] },
    'tools/call': { content: [{ type: 'text', text: 'done' }] },
  };
  response
    .writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'one' })
    .end(JSON.stringify({ jsonrpc: '2.0', id, result: results[name ?? ''] ?? {} }));
}

function serve(act: (request: Asked, response: ServerResponse) => Promise<void>) {
  const http = createServer(async (request, response) => {
    const { method, url: path = '', headers } = request;
    await act({ method, path, headers, body: await text(request) }, response);
  });
  return listen(http);
}
