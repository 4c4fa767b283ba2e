// Runs with the others that hook the MCP SDKs: the hook of require() stays in the process.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport as V1InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import * as v1Protocol from '@modelcontextprotocol/sdk/shared/protocol.js';
import { context, propagation, SpanKind, trace } from '@opentelemetry/api';
import { injectWithin } from '../src/base/index.ts';
import { McpInstrumentation, type McpPeer } from '../src/instrumentation/mcp/index.ts';
import { onBothSdks, type Tool } from './support/mcp-sdks.ts';
import { TelemetryBench } from './support/telemetry-bench.ts';

const EMPTY = { content: [] };
const TRACEPARENT = /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/;

/** A tool that keeps the `_meta` it was called with. */
function metaKeeper(): { tool: Tool; last(): Readonly<Record<string, unknown>> } {
  let meta: Readonly<Record<string, unknown>> = {};
  return {
    tool: (_args, tools) => {
      meta = tools.meta ?? {};
      return EMPTY;
    },
    last: () => meta,
  };
}

function withBaggage<T>(run: () => T): T {
  const baggage = propagation.createBaggage({ tenant: { value: 'acme' } });
  return context.with(propagation.setBaggage(context.active(), baggage), run);
}

onBothSdks('context is written into a copy: frozen params work and stay as they were', async (sdk, bench) => {
  const keeper = metaKeeper();
  await using pair = await sdk.connect({ keep: keeper.tool });
  const params = Object.freeze({
    name: 'keep',
    arguments: Object.freeze({ text: 'x' }),
    _meta: Object.freeze({ 'acme/own': 1 }),
  });
  const before = JSON.stringify(params);
  await pair.client.callTool(params);
  assert.equal(JSON.stringify(params), before);
  assert.equal(keeper.last()['acme/own'], 1);
  assert.match(String(keeper.last().traceparent), TRACEPARENT);
  const client = bench.span('tools/call keep', SpanKind.CLIENT);
  assert.ok(String(keeper.last().traceparent).includes(client.spanContext().spanId));
});

test('context is written where no context manager is registered', () => {
  const spanContext = { traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags: 1 };
  context.disable();
  const carrier: Record<string, string> = {};
  propagation.setGlobalPropagator({
    inject: (within, into, setter) =>
      setter.set(into, 'traceparent', String(trace.getSpanContext(within)?.spanId)),
    extract: (within) => within,
    fields: () => ['traceparent'],
  });
  injectWithin(trace.setSpanContext(context.active(), spanContext), carrier);
  propagation.disable();
  assert.equal(carrier.traceparent, spanContext.spanId);
});

onBothSdks('baggage goes to local peers by default', async (sdk) => {
  const keeper = metaKeeper();
  await using pair = await sdk.connect({ keep: keeper.tool });
  await withBaggage(() => pair.client.callTool({ name: 'keep', arguments: {} }));
  assert.equal(keeper.last().baggage, 'tenant=acme');
});

onBothSdks('the handler of the server sees the baggage it was sent', async (sdk) => {
  let seen: string | undefined;
  await using pair = await sdk.connect({
    look: () => {
      seen = propagation.getActiveBaggage()?.getEntry('tenant')?.value;
      return EMPTY;
    },
  });
  await withBaggage(() => pair.client.callTool({ name: 'look', arguments: {} }));
  assert.equal(seen, 'acme');
});

onBothSdks(
  'with propagate: trace, baggage stays here',
  async (sdk) => {
    const keeper = metaKeeper();
    await using pair = await sdk.connect({ keep: keeper.tool });
    await withBaggage(() => pair.client.callTool({ name: 'keep', arguments: {} }));
    assert.match(String(keeper.last().traceparent), TRACEPARENT);
    assert.equal('baggage' in keeper.last(), false);
  },
  { propagate: 'trace' },
);

onBothSdks(
  'with propagate: none, nothing is written',
  async (sdk, bench) => {
    const keeper = metaKeeper();
    await using pair = await sdk.connect({ keep: keeper.tool });
    await withBaggage(() => pair.client.callTool({ name: 'keep', arguments: {} }));
    assert.deepEqual(keeper.last(), {});
    bench.span('tools/call keep', SpanKind.CLIENT);
  },
  { propagate: 'none' },
);

const peers: McpPeer[] = [];
onBothSdks(
  'the peer switch is asked once per connection, with what is known of the peer',
  async (sdk) => {
    peers.length = 0;
    const keeper = metaKeeper();
    await using pair = await sdk.connect({ keep: keeper.tool });
    await pair.client.callTool({ name: 'keep', arguments: {} });
    await pair.client.ping();
    assert.deepEqual(peers, [
      { transport: 'in-memory', local: true },
      { transport: 'in-memory', local: true },
    ]);
  },
  {
    propagate: (peer) => {
      peers.push(peer);
      return 'none';
    },
  },
);

