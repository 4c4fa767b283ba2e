/** Faults of ours at every possible point must not be visible to the application. */
// Runs with the others that hook the MCP SDKs: the hook of require() stays in the process.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import * as v2Client from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import * as v1Protocol from '@modelcontextprotocol/sdk/shared/protocol.js';
import * as v2Server from '@modelcontextprotocol/server';
import { context, metrics, propagation, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { z } from 'zod';
import { McpInstrumentation } from '../src/instrumentation/mcp/index.ts';
import { SDKS, type Sdk, v1, v2 } from './support/mcp-sdks.ts';
import { sized } from './support/size.ts';
import { TelemetryBench } from './support/telemetry-bench.ts';

const text = (words: string) => [{ type: 'text', text: words }];
const outcome = (promise: Promise<unknown>) =>
  promise.then(
    (value) => ['value', value],
    (error: Error & { code?: unknown }) => ['error', error.constructor.name, error.code, error.message],
  );

/** Everything a program does with a client and a server. @returns all results. */
async function useEverything(sdk: Sdk): Promise<unknown[]> {
  const seen: unknown[] = [];
  await using pair = await sdk.connect({
    echo: (args) => ({ content: text(String(args.text)) }),
    fail: () => {
      throw new Error('planned');
    },
    ask: async (_args, tools) => {
      await tools.notify('notifications/message', { level: 'info', data: 'x' });
      await tools.notify('notifications/progress', { progressToken: tools.meta?.progressToken, progress: 1 });
      const sampled = await tools.sendRequest('sampling/createMessage', {
        messages: [{ role: 'user', content: { type: 'text', text: 'q' } }],
        maxTokens: 1,
      });
      return { content: text(JSON.stringify(sampled)) };
    },
    hang: (_args, tools) =>
      new Promise((resolve) => tools.signal.addEventListener('abort', () => resolve({ content: [] }))),
  });
  seen.push(await outcome(pair.client.listTools().then(({ tools }) => tools.length)));
  seen.push(await outcome(pair.client.callTool({ name: 'echo', arguments: { text: 'hi' } })));
  seen.push(await outcome(pair.client.callTool({ name: 'fail', arguments: {} })));
  const onprogress = (step: unknown) => seen.push((step as { progress: number }).progress);
  seen.push(await outcome(pair.call('ask', {}, { onprogress })));
  seen.push(await outcome(pair.client.getPrompt({ name: 'absent' })));
  seen.push(await outcome(pair.call('hang', {}, { signal: AbortSignal.timeout(10) })));
  seen.push(await outcome(pair.call('hang', {}, { timeout: 10 })));
  return seen;
}

async function useV1OverHttp(): Promise<unknown[]> {
  const server = new McpServer({ name: 's', version: '1' });
  server.registerTool('echo', { inputSchema: { text: z.string() } }, (args) => ({
    content: [{ type: 'text', text: args.text }],
  }));
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => 'one' });
  await server.connect(transport as never);
  const http = createServer((req, res) => void transport.handleRequest(req, res));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const client = new Client({ name: 'c', version: '1' });
  try {
    const { port } = http.address() as AddressInfo;
    await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`)) as never);
    return [await outcome(client.callTool({ name: 'echo', arguments: { text: 'hi' } }))];
  } finally {
    await client.close();
    await server.close();
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  }
}

/** Protocol 2026-07-28: the probe and the rounds. */
async function useV2Rounds(): Promise<unknown[]> {
  const handler = v2Server.createMcpHandler(() => {
    const server = new v2Server.McpServer({ name: 's', version: '1' });
    server.registerTool('ask', {}, ((ctx: { mcpReq: { inputResponses?: unknown } }) =>
      ctx.mcpReq.inputResponses === undefined
        ? v2Server.inputRequired({ inputRequests: { q: v2Server.inputRequired.listRoots() } })
        : { content: text('answered') }) as never);
    return server;
  });
  const client = new v2Client.Client(
    { name: 'c', version: '1' },
    { capabilities: { roots: {} }, versionNegotiation: { mode: 'auto' } },
  );
  client.setRequestHandler('roots/list', () => ({ roots: [] }));
  const fetch = (url: string | URL, init?: RequestInit) => handler.fetch(new Request(url, init));
  try {
    await client.connect(new v2Client.StreamableHTTPClientTransport(new URL('http://local/mcp'), { fetch }));
    return [
      client.getNegotiatedProtocolVersion(),
      await outcome(client.callTool({ name: 'ask', arguments: {} })),
    ];
  } finally {
    await client.close();
    await handler.close();
  }
}

const SCENARIOS: readonly [string, () => Promise<unknown[]>][] = [
  ...SDKS.map((sdk) => [sdk.name, () => useEverything(sdk)] as [string, () => Promise<unknown[]>]),
  ['v1 over HTTP', useV1OverHttp],
  ['v2 in rounds', useV2Rounds],
];

function instrumented(): McpInstrumentation {
  const instrumentation = new McpInstrumentation();
  v1.instrument(instrumentation);
  v2.instrument(instrumentation);
  return instrumentation;
}

for (const [name, scenario] of SCENARIOS) {
  test(`${name}: a fault at any one point, or at all of them, changes nothing for the program`, async () => {
    const rejections: unknown[] = [];
    const onRejection = (reason: unknown) => rejections.push(reason);
    process.on('unhandledRejection', onRejection);
    await using bench = new TelemetryBench();
    const instrumentation = instrumented();
    try {
      instrumentation.disable();
      const plain = await scenario();
      instrumentation.enable();
      const points = new Set<string>();
      instrumentation.injectFaults((point) => void points.add(point));
      assert.deepEqual(await scenario(), plain);
      assert.ok(bench.spans.length > 0);
      assert.ok(points.size >= 6, [...points].join());
      const tried = [...points].filter((_, at) => at % sized(2, 1) === 0);
      for (const faulty of [...tried, 'everywhere']) {
        let thrown = 0;
        instrumentation.injectFaults((point) => {
          if (faulty !== 'everywhere' && point !== faulty) return;
          thrown += 1;
          throw new Error(`injected at ${point}`);
        });
        assert.deepEqual(await scenario(), plain, faulty);
        assert.ok(thrown > 0, faulty);
      }
      await new Promise((resolve) => setImmediate(resolve));
      assert.deepEqual(rejections, []);
    } finally {
      instrumentation.injectFaults(undefined);
      instrumentation.disable();
      process.off('unhandledRejection', onRejection);
    }
  });

  test(`${name}: an OpenTelemetry SDK that throws at every turn changes nothing for the program`, async () => {
    const instrumentation = instrumented();
    instrumentation.disable();
    const plain = await scenario();
    const broken = () => {
      throw new Error('broken SDK');
    };
    const manager = {
      active: () => ROOT_CONTEXT,
      with: broken,
      bind: <T>(_context: unknown, target: T) => target,
      enable: () => manager,
      disable: () => manager,
    };
    instrumentation.enable();
    try {
      for (const breakage of [
        () =>
          instrumentation.setTracerProvider({
            getTracer: () => ({ startSpan: broken, startActiveSpan: broken }),
          }),
        () => propagation.setGlobalPropagator({ inject: broken, extract: broken, fields: () => [] }),
        () => context.setGlobalContextManager(manager as never),
        () =>
          instrumentation.setMeterProvider({
            getMeter: () => ({ createHistogram: () => ({ record: broken }) }),
          } as never),
      ]) {
        await using _bench = new TelemetryBench();
        propagation.disable();
        context.disable();
        instrumentation.setTracerProvider(trace.getTracerProvider());
        instrumentation.setMeterProvider(metrics.getMeterProvider());
        breakage();
        assert.deepEqual(await scenario(), plain, String(breakage));
        assert.ok(instrumentation.faults.size > 0, String(breakage));
      }
    } finally {
      instrumentation.disable();
    }
  });
}

test('the promise a bare request gives is the one the SDK made', async () => {
  await using _bench = new TelemetryBench();
  const made = new Set<unknown>();
  class Recorded extends v1Protocol.Protocol<never, never, never> {
    assertCapabilityForMethod(): void {}
    assertNotificationCapability(): void {}
    assertRequestHandlerCapability(): void {}
    assertTaskCapability(): void {}
    assertTaskHandlerCapability(): void {}
  }
  const prototype = Object.create(v1Protocol.Protocol.prototype);
  prototype.request = () => {
    const promise = Promise.resolve({ ok: true });
    made.add(promise);
    return promise;
  };
  prototype._onrequest = () => undefined;
  Object.setPrototypeOf(Recorded.prototype, prototype);
  const instrumentation = new McpInstrumentation();
  try {
    instrumentation.manuallyInstrument({ Protocol: Recorded });
    const protocol = new Recorded();
    Object.assign(protocol, { _transport: { send: async () => undefined } });
    assert.ok(made.has(protocol.request({ method: 'ping' } as never, z.object({}))));
  } finally {
    instrumentation.disable();
  }
});
