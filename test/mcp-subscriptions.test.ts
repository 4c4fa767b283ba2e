/** Requests that v2 sends without its own `request`: the probe `server/discover`, and `subscriptions/listen`. */
// Runs with the others that hook the MCP SDKs: the hook of require() stays in the process.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as v2Client from '@modelcontextprotocol/client';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import * as v2Server from '@modelcontextprotocol/server';
import { SpanKind, trace } from '@opentelemetry/api';
import { McpInstrumentation } from '../src/instrumentation/mcp/index.ts';
import { TelemetryBench } from './support/telemetry-bench.ts';

test('a subscription has one span, from its start to its close, and no error', async () => {
  await using bench = new TelemetryBench();
  const instrumentation = new McpInstrumentation();
  instrumentation.manuallyInstrument(v2Client, v2Server);
  const handler = v2Server.createMcpHandler(() => {
    const server = new v2Server.McpServer({ name: 's', version: '1' });
    server.registerTool('work', { description: 'works' }, () => ({ content: [] }));
    return server;
  });
  const client = new v2Client.Client({ name: 'c', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  try {
    const transport = new v2Client.StreamableHTTPClientTransport(new URL('http://127.0.0.1/mcp'), {
      fetch: (url, init) => handler.fetch(new Request(url, init)),
    });
    await trace.getTracer('app').startActiveSpan('app', async (app) => {
      await client.connect(transport);
      const subscription = await client.listen({ toolsListChanged: true });
      assert.equal(bench.spans.filter(({ name }) => name === 'subscriptions/listen').length, 0);
      await subscription.close();
      await subscription.closed;
      app.end();
    });
    const app = bench.span('app').spanContext();
    for (const name of ['server/discover', 'subscriptions/listen']) {
      const span = bench.span(name, SpanKind.CLIENT);
      assert.equal(span.parentSpanContext?.spanId, app.spanId, name);
      assert.equal(span.attributes['mcp.protocol.version'], '2026-07-28', name);
      assert.equal(span.attributes['error.type'], undefined, name);
      assert.equal(span.status.code, 0, name);
    }
    const listen = bench.span('subscriptions/listen', SpanKind.CLIENT);
    const cancelled = bench.span('notifications/cancelled', SpanKind.CLIENT);
    assert.equal(cancelled.parentSpanContext?.spanId, listen.spanContext().spanId);
    assert.deepEqual([...instrumentation.faults], []);
  } finally {
    await client.close();
    await handler.close();
    instrumentation.disable();
  }
});

test('a server of an earlier revision that does not know the probe is no failure', async () => {
  await using bench = new TelemetryBench();
  const instrumentation = new McpInstrumentation();
  instrumentation.manuallyInstrument(v2Client, v2Server);
  const [near, far] = InMemoryTransport.createLinkedPair();
  const server = new Server({ name: 's', version: '1' }, { capabilities: {} });
  const client = new v2Client.Client({ name: 'c', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  try {
    await server.connect(far);
    await client.connect(near as unknown as Parameters<typeof client.connect>[0]);
    const probe = bench.span('server/discover', SpanKind.CLIENT);
    assert.deepEqual([probe.status.code, probe.attributes['error.type']], [0, undefined]);
    assert.ok(bench.span('initialize', SpanKind.CLIENT));
  } finally {
    await client.close();
    await server.close();
    instrumentation.disable();
  }
});