onBothSdks('an outer execute_tool span for the same tool is completed, not doubled', async (sdk, bench) => {
  await using pair = await sdk.connect({ work: () => EMPTY, other: () => EMPTY });
  const tracer = trace.getTracer('agent');
  await tracer.startActiveSpan(
    'execute_tool work',
    { attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'work' } },
    async (outer) => {
      await pair.client.callTool({ name: 'work', arguments: {} });
      await pair.client.callTool({ name: 'other', arguments: {} });
      outer.end();
    },
  );
  const outer = bench.span('execute_tool work');
  assert.equal(outer.attributes['mcp.method.name'], 'tools/call');
  assert.equal(outer.attributes['jsonrpc.request.id'], '1');
  assert.equal(
    bench.spans.filter((span) => span.name === 'tools/call work' && span.kind === SpanKind.CLIENT).length,
    0,
  );
  const server = bench.span('tools/call work', SpanKind.SERVER);
  assert.equal(server.parentSpanContext?.spanId, outer.spanContext().spanId);
  bench.span('tools/call other', SpanKind.CLIENT);
});

onBothSdks('a failed tool shows on the outer execute_tool span', async (sdk, bench) => {
  await using pair = await sdk.connect({
    fail: () => ({ isError: true, content: [{ type: 'text', text: 'no' }] }),
  });
  await trace
    .getTracer('agent')
    .startActiveSpan(
      'execute_tool fail',
      { attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'fail' } },
      async (outer) => {
        await pair.client.callTool({ name: 'fail', arguments: {} });
        outer.end();
      },
    );
  assert.equal(bench.span('execute_tool fail').attributes['error.type'], 'tool_error');
});

onBothSdks('a handler that calls the same tool elsewhere makes a span of its own', async (sdk, bench) => {
  await using inner = await sdk.connect({ relay: () => EMPTY });
  await using outer = await sdk.connect({
    relay: async () => {
      await inner.client.callTool({ name: 'relay', arguments: {} });
      return EMPTY;
    },
  });
  await outer.client.callTool({ name: 'relay', arguments: {} });
  const spans = bench.spans.filter((span) => span.name === 'tools/call relay');
  assert.equal(spans.length, 4);
  assert.equal(new Set(spans.map((span) => span.spanContext().traceId)).size, 1);
});

/** A v1 client whose peer is the test itself, message by message. */
async function rawPeer(): Promise<{
  client: Client;
  sent: { method?: string; params?: { _meta?: Record<string, unknown> } }[];
  deliver(message: unknown): void;
}> {
  const [here, there] = V1InMemoryTransport.createLinkedPair();
  const sent: { id?: number; method?: string; params?: { _meta?: Record<string, unknown> } }[] = [];
  there.onmessage = (message) => {
    const { id, method } = message as { id?: number; method?: string };
    sent.push(message as never);
    if (method === 'initialize') {
      const result = {
        protocolVersion: '2025-06-18',
        capabilities: {},
        serverInfo: { name: 's', version: '1' },
      };
      void there.send({ jsonrpc: '2.0', id: id as number, result });
    }
  };
  await there.start();
  const client = new Client(
    { name: 'c', version: '1' },
    {
      debouncedNotificationMethods: ['notifications/roots/list_changed'],
      capabilities: { roots: { listChanged: true } },
    },
  );
  await client.connect(here);
  return { client, sent, deliver: (message) => here.onmessage?.(message as never) };
}

async function onRawPeer(
  body: (peer: Awaited<ReturnType<typeof rawPeer>>, bench: TelemetryBench) => Promise<void>,
) {
  await using bench = new TelemetryBench();
  const instrumentation = new McpInstrumentation();
  instrumentation.manuallyInstrument(v1Protocol);
  try {
    const peer = await rawPeer();
    await body(peer, bench);
    await peer.client.close();
    assert.deepEqual([...instrumentation.faults], []);
  } finally {
    instrumentation.disable();
  }
}

const REMOTE = { trace: '0af7651916cd43dd8448eb211c80319c', span: 'b7ad6b7169203331' };
const remoteParent = `00-${REMOTE.trace}-${REMOTE.span}-01`;

test('notifications carry context; debounced ones are still debounced', async () => {
  await onRawPeer(async ({ client, sent }, bench) => {
    await Promise.all([
      client.sendRootsListChanged(),
      client.sendRootsListChanged(),
      client.sendRootsListChanged(),
    ]);
    await new Promise((resolve) => setImmediate(resolve));
    const changed = sent.filter((message) => message.method === 'notifications/roots/list_changed');
    assert.equal(changed.length, 1);
    const span = bench.span('notifications/roots/list_changed', SpanKind.CLIENT);
    assert.ok(String(changed[0]?.params?._meta?.traceparent).includes(span.spanContext().spanId));
  });
});

test('a remote parent wins over the ambient span, which is linked', async () => {
  await onRawPeer(async ({ deliver }, bench) => {
    trace.getTracer('http').startActiveSpan('POST /mcp', (http) => {
      deliver({
        jsonrpc: '2.0',
        id: 7,
        method: 'ping',
        params: { _meta: { traceparent: remoteParent, tracestate: 'a=b' } },
      });
      http.end();
    });
    await new Promise((resolve) => setImmediate(resolve));
    const span = bench.span('ping', SpanKind.SERVER);
    assert.equal(span.spanContext().traceId, REMOTE.trace);
    assert.equal(span.parentSpanContext?.spanId, REMOTE.span);
    assert.equal(span.parentSpanContext?.isRemote, true);
    assert.deepEqual(
      span.links.map((link) => link.context.spanId),
      [bench.span('POST /mcp').spanContext().spanId],
    );
  });
});

