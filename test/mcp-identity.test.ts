// Runs with the others that hook the MCP SDKs: the hook of require() stays in the process.
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import * as v2Client from '@modelcontextprotocol/client';
import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as v1Mcp from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import * as v2Server from '@modelcontextprotocol/server';
import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { McpInstrumentation } from '../src/instrumentation/mcp/index.ts';
import { startHttpMcpServer } from './support/http-mcp-server.ts';
import { spanToRow } from './support/span-row.ts';
import { TelemetryBench } from './support/telemetry-bench.ts';
import { waitUntil } from './support/wait-until.ts';

const valuesOf = (spans: readonly ReadableSpan[], key: string) =>
  [...new Set(spans.map(({ attributes }) => attributes[key]))].map(String);

/** An instrumentation of both lines of the SDK while `body` runs. */
async function observed(body: (bench: TelemetryBench) => Promise<void>): Promise<void> {
  await using bench = new TelemetryBench();
  const instrumentation = new McpInstrumentation();
  instrumentation.manuallyInstrument(v1Client, v1Mcp, v2Client, v2Server);
  try {
    await body(bench);
    assert.deepEqual([...instrumentation.faults], []);
  } finally {
    instrumentation.disable();
  }
}

/** A server on stdio, and a client that writes lines to it, as one without OpenTelemetry does. */
async function stdioServer(clientInfo: unknown) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  let answers = '';
  output.on('data', (chunk: Buffer) => {
    answers += chunk.toString();
  });
  const server = new v1Mcp.McpServer({ name: 'files', version: '2.0.1' });
  server.registerTool('echo', { description: 'echoes' }, () => ({ content: [] }));
  await server.connect(new StdioServerTransport(input, output));
  const send = (message: object) => input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
  send({ id: 0, method: 'initialize', params });
  send({ method: 'notifications/initialized' });
  send({ id: 1, method: 'tools/list' });
  send({ id: 2, method: 'tools/call', params: { name: 'echo', arguments: {} } });
  send({ id: 3, method: 'tools/call', params: { name: 'echo', arguments: {} } });
  await waitUntil(() => answers.includes('"id":3'));
  await server.close();
}

test('the spans of a stdio client without trace context are one session, with client and server named', () =>
  observed(async (bench) => {
    await stdioServer({ name: 'claude-ai', version: '0.1.0', title: 'Claude' });
    await stdioServer({ name: 'other', version: '1' });
    assert.equal(bench.spans.length, 10);
    const rows = bench.spans.map(spanToRow);
    assert.equal(new Set(rows.map((row) => row.session_id)).size, 2);
    for (const [at, client, version] of [
      [0, 'claude-ai', '0.1.0'],
      [5, 'other', '1'],
    ] as const) {
      const own = bench.spans.slice(at, at + 5);
      assert.equal(valuesOf(own, 'observatory.connection_id').length, 1);
      assert.deepEqual(valuesOf(own, 'observatory.mcp.client.name'), [client]);
      assert.deepEqual(valuesOf(own, 'observatory.mcp.client.version'), [version]);
      assert.deepEqual(valuesOf(own, 'observatory.mcp.server.name'), ['files']);
      assert.deepEqual(valuesOf(own, 'observatory.mcp.server.version'), ['2.0.1']);
    }
    const [row] = rows;
    assert.deepEqual([row?.client_name, row?.server_name], ['claude-ai', 'files']);
    assert.equal(row?.session_id, row?.connection_id);
  }));

test('names of peers are bounded, and what is no name is left out', () =>
  observed(async (bench) => {
    await stdioServer({ name: 'x'.repeat(100_000), version: 'y'.repeat(100_000) });
    assert.deepEqual(valuesOf(bench.spans, 'observatory.mcp.client.name'), ['x'.repeat(256)]);
    assert.deepEqual(valuesOf(bench.spans, 'observatory.mcp.client.version'), ['y'.repeat(256)]);
    bench.spanExporter.reset();
    await stdioServer({ name: '', version: '1' });
    assert.deepEqual(valuesOf(bench.spans, 'observatory.mcp.client.name'), ['undefined']);
    assert.deepEqual(valuesOf(bench.spans, 'observatory.mcp.client.version'), ['undefined']);
  }));

