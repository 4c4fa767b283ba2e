// Runs with the others that hook the MCP SDKs: the hook of require() stays in the process.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as v2 from '@modelcontextprotocol/client';
import { StdioClientTransport as V2StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { WebSocketClientTransport } from '@modelcontextprotocol/sdk/client/websocket.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import * as v1Protocol from '@modelcontextprotocol/sdk/shared/protocol.js';
import {
  PerRequestHTTPServerTransport,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { StdioServerTransport as V2StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { SpanKind } from '@opentelemetry/api';
import { z } from 'zod';
import { McpInstrumentation } from '../src/instrumentation/mcp/index.ts';
import { transportFacts } from '../src/instrumentation/mcp/transport.ts';
import { longTest } from './support/size.ts';
import { TelemetryBench } from './support/telemetry-bench.ts';

const HTTP = { 'network.transport': 'tcp', 'network.protocol.name': 'http' };
const PIPE = { 'network.transport': 'pipe' };
const remote = new URL('https://mcp.example.com/mcp');

test('the transports of both SDK lines are distinguished, and local peers recognized', () => {
  const cases = [
    [new StdioClientTransport({ command: 'x' }), { transport: 'stdio', local: true }, PIPE],
    [new V2StdioClientTransport({ command: 'x' }), { transport: 'stdio', local: true }, PIPE],
    [new StdioServerTransport(), { transport: 'stdio', local: true }, PIPE],
    [new V2StdioServerTransport(), { transport: 'stdio', local: true }, PIPE],
    [InMemoryTransport.createLinkedPair()[0], { transport: 'in-memory', local: true }, {}],
    [v2.InMemoryTransport.createLinkedPair()[1], { transport: 'in-memory', local: true }, {}],
    [
      new StreamableHTTPClientTransport(remote),
      { transport: 'http', address: 'mcp.example.com', port: 443, local: false },
      HTTP,
    ],
    [
      new v2.StreamableHTTPClientTransport(new URL('http://[::1]:8080/mcp')),
      { transport: 'http', address: '::1', port: 8080, local: true },
      HTTP,
    ],
    [
      new StreamableHTTPClientTransport(new URL('http://localhost/mcp')),
      { transport: 'http', address: 'localhost', port: 80, local: true },
      HTTP,
    ],
    [
      new StreamableHTTPClientTransport(new URL('http://[::ffff:127.0.0.1]:3000/mcp')),
      { transport: 'http', address: '::ffff:7f00:1', port: 3000, local: true },
      HTTP,
    ],
    [
      new StreamableHTTPClientTransport(new URL('http://127.0.0.1.example.com/mcp')),
      { transport: 'http', address: '127.0.0.1.example.com', port: 80, local: false },
      HTTP,
    ],
    [
      new SSEClientTransport(remote),
      { transport: 'sse', address: 'mcp.example.com', port: 443, local: false },
      HTTP,
    ],
    [
      new WebSocketClientTransport(new URL('ws://10.0.0.7:9000')),
      { transport: 'websocket', address: '10.0.0.7', port: 9000, local: false },
      { 'network.transport': 'tcp', 'network.protocol.name': 'websocket' },
    ],
    [new StreamableHTTPServerTransport({}), { transport: 'http', local: false }, HTTP],
    [new WebStandardStreamableHTTPServerTransport({}), { transport: 'http', local: false }, HTTP],
    [
      new PerRequestHTTPServerTransport({ classification: { era: 'modern' } as never }),
      { transport: 'http', local: false },
      HTTP,
    ],
    [{ start() {}, send() {}, close() {} }, { transport: 'unknown', local: false }, {}],
  ] as const;
  for (const [transport, peer, network] of cases) {
    const facts = transportFacts(transport);
    assert.deepEqual(facts.peer, peer, transport.constructor.name);
    assert.deepEqual(facts.network, network, transport.constructor.name);
  }
});

longTest('requests that are never answered are given up, the oldest first, beyond ten thousand', async () => {
  await using bench = new TelemetryBench();
  const instrumentation = new McpInstrumentation();
  instrumentation.manuallyInstrument(v1Protocol);
  try {
    const client = new Client({ name: 'c', version: '1' });
    const silent = {
      sessionId: 'resumed',
      start: async () => undefined,
      send: async () => undefined,
      close: async () => silent.onclose?.(),
      onclose: undefined as (() => void) | undefined,
    };
    await client.connect(silent as never);
    const open = Array.from({ length: 10_004 }, () => client.ping().catch((error: Error) => error.message));
    const given = bench.spans.filter((span) => span.attributes['error.type'] === '_OTHER');
    assert.deepEqual(
      given.map((span) => span.attributes['jsonrpc.request.id']),
      ['1', '2', '3'],
    );
    await client.close();
    await Promise.all(open);
    assert.equal(bench.spans.length, open.length);
  } finally {
    instrumentation.disable();
  }
});

test('a frozen transport works, and keeps its own send', async () => {
  await using bench = new TelemetryBench();
  const instrumentation = new McpInstrumentation();
  instrumentation.manuallyInstrument(v1Protocol);
  try {
    const [here, there] = InMemoryTransport.createLinkedPair();
    assert.equal(Object.hasOwn(here, 'send'), false);
    const client = new Client({ name: 'c', version: '1' });
    there.onmessage = (message) => {
      const { id, method } = message as { id: number; method: string };
      const result =
        method === 'initialize'
          ? { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 's', version: '1' } }
          : {};
      if (id !== undefined) void there.send({ jsonrpc: '2.0', id, result });
    };
    await there.start();
    await client.connect(here);
    Object.freeze(here);
    await client.ping();
    assert.equal(Object.hasOwn(here, 'send'), false);
    bench.span('ping', 2);
  } finally {
    instrumentation.disable();
  }
});

test('a failed HTTP request is named by its status, by the system error code or by the name of the exception', async () => {
  await using bench = new TelemetryBench();
  const instrumentation = new McpInstrumentation();
  instrumentation.manuallyInstrument(v1Protocol, v2);
  const refused = new TypeError('fetch failed', {
    cause: Object.assign(new Error(), { code: 'ECONNREFUSED' }),
  });
  const cases: readonly [string, () => Promise<Response>][] = [
    ['404', async () => new Response('no such session', { status: 404 })],
    ['ECONNREFUSED', () => Promise.reject(refused)],
    ['AbortError', () => Promise.reject(new DOMException('aborted', 'AbortError'))],
  ];
  try {
    for (const [errorType, fetch] of cases) {
      for (const line of [{ Client, StreamableHTTPClientTransport }, v2]) {
        const client = new line.Client({ name: 'c', version: '1' });
        const transport = new line.StreamableHTTPClientTransport(remote, { fetch });
        bench.spanExporter.reset();
        await assert.rejects(client.connect(transport as never));
        const { attributes } = bench.span('initialize');
        assert.equal(attributes['error.type'], errorType);
        assert.equal('rpc.response.status_code' in attributes, false);
      }
    }
  } finally {
    instrumentation.disable();
  }
});

test('an answer of another shape than was asked for is named after the class that says so', async () => {
  await using bench = new TelemetryBench();
  const instrumentation = new McpInstrumentation();
  instrumentation.manuallyInstrument(v1Protocol);
  try {
    const [here, there] = InMemoryTransport.createLinkedPair();
    const server = new Server({ name: 's', version: '1' }, {});
    const client = new Client({ name: 'c', version: '1' });
    await Promise.all([server.connect(there), client.connect(here)]);
    await assert.rejects(client.request({ method: 'ping' }, z.object({ pong: z.string() }) as never));
    const { attributes, status } = bench.span('ping', SpanKind.CLIENT);
    assert.equal(attributes['error.type'], 'ZodError');
    assert.equal(status.message, 'ZodError');
    await client.close();
  } finally {
    instrumentation.disable();
  }
});

/** As resumable or logging transports are made: they take their time, and hand on a copy. */
class Around {
  onmessage: InMemoryTransport['onmessage'];
  readonly #inner: InMemoryTransport;
  constructor(inner: InMemoryTransport) {
    this.#inner = inner;
  }
  async start(): Promise<void> {
    this.#inner.onmessage = (message, extra) => this.onmessage?.(message, extra);
    await this.#inner.start();
  }
  async send(message: object): Promise<void> {
    await Promise.resolve();
    await this.#inner.send({ ...message } as never);
  }
  close(): Promise<void> {
    return this.#inner.close();
  }
}

test('a transport around another one gives one span per message', async () => {
  await using bench = new TelemetryBench();
  const instrumentation = new McpInstrumentation();
  instrumentation.manuallyInstrument(v1Protocol);
  try {
    const [here, there] = InMemoryTransport.createLinkedPair();
    const server = new Server({ name: 's', version: '1' }, {});
    const client = new Client({ name: 'c', version: '1' });
    // The server's end is a plain one, so the class of both is patched.
    await Promise.all([server.connect(there), client.connect(new Around(here))]);
    await client.ping();
    for (const name of ['initialize', 'notifications/initialized', 'ping']) bench.span(name, SpanKind.CLIENT);
    await client.close();
  } finally {
    instrumentation.disable();
  }
});