test('without a remote parent the ambient span is the parent while it lasts, and a link once it has ended', async () => {
  await onRawPeer(async ({ deliver }, bench) => {
    let ended = context.active();
    trace.getTracer('http').startActiveSpan('POST /mcp', (http) => {
      deliver({ jsonrpc: '2.0', id: 7, method: 'ping' });
      ended = context.active();
      http.end();
    });
    context.with(ended, () => deliver({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' }));
    await new Promise((resolve) => setImmediate(resolve));
    const http = bench.span('POST /mcp').spanContext();
    assert.equal(bench.span('ping', SpanKind.SERVER).parentSpanContext?.spanId, http.spanId);
    const late = bench.span('notifications/tools/list_changed', SpanKind.SERVER);
    assert.equal(late.parentSpanContext, undefined);
    assert.deepEqual(
      late.links.map((link) => link.context.spanId),
      [http.spanId],
    );
  });
});

test('a message handled while it is sent is a child of what sends it, whether or not its context has to be parsed', async () => {
  await onRawPeer(async ({ deliver }, bench) => {
    const methods = ['a', 'b', 'c'].map((name) => `notifications/${name}`);
    trace.getTracer('app').startActiveSpan('send', (sending) => {
      const { traceId, spanId } = sending.spanContext();
      const traceparent = `00-${traceId}-${spanId}-01`;
      const [alone, withState, unsampled] = [
        { traceparent, progressToken: 7 },
        { traceparent, tracestate: 'a=b', baggage: 'observatory.user_id=ann' },
        { traceparent: traceparent.replace(/01$/, '00') },
      ];
      for (const [i, _meta] of [alone, withState, unsampled].entries())
        deliver({ jsonrpc: '2.0', method: methods[i], params: { _meta } });
      sending.end();
      deliver({ jsonrpc: '2.0', method: 'notifications/d', params: { _meta: alone } });
    });
    await new Promise((resolve) => setImmediate(resolve));
    const parentOf = (method: string) => bench.span(method, SpanKind.SERVER).parentSpanContext;
    const { spanId } = bench.span('send').spanContext();
    // Read here, it is the span itself; else what a propagator makes of the text.
    assert.deepEqual(
      [parentOf('notifications/a')?.spanId, parentOf('notifications/a')?.isRemote],
      [spanId, undefined],
    );
    for (const method of ['notifications/b', 'notifications/d'])
      assert.deepEqual([parentOf(method)?.spanId, parentOf(method)?.isRemote], [spanId, true]);
    assert.equal(parentOf('notifications/b')?.traceState?.serialize(), 'a=b');
    assert.ok(!bench.spans.some(({ name }) => name === 'notifications/c'), 'its parent is not sampled');
    for (const { links } of bench.spans) assert.deepEqual(links, []);
  });
});

test('the context dd-trace writes under its own key is taken, and nonsense is not', async () => {
  await onRawPeer(async ({ deliver }, bench) => {
    deliver({
      jsonrpc: '2.0',
      id: 1,
      method: 'ping',
      params: { _meta: { _dd_trace_context: { traceparent: remoteParent } } },
    });
    deliver({
      jsonrpc: '2.0',
      method: 'notifications/a',
      params: { _meta: { traceparent: 12, baggage: { a: 1 }, tracestate: [] } },
    });
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(bench.span('ping', SpanKind.SERVER).parentSpanContext?.spanId, REMOTE.span);
    assert.equal(bench.span('notifications/a', SpanKind.SERVER).parentSpanContext, undefined);
  });
});

test('a state forwarded from upstream is not sent on with a parent it does not belong to', async () => {
  await onRawPeer(async ({ client, sent }) => {
    const stale = { traceparent: remoteParent, tracestate: 'old=1', own: true };
    void client.callTool({ name: 'x', _meta: stale }).catch(() => undefined);
    const meta = sent.find((message) => message.method === 'tools/call')?.params?._meta;
    assert.notEqual(meta?.traceparent, remoteParent);
    assert.equal(meta !== undefined && 'tracestate' in meta, false);
    assert.equal(meta?.own, true);
    assert.equal(stale.tracestate, 'old=1');
  });
});

test('a peer switch that throws means none, and the call goes on', async () => {
  await using bench = new TelemetryBench();
  const instrumentation = new McpInstrumentation({
    propagate: () => {
      throw new Error('not today');
    },
  });
  instrumentation.manuallyInstrument(v1Protocol);
  try {
    const { client, sent } = await rawPeer();
    await client.close();
    assert.deepEqual(
      sent.map((message) => message.params?._meta),
      [undefined, undefined],
    );
    assert.equal(bench.spans.length, 2);
    assert.ok(instrumentation.faults.has('mcp.propagate'));
  } finally {
    instrumentation.disable();
  }
});
