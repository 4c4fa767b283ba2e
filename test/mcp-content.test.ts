// Runs with the others that hook the MCP SDKs: the hook of require() stays in the process.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { z } from 'zod';
import { McpInstrumentation } from '../src/instrumentation/mcp/index.ts';
import { toTarget } from '../src/instrumentation/mcp/methods.ts';
import { errorFacts } from '../src/instrumentation/shared/index.ts';
import { readInteractions, takeInteraction } from '../src/interaction/index.ts';
import { listen } from './support/http-server.ts';
import { SDKS, type Sdk, v1 } from './support/mcp-sdks.ts';
import { TelemetryBench } from './support/telemetry-bench.ts';

readInteractions();

const SECRET = 'sk-planted-4f1d9c';
const text = [{ type: 'text', text: `result ${SECRET}` }];

/** Secrets in everything a peer or a caller can put one in. */
async function spillSecrets(sdk: Sdk): Promise<void> {
  await using pair = await sdk.connect({
    echo: () => ({ content: text, structuredContent: { key: SECRET } }),
    report: () => ({ isError: true, content: text }),
    fail: () => {
      throw new Error(SECRET);
    },
    ask: async (_args, tools) => {
      await tools.notify('notifications/message', { level: 'info', data: { key: SECRET } });
      await tools.notify('notifications/progress', {
        progressToken: tools.meta?.progressToken,
        progress: 1,
        message: SECRET,
      });
      await tools.sendRequest('elicitation/create', {
        message: SECRET,
        requestedSchema: { type: 'object', properties: {} },
      });
      return tools
        .sendRequest('sampling/createMessage', {
          messages: [{ role: 'user', content: { type: 'text', text: SECRET } }],
          systemPrompt: SECRET,
          maxTokens: 1,
        })
        .then(() => ({ content: text }));
    },
    hang: () => new Promise(() => undefined),
  });
  const { client } = pair;
  const args = { text: SECRET, nested: { key: [SECRET] } };
  const meta = { 'acme/key': SECRET, progressToken: 'p' };
  await client.callTool({ name: 'echo', arguments: args, _meta: meta });
  for (const name of ['report', 'fail']) await client.callTool({ name, arguments: args });
  await pair.call('ask', args, { onprogress: () => undefined });
  await client.getPrompt({ name: 'absent', arguments: { key: SECRET } }).catch(() => undefined);
  await client
    .readResource({ uri: `note://user:${SECRET}@host/x?key=${SECRET}#${SECRET}` })
    .catch(() => undefined);
  await client
    .complete({ ref: { type: 'ref/prompt', name: 'greeting' }, argument: { name: 'a', value: SECRET } })
    .catch(() => undefined);
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error(SECRET)), 5);
  await pair.call('hang', args, { signal: controller.signal }).catch(() => undefined);
}

function exported(spans: readonly ReadableSpan[]): string {
  return JSON.stringify(
    spans.map(({ name, attributes, events, status, links, resource }) => [
      name,
      attributes,
      events,
      status,
      links,
      resource.attributes,
    ]),
  );
}

async function metricsText(bench: TelemetryBench): Promise<string> {
  const all = await Promise.all(
    ['client', 'server'].flatMap((side) =>
      ['operation', 'session'].map((what) => bench.metric(`mcp.${side}.${what}.duration`)),
    ),
  );
  assert.ok(all[0] !== undefined);
  return JSON.stringify(all);
}

