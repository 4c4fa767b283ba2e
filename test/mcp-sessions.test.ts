/** HTTP servers that end sessions or want other credentials, on the official SDK. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { test } from 'node:test';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { connectServers } from '../src/mcp-client/index.ts';
import { listen } from './support/http-server.ts';

type Listener = (request: IncomingMessage, response: ServerResponse) => void;

async function serve(listener: Listener): Promise<{ url: string } & AsyncDisposable> {
  const listening = await listen(createServer(listener));
  return { ...listening, url: `${listening.origin}/mcp` };
}

type Refusal = 404 | 400 | 200;
const NOT_FOUND = '{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}';

/** A server with sessions, which loses them all in `restart`. Its tool counts how often it ran. */
class SessionServer {
  runs = 0;
  #transport: StreamableHTTPServerTransport | undefined;
  #fresh = true;

  readonly listener: Listener = (request, response) => {
    this.#serve(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
  };

  /**
   * @param status what is answered to the old session: 404 by a server that knows others, 400 by one that knows none, 200
   *   by one that says it in an event stream.
   */
  restart(status: Refusal): void {
    this.#fresh = true;
    this.#refuses = status;
  }

  #refuses: Refusal = 404;

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const knowsNone = this.#fresh && request.headers['mcp-session-id'] !== undefined;
    if (knowsNone && this.#refuses === 404) return void response.writeHead(404).end(NOT_FOUND);
    if (knowsNone && this.#refuses === 200) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      return void response.end(`event: message\ndata: ${NOT_FOUND}\n\n`);
    }
    if (this.#fresh) {
      this.#fresh = knowsNone;
      const server = new McpServer({ name: 'sessions', version: '1.0.0' });
      server.registerTool('count', { description: 'Counts its calls' }, () => {
        this.runs += 1;
        return { content: [{ type: 'text', text: String(this.runs) }] };
      });
      this.#transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID });
      await server.connect(this.#transport as unknown as Parameters<typeof server.connect>[0]);
    }
    await this.#transport?.handleRequest(request, response);
  }
}

const textOf = (outcome: { kind: string; result?: { content: readonly object[] } | undefined }) =>
  (outcome.result?.content[0] as { text?: string } | undefined)?.text ?? outcome.kind;

for (const protocol of ['v1', 'v2'] as const) {
  for (const status of [404, 400, 200] as const) {
    test(`${protocol}: a session that has expired (HTTP ${status}) is renewed, and the call that never ran is made again`, async () => {
      const server = new SessionServer();
      await using http = await serve(server.listener);
      await using pool = await connectServers({ s: { url: http.url, type: 'http', protocol } });
      assert.equal(textOf(await pool.callTool('s', 'count', {})), '1');
      server.restart(status);
      const both = await Promise.all([pool.callTool('s', 'count', {}), pool.callTool('s', 'count', {})]);
      assert.deepEqual(both.map(textOf).sort(), ['2', '3'], JSON.stringify(both));
      assert.equal(server.runs, 3, 'each call ran once');
      server.restart(status);
      assert.equal((await pool.server('s').listTools()).length, 1);
    });
  }
}

/** Lets in who has the current token. */
function guarded(inner: Listener, token: () => string): Listener {
  return (request, response) => {
    if (request.headers.authorization === `Bearer ${token()}`) inner(request, response);
    else response.writeHead(401, { 'www-authenticate': 'Bearer realm="desk"' }).end('no');
  };
}

test('a 401 names what to do, at the start and in a call', async () => {
  const server = new SessionServer();
  let token = 'one';
  await using http = await serve(guarded(server.listener, () => token));
  await using closed = await connectServers({ s: { url: http.url } });
  const remedy = /HTTP 401 \(Bearer realm="desk"\); set "headers": \{ "authorization": "Bearer \.\.\." \}/;
  assert.match(closed.server('s').error?.message ?? '', remedy);
  const headers = { authorization: 'Bearer one' };
  await using pool = await connectServers({ s: { url: http.url, headers } });
  assert.equal(textOf(await pool.callTool('s', 'count', {})), '1');
  token = 'two';
  const refused = await pool.callTool('s', 'count', {});
  assert.equal(refused.kind, 'transport_error');
  assert.match(refused.kind === 'transport_error' ? refused.message : '', remedy);
  assert.equal(server.runs, 1);
});

test('an address without an MCP server is named as that', async () => {
  await using http = await serve((_request, response) => response.writeHead(404).end());
  await using pool = await connectServers({ s: { url: http.url } });
  assert.match(
    pool.server('s').error?.message ?? '',
    /no MCP server at this address, HTTP 404; check the path/,
  );
});

test('headers may be a function: it is asked before each request, and once more after a 401', async () => {
  const server = new SessionServer();
  let token = 'one';
  let known = 'one';
  await using http = await serve(guarded(server.listener, () => token));
  const headers = () => {
    const given = { authorization: `Bearer ${known}` };
    known = token;
    return given;
  };
  await using pool = await connectServers({ s: { url: http.url, headers } });
  assert.equal(textOf(await pool.callTool('s', 'count', {})), '1');
  token = 'two';
  assert.equal(
    textOf(await pool.callTool('s', 'count', {})),
    '2',
    'the second answer of the function was fresh',
  );
  await using broken = await connectServers({
    s: {
      url: http.url,
      headers: () => {
        throw new Error('secret detail');
      },
    },
  });
  const message = broken.server('s').error?.message ?? '';
  assert.match(message, /the function given as headers failed/);
  assert.doesNotMatch(message, /secret detail/);
});