test('the requests of one client to a stateless server are one session; two clients from one place are not mixed up', () =>
  observed(async (bench) => {
    await using http = await startHttpMcpServer();
    const connect = async (name: string) => {
      const client = new v1Client.Client({ name, version: '1' });
      // Types of the SDK disagree under exactOptionalPropertyTypes.
      await client.connect(new StreamableHTTPClientTransport(new URL(http.url)) as never);
      return client;
    };
    const add = (client: v1Client.Client) => client.callTool({ name: 'add', arguments: { a: 1, b: 2 } });
    const served = () => bench.spans.filter(({ kind }) => kind === SpanKind.SERVER);
    const first = await connect(`first ${Math.random()}`);
    await add(first);
    await add(first);
    const names = valuesOf(served(), 'observatory.mcp.client.name');
    assert.match(names.join(), /^first [\d.]+$/, 'the calls too, which do not name their client');
    assert.equal(valuesOf(served(), 'observatory.connection_id').length, 1);
    assert.deepEqual(valuesOf(served(), 'observatory.mcp.server.name'), ['http']);
    assert.equal(
      valuesOf(bench.spans, 'observatory.mcp.server.name').length,
      1,
      'the client knows it as well',
    );
    const second = await connect(`second ${Math.random()}`);
    bench.spanExporter.reset();
    await add(first);
    await add(second);
    assert.deepEqual(valuesOf(served(), 'observatory.mcp.client.name'), ['undefined']);
    await first.close();
    await second.close();
  }));

test('from 2026-07-28 on, each request names its client, and each result its server', () =>
  observed(async (bench) => {
    const handler = v2Server.createMcpHandler(() => {
      const server = new v2Server.McpServer({ name: 'modern', version: '3' });
      server.registerTool('work', { description: 'works' }, () => ({ content: [] }));
      return server;
    });
    const call = async (name: string) => {
      const client = new v2Client.Client(
        { name, version: '1' },
        { versionNegotiation: { mode: { pin: '2026-07-28' } } },
      );
      const transport = new v2Client.StreamableHTTPClientTransport(new URL('http://127.0.0.1/mcp'), {
        fetch: (url, init) => handler.fetch(new Request(url, init)),
      });
      await client.connect(transport);
      await client.callTool({ name: 'work', arguments: {} });
      await client.callTool({ name: 'work', arguments: {} });
      await client.close();
    };
    await call('one');
    await call('two');
    const calls = (kind: SpanKind) =>
      bench.spans.filter((span) => span.kind === kind && span.name === 'tools/call work');
    for (const kind of [SpanKind.CLIENT, SpanKind.SERVER]) {
      const about = (key: string) => calls(kind).map(({ attributes }) => attributes[key]);
      assert.deepEqual(about('observatory.mcp.client.name'), ['one', 'one', 'two', 'two']);
      assert.deepEqual(about('observatory.mcp.server.name'), ['modern', 'modern', 'modern', 'modern']);
      const [a, b, c, d] = about('observatory.connection_id');
      assert.equal(a, b);
      assert.equal(c, d);
      assert.notEqual(a, c);
    }
    await handler.close();
  }));

test('a request whose headers and body disagree fails as a header mismatch, on the call that was made', () =>
  observed(async (bench) => {
    const handler = v2Server.createMcpHandler(() => {
      const server = new v2Server.McpServer({ name: 'modern', version: '3' });
      for (const tool of ['work', 'other'])
        server.registerTool(tool, { description: tool }, () => ({ content: [] }));
      return server;
    });
    const seen: (string | null)[] = [];
    const client = new v2Client.Client(
      { name: 'one', version: '1' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    );
    const transport = new v2Client.StreamableHTTPClientTransport(new URL('http://127.0.0.1/mcp'), {
      fetch: (url, init) => {
        const request = new Request(url, init);
        if (request.headers.get('mcp-method') === 'tools/call') {
          seen.push(request.headers.get('mcp-name'));
          // As a proxy does that routes by a header of its own.
          if (seen.length > 1) request.headers.set('mcp-name', 'other');
        }
        return handler.fetch(request);
      },
    });
    await client.connect(transport);
    await client.callTool({ name: 'work', arguments: {} });
    await assert.rejects(client.callTool({ name: 'work', arguments: {} }));
    assert.deepEqual([...new Set(seen)], ['work']);
    const calls = bench.spans.filter(({ name }) => name === 'tools/call work');
    const failed = calls.filter(({ status }) => status.code === SpanStatusCode.ERROR);
    // The client lists the tools again and tries once more. The server has no span: the SDK refuses before it reads.
    assert.equal(failed.length, 2);
    for (const { kind, attributes, status } of failed) {
      assert.equal(kind, SpanKind.CLIENT);
      assert.equal(attributes['error.type'], '-32020');
      assert.equal(attributes['rpc.response.status_code'], '-32020');
      assert.equal(status.message, 'Header mismatch');
    }
    assert.equal(calls.filter(({ kind }) => kind === SpanKind.SERVER).length, 1);
    await client.close();
    await handler.close();
  }));
