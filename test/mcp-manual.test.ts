// Runs alone: it hooks the MCP SDKs as they load, which happens once in a process.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import * as v2Client from '@modelcontextprotocol/client';
import * as v2Server from '@modelcontextprotocol/server';
import { context, ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api';
import {
  instrumentMcpClient,
  instrumentMcpServer,
  McpInstrumentation,
} from '../src/instrumentation/mcp/index.ts';
import { DeferredEnrichment, Enricher, ObservatorySpanProcessor } from '../src/processor/index.ts';
import { SDKS } from './support/mcp-sdks.ts';
import { TelemetryBench } from './support/telemetry-bench.ts';

const require = createRequire(import.meta.url);
const EMPTY = { content: [] };

for (const sdk of SDKS) {
  test(`${sdk.name}: instrumentMcpClient and instrumentMcpServer take connected objects, and twice is once`, async () => {
    await using bench = new TelemetryBench();
    await using pair = await sdk.connect({ work: () => EMPTY });
    assert.equal(bench.spans.length, 0);
    assert.equal(instrumentMcpClient(pair.client), pair.client);
    assert.equal(instrumentMcpServer(pair.server), pair.server);
    instrumentMcpClient(pair.client);
    instrumentMcpServer((pair.server as unknown as { server: object }).server);
    const hooked = new McpInstrumentation();
    sdk.instrument(hooked);
    await pair.client.callTool({ name: 'work', arguments: {} });
    hooked.disable();
    const client = bench.span('tools/call work', SpanKind.CLIENT);
    assert.equal(
      bench.span('tools/call work', SpanKind.SERVER).parentSpanContext?.spanId,
      client.spanContext().spanId,
    );
  });
}

test('a client instrumented before the OpenTelemetry SDK has started has spans and metrics once it connects', async () => {
  const client = instrumentMcpClient(new v2Client.Client({ name: 'c', version: '1' }));
  const server = instrumentMcpServer(new v2Server.McpServer({ name: 's', version: '1' }));
  await using bench = new TelemetryBench();
  const [here, there] = v2Client.InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(there), client.connect(here)]);
  await client.ping();
  bench.span('ping', SpanKind.CLIENT);
  for (const side of ['client', 'server']) {
    const metric = await bench.metric(`mcp.${side}.operation.duration`);
    const methods = metric?.dataPoints.map(({ attributes }) => attributes['mcp.method.name']);
    assert.ok(methods?.includes('ping'), side);
  }
  await client.close();
});

for (const [way, processor, parent] of [
  ['into another trace', new ObservatorySpanProcessor(), () => ROOT_CONTEXT],
  ['below the HTTP request', new ObservatorySpanProcessor(), () => context.active()],
  ['into another trace, enriched late', new DeferredEnrichment(new Enricher({}), []), () => ROOT_CONTEXT],
] as const)
  test(`a span of a request that a server library writes ${way} is counted on ours`, async () => {
    await using bench = new TelemetryBench([processor]);
    const server = instrumentMcpServer(new v2Server.McpServer({ name: 's', version: '1' }));
    server.registerTool('work', {}, () => EMPTY);
    const client = new v2Client.Client({ name: 'c', version: '1' });
    const [here, there] = v2Client.InMemoryTransport.createLinkedPair();
    await server.connect(there);
    const send = there.send.bind(there);
    there.send = (message, options) => {
      const attributes = {
        'mcp.method.name': 'tools/call',
        'jsonrpc.request.id': String(Reflect.get(message, 'id')),
      };
      const span = { kind: SpanKind.SERVER, attributes };
      const http = trace.getTracer('http').startSpan('POST', {}, parent());
      trace.getTracer('library').startSpan('tools/call', span, trace.setSpan(ROOT_CONTEXT, http)).end();
      return send(message, options);
    };
    await client.connect(here);
    await client.callTool({ name: 'work', arguments: {} });
    const ours = bench.span('tools/call work', SpanKind.SERVER).spanContext();
    const written = bench.spans.filter(({ instrumentationScope: { name } }) => name === 'library');
    const counted = written.map(({ attributes }) => attributes['observatory.counted_on']);
    assert.deepEqual(
      counted.filter((on) => on !== undefined),
      [ours.spanId],
    );
    await client.close();
  });

test('what is no MCP object is handed back untouched', () => {
  const other = { connect: () => 1 };
  assert.equal(instrumentMcpClient(other), other);
  assert.deepEqual(Object.keys(other), ['connect']);
});

test('every copy of the SDK is patched: the CommonJS one is not the ES module', async () => {
  await using bench = new TelemetryBench();
  const cjsClient = require('@modelcontextprotocol/client') as typeof v2Client;
  const cjsServer = require('@modelcontextprotocol/server') as typeof v2Server;
  assert.notEqual(cjsClient.Protocol, v2Client.Protocol);
  const instrumentation = new McpInstrumentation();
  instrumentation.manuallyInstrument(v2Client, v2Server, cjsClient, cjsServer);
  try {
    for (const [{ Client, InMemoryTransport }, { McpServer }] of [
      [v2Client, v2Server],
      [cjsClient, cjsServer],
    ] as const) {
      const server = new McpServer({ name: 's', version: '1' }, { capabilities: { tools: {} } });
      const client = new Client({ name: 'c', version: '1' });
      const [here, there] = InMemoryTransport.createLinkedPair();
      await Promise.all([server.connect(there), client.connect(here)]);
      await client.ping();
      await client.close();
    }
    // Manual instrumentation of an earlier test may hold the ES module copy; either way each call has one pair.
    const pings = bench.spans.filter((span) => span.name === 'ping');
    assert.equal(pings.filter((span) => span.kind === SpanKind.CLIENT).length, 2);
    assert.equal(pings.filter((span) => span.kind === SpanKind.SERVER).length, 2);
  } finally {
    instrumentation.disable();
  }
});

test('a McpServer class alone is enough: its inner server is met when it connects', async () => {
  await using bench = new TelemetryBench();
  const { McpServer } =
    require('@modelcontextprotocol/sdk/server/mcp.js') as typeof import('@modelcontextprotocol/sdk/server/mcp.js');
  const { InMemoryTransport } =
    require('@modelcontextprotocol/sdk/inMemory.js') as typeof import('@modelcontextprotocol/sdk/inMemory.js');
  const instrumentation = new McpInstrumentation();
  instrumentation.manuallyInstrument({ McpServer });
  try {
    const [here, there] = InMemoryTransport.createLinkedPair();
    const server = new McpServer({ name: 's', version: '1' });
    await server.connect(there);
    await here.start();
    await here.send({ jsonrpc: '2.0', id: 1, method: 'ping' });
    await new Promise((resolve) => setImmediate(resolve));
    bench.span('ping', SpanKind.SERVER);
    await server.close();
  } finally {
    instrumentation.disable();
  }
});
