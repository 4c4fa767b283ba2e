/** Bounds on what a server may send over HTTP. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { connectServers } from '../src/mcp-client/index.ts';
import { boundMessages } from '../src/mcp-client/response-body.ts';
import { listen } from './support/http-server.ts';

const MAX_BYTES = 64 * 1024;
const JSON_BODY = { 'content-type': 'application/json' };
const EVENTS = { 'content-type': 'text/event-stream' };
const MAX_VALUES = 10_000;
const TOOLS = [
  'endless_json',
  'endless_event',
  'endless_lines',
  'many_events',
  'page',
  'values_json',
  'values_event',
].map((name) => ({
  name,
  inputSchema: { type: 'object' },
}));

/** Writes until the client has gone. */
async function flood(response: ServerResponse, start: string, chunk: string): Promise<void> {
  response.write(start);
  while (!response.destroyed) {
    if (!response.write(chunk)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
  }
}

async function hostileServer() {
  const http = createServer(async (request, response) => {
    if (request.method !== 'POST') return response.writeHead(405).end();
    const { id, method, params } = JSON.parse(await text(request));
    const result = (value: object) => JSON.stringify({ jsonrpc: '2.0', id, result: value });
    const json = (value: object) => response.writeHead(200, JSON_BODY).end(result(value));
    if (id === undefined) return response.writeHead(202).end();
    if (method === 'initialize') {
      return json({
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'hostile', version: '1' },
      });
    }
    if (method === 'tools/list') return json({ tools: TOOLS });
    switch (params.name) {
      case 'endless_json':
        return flood(response.writeHead(200, JSON_BODY), '{"a":"', 'x'.repeat(4_096));
      case 'endless_event':
        return flood(response.writeHead(200, EVENTS), 'data: ', 'x'.repeat(4_096));
      case 'endless_lines':
        return flood(response.writeHead(200, EVENTS), 'data: x\r\n', `data: ${'x'.repeat(1_000)}\r\n`);
      case 'page':
        return response
          .writeHead(500, { 'content-type': 'text/html' })
          .end(`\n<html><title>Down</title>${'a{b:c}'.repeat(5_000)}`);
      case 'values_json':
        return flood(response.writeHead(200, JSON_BODY), '[', '[],'.repeat(100));
      case 'values_event':
        return flood(response.writeHead(200, EVENTS), ': "\ndata: [', '[],'.repeat(100));
      default: {
        response.writeHead(200, EVENTS);
        const note = JSON.stringify({
          jsonrpc: '2.0',
          method: 'notifications/message',
          params: { level: 'info', data: 'x'.repeat(1_000) },
        });
        for (let n = 0; n < 200; n += 1) response.write(`event: message\r\ndata: ${note}\r\n\r\n`);
        return response.end(`data: ${result({ content: [{ type: 'text', text: 'done' }] })}\n\n`);
      }
    }
  });
  const listening = await listen(http);
  return { ...listening, url: `${listening.origin}/mcp` };
}

for (const protocol of ['v1', 'v2'] as const) {
  test(`a message over HTTP beyond maxMessageBytes ends the connection and says so, client ${protocol}`, async () => {
    await using server = await hostileServer();
    for (const tool of ['endless_json', 'endless_event', 'endless_lines']) {
      await using pool = await connectServers(
        { mcpServers: { hostile: { url: server.url, protocol } } },
        { maxMessageBytes: MAX_BYTES },
      );
      const outcome = await pool.callTool('hostile', tool, {});
      assert.equal(outcome.kind, 'transport_error', tool);
      assert.match(
        outcome.kind === 'transport_error' ? outcome.message : '',
        /the server sent a message of more than 65536 bytes/,
        tool,
      );
      assert.equal(pool.server('hostile').state, 'dead', tool);
    }
  });

  test(`a message over HTTP of too many values ends the connection before it is parsed, client ${protocol}`, async () => {
    await using server = await hostileServer();
    for (const tool of ['values_json', 'values_event']) {
      await using pool = await connectServers(
        { mcpServers: { hostile: { url: server.url, protocol } } },
        { maxMessageValues: MAX_VALUES },
      );
      const outcome = await pool.callTool('hostile', tool, {});
      assert.match(
        outcome.kind === 'transport_error' ? outcome.message : outcome.kind,
        /the server sent a message of more than 10000 JSON values/,
        tool,
      );
      assert.equal(pool.server('hostile').state, 'dead', tool);
    }
  });

  test(`a page in place of an answer is no message of many values, client ${protocol}`, async () => {
    await using server = await hostileServer();
    await using pool = await connectServers(
      { mcpServers: { hostile: { url: server.url, protocol } } },
      { maxMessageValues: MAX_VALUES },
    );
    const outcome = await pool.callTool('hostile', 'page', {});
    assert.match(outcome.kind === 'transport_error' ? outcome.message : outcome.kind, /500.*Down/);
    assert.equal(pool.server('hostile').state, 'ready');
  });

  test(`a stream may be longer than maxMessageBytes where its messages are not, client ${protocol}`, async () => {
    await using server = await hostileServer();
    await using pool = await connectServers(
      { mcpServers: { hostile: { url: server.url, protocol } } },
      { maxMessageBytes: MAX_BYTES, maxMessageValues: 500 },
    );
    const outcome = await pool.callTool('hostile', 'many_events', {});
    assert.equal(outcome.kind, 'ok', 'message' in outcome ? outcome.message : '');
  });
}

test('events are measured one by one, with any line end and however they are cut', async () => {
  const event = `data: ${'x'.repeat(50)}`;
  for (const end of ['\n', '\r\n', '\r']) {
    const whole = `${event}${end}${event}${end}${end}`.repeat(20);
    const size = Buffer.byteLength(`${event}${end}${event}${end}${end}`);
    for (const step of [1, 7, 1_000]) {
      const read = async (limit: number) => {
        const body = new ReadableStream({
          start(controller) {
            for (let at = 0; at < whole.length; at += step)
              controller.enqueue(Buffer.from(whole.slice(at, at + step)));
            controller.close();
          },
        });
        return await boundMessages(new Response(body, { headers: EVENTS }), 'POST', {
          limits: { maxMessageBytes: limit },
          onExceeded: () => undefined,
        }).response.text();
      };
      assert.equal(await read(size), whole.replaceAll(end, '\n'));
      await assert.rejects(read(size - 10), /more than \d+ bytes/);
    }
  }
});

test('the event loop turns within a chunk of many small events, and nothing of it is lost', async () => {
  const whole = 'data: {"jsonrpc":"2.0","method":"x"}\n\n'.repeat(5_000);
  let turns = 0;
  let next = setImmediate(function turn() {
    turns += 1;
    next = setImmediate(turn);
  });
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(Buffer.from(whole));
      controller.close();
    },
  });
  const bounds = { limits: {}, onExceeded: () => undefined };
  const read = await boundMessages(new Response(body, { headers: EVENTS }), 'POST', bounds).response.text();
  clearImmediate(next);
  assert.equal(read, whole);
  assert.ok(turns >= 10, `${turns} turns`);
});