for (const sdk of SDKS) {
  test(`${sdk.name}: with content off, no secret is in any attribute, event, status or metric`, async () => {
    await using bench = new TelemetryBench();
    const instrumentation = new McpInstrumentation();
    sdk.instrument(instrumentation);
    try {
      await spillSecrets(sdk);
      assert.ok(bench.spans.length > 20);
      assert.equal(exported(bench.spans).includes(SECRET), false);
      assert.equal((await metricsText(bench)).includes(SECRET), false);
    } finally {
      instrumentation.disable();
    }
  });

  test(`${sdk.name}: with content on, arguments, results and words of errors are there, up to the limit`, async () => {
    await using bench = new TelemetryBench();
    const instrumentation = new McpInstrumentation({ captureContent: true, contentLimitChars: 60 });
    sdk.instrument(instrumentation);
    try {
      await spillSecrets(sdk);
      for (const kind of [1, 2]) {
        const echo = bench.span('tools/call echo', kind);
        assert.equal(
          echo.attributes['gen_ai.tool.call.arguments'],
          JSON.stringify({ text: SECRET, nested: { key: [SECRET] } }),
        );
        assert.ok(String(echo.attributes['gen_ai.tool.call.result']).includes(SECRET));
        assert.ok(String(echo.attributes['gen_ai.tool.call.result']).length < 200);
        assert.equal(bench.span('tools/call report', kind).status.message, `result ${SECRET}`);
        assert.equal(
          bench.span('tools/call ask', kind).events[0]?.attributes?.['observatory.progress.message'],
          SECRET,
        );
        assert.equal(
          bench.span('resources/read', kind).attributes['mcp.resource.uri'],
          `note://REDACTED@host/x?key=${SECRET}#${SECRET}`,
        );
      }
      assert.equal((await metricsText(bench)).includes(SECRET), false);
    } finally {
      instrumentation.disable();
    }
  });

  test(`${sdk.name}: arguments and the words of a failure travel beside the span`, async () => {
    await using bench = new TelemetryBench();
    const instrumentation = new McpInstrumentation();
    sdk.instrument(instrumentation);
    const notes = new Map<string, unknown>();
    try {
      await using pair = await sdk.connect({
        report: () => ({ isError: true, content: text }),
        echo: () => ({ content: text }),
      });
      await pair.client.callTool({ name: 'echo', arguments: { text: 'a' } });
      await pair.client.callTool({ name: 'report', arguments: { text: 'b' } });
      for (const span of bench.spans) notes.set(`${span.kind} ${span.name}`, takeInteraction(span));
      for (const kind of [1, 2]) {
        assert.deepEqual(notes.get(`${kind} tools/call echo`), {
          toolArguments: { text: 'a' },
          toolResultSummary: undefined,
        });
        assert.deepEqual(notes.get(`${kind} tools/call report`), {
          toolArguments: { text: 'b' },
          toolResultSummary: `result ${SECRET}`,
        });
      }
      assert.equal(notes.get('2 initialize'), undefined);
    } finally {
      instrumentation.disable();
    }
  });
}

test('headers and credentials of an HTTP connection stay out', async () => {
  await using bench = new TelemetryBench();
  const instrumentation = new McpInstrumentation({ captureContent: true });
  v1.instrument(instrumentation);
  const server = new McpServer({ name: 's', version: '1' });
  server.registerTool('echo', { inputSchema: { text: z.string() } }, () => ({ content: [] }));
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => 'session-1' });
  await server.connect(transport as never);
  const http = createServer((req, res) => {
    Object.assign(req, { auth: { token: SECRET, clientId: 'c', scopes: [] } });
    void transport.handleRequest(req, res);
  });
  await using listening = await listen(http);
  const client = new Client({ name: 'c', version: '1' });
  try {
    const requestInit = { headers: { authorization: `Bearer ${SECRET}`, cookie: SECRET } };
    const url = new URL(`${listening.origin}/mcp?key=${SECRET}`);
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit }) as never);
    await client.callTool({ name: 'echo', arguments: { text: 'x' } });
    assert.equal(bench.span('tools/call echo', 1).attributes['mcp.session.id'], 'session-1');
    assert.equal(exported(bench.spans).includes(SECRET), false);
    assert.equal((await metricsText(bench)).includes(SECRET), false);
  } finally {
    instrumentation.disable();
    await client.close();
    await server.close();
  }
});

test('of a resource in its own address only the media type is kept, and no secret of any address', () => {
  const uriOf = (uri: string, captureContent = false) =>
    toTarget('resources/read', { uri }, captureContent).resourceUri;
  assert.equal(uriOf(`data:text/plain;base64,${SECRET}`), 'data:text/plain,REDACTED');
  assert.equal(uriOf(`DATA:${SECRET}`), 'data:,REDACTED');
  assert.equal(uriOf(`data:,${SECRET}`, true), `data:,${SECRET}`);
  assert.equal(
    uriOf(`file:///tokens/${`ghp_${'a1'.repeat(18)}`}.txt`),
    'file:///tokens/[redacted: token].txt',
  );
  assert.equal(uriOf(`postgres://bob:${SECRET}@db/x?a=${SECRET}`), 'postgres://REDACTED@db/x?REDACTED');
});

test('an error class that the application named is on the span only with captureContent', () => {
  class CustomerBobIsBankrupt extends RangeError {}
  const error = Object.assign(new CustomerBobIsBankrupt(SECRET), { code: 'bob-is-bankrupt', name: 'Bob' });
  assert.equal(errorFacts(error, undefined).type, 'RangeError');
  assert.equal(errorFacts(error, undefined, true).type, 'CustomerBobIsBankrupt');
  const plain = Object.assign(new Error(SECRET), { code: 'bob-is-bankrupt', name: 'Bob' });
  assert.equal(errorFacts(plain, undefined).type, 'Error');
  assert.equal(
    errorFacts(Object.assign(new Error(SECRET), { code: 'ECONNRESET' }), undefined).type,
    'ECONNRESET',
  );
});
