/** A server that asks for thousands of things at once gets its answers a few at a time. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { gateClient, PolicyGate } from '../src/policy/index.ts';
import { sized } from './support/size.ts';

const ASKED = sized(100, 1000);
/** How long the server leaves an answer unacknowledged. */
const HOLD_MS = 20;

interface Message {
  readonly id?: number;
  readonly method?: string;
}

describe('a storm of requests from a server over HTTP', () => {
  let open = 0;
  let most = 0;
  let answered = 0;
  let finish = (): void => undefined;
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const message = JSON.parse(body) as Message;
    if (message.method === undefined) {
      open += 1;
      most = Math.max(most, open);
      setTimeout(() => {
        open -= 1;
        answered += 1;
        if (answered === ASKED) finish();
        response.writeHead(202).end();
      }, HOLD_MS);
    } else if (message.id === undefined) response.writeHead(202).end();
    else answer(message, response);
  });

  function answer({ id, method }: Message, response: ServerResponse): void {
    const send = (result: object) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    if (method === 'initialize') {
      send({
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'asker', version: '1' },
      });
    } else if (method === 'tools/list') {
      send({ tools: [{ name: 'ask', inputSchema: { type: 'object' } }] });
    } else {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const event = (data: object) =>
        response.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...data })}\n\n`);
      for (let i = 0; i < ASKED; i += 1)
        event({ id: `ask-${i}`, method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } });
      finish = () => {
        event({ id, result: { content: [{ type: 'text', text: 'done' }] } });
        response.end();
      };
    }
  }

  before(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  test('gets at most eight answers at once, and its call is answered', async () => {
    const { port } = server.address() as AddressInfo;
    const client = new Client({ name: 'host', version: '1' }, { capabilities: { sampling: {} } });
    await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`)) as never);
    try {
      const gate = new PolicyGate({ policy: { server: ['ask'] } });
      const gated = gateClient(client, gate, { server: 'server' });
      const result = (await gated.callTool({ name: 'ask', arguments: {} })) as { content: unknown };
      assert.deepEqual(result.content, [{ type: 'text', text: 'done' }]);
      assert.ok(most <= 8, `${most} answers at once`);
      assert.equal(answered, ASKED);
    } finally {
      await client.close();
    }
  });
});
