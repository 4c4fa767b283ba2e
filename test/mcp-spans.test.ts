// Runs with the others that hook the MCP SDKs: the hook of require() stays in the process.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { type CallToolResult, CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { McpInstrumentation } from '../src/instrumentation/mcp/index.ts';
import { isKept } from '../src/processor/kept-attributes.ts';
import { freePort } from './support/free-port.ts';
import { onBothSdks, type Tool } from './support/mcp-sdks.ts';
import { TelemetryBench } from './support/telemetry-bench.ts';
import { waitUntil } from './support/wait-until.ts';

const echo: Tool = (args) => ({ content: [{ type: 'text', text: String(args.text) }] });

function assertChild(child: ReadableSpan, parent: ReadableSpan): void {
  assert.equal(child.spanContext().traceId, parent.spanContext().traceId);
  assert.equal(child.parentSpanContext?.spanId, parent.spanContext().spanId);
}

onBothSdks(
  'a tool call is one CLIENT and one SERVER span, in one trace, with the names of semconv',
  async (sdk, bench) => {
    await using pair = await sdk.connect({ echo });
    const result = await pair.client.callTool({ name: 'echo', arguments: { text: 'hi' } });
    assert.deepEqual(result.content, [{ type: 'text', text: 'hi' }]);
    const client = bench.span('tools/call echo', SpanKind.CLIENT);
    const server = bench.span('tools/call echo', SpanKind.SERVER);
    assertChild(server, client);
    const version = client.attributes['mcp.protocol.version'];
    assert.match(String(version), /^\d{4}-\d{2}-\d{2}$/);
    const connection = client.attributes['observatory.connection_id'];
    assert.match(String(connection), /^[\da-f-]{36}$/);
    for (const span of [client, server]) {
      assert.deepEqual(span.attributes, {
        'observatory.connection_id': connection,
        'observatory.mcp.client.name': 'test-client',
        'observatory.mcp.client.version': '1.0.0',
        'observatory.mcp.server.name': 'test-server',
        'observatory.mcp.server.version': '1.0.0',
        'mcp.method.name': 'tools/call',
        'gen_ai.tool.name': 'echo',
        'gen_ai.operation.name': 'execute_tool',
        'jsonrpc.request.id': '1',
        'mcp.protocol.version': version,
      });
      assert.equal(span.status.code, SpanStatusCode.UNSET);
      assert.equal(span.links.length, 0);
    }
  },
);

onBothSdks('the handshake, its notification and the other verbs have spans', async (sdk, bench) => {
  await using pair = await sdk.connect({ echo });
  await pair.client.ping();
  await pair.client.listTools();
  await pair.client.getPrompt({ name: 'greeting' });
  await pair.client.readResource({ uri: 'note://one' });
  await pair.client.setLoggingLevel('debug');
  const names = [
    'initialize',
    'notifications/initialized',
    'ping',
    'tools/list',
    'prompts/get greeting',
    'resources/read',
    'logging/setLevel',
  ];
  for (const name of names) assertChild(bench.span(name, SpanKind.SERVER), bench.span(name, SpanKind.CLIENT));
  assert.equal(bench.spans.length, names.length * 2);
  assert.equal(bench.span('resources/read', SpanKind.CLIENT).attributes['mcp.resource.uri'], 'note://one');
  assert.equal(
    bench.span('prompts/get greeting', SpanKind.SERVER).attributes['gen_ai.prompt.name'],
    'greeting',
  );
  for (const kind of [SpanKind.CLIENT, SpanKind.SERVER]) {
    const initialize = bench.span('initialize', kind);
    assert.match(String(initialize.attributes['mcp.protocol.version']), /^\d{4}-/);
    assert.equal(initialize.attributes['jsonrpc.request.id'], '0');
    assert.equal('jsonrpc.request.id' in bench.span('notifications/initialized', kind).attributes, false);
  }
});

onBothSdks(
  'requests of the server are children of the tool call, with the kinds the other way round',
  async (sdk, bench) => {
    await using pair = await sdk.connect({
      ask: async (_args, tools) => {
        await tools.sendRequest('sampling/createMessage', {
          messages: [{ role: 'user', content: { type: 'text', text: 'x' } }],
          maxTokens: 5,
        });
        await tools.sendRequest('elicitation/create', {
          message: 'why?',
          requestedSchema: { type: 'object', properties: {} },
        });
        await tools.sendRequest('roots/list', {});
        return { content: [] };
      },
    });
    await pair.client.callTool({ name: 'ask', arguments: {} });
    const call = bench.span('tools/call ask', SpanKind.SERVER);
    for (const name of ['sampling/createMessage', 'elicitation/create', 'roots/list']) {
      const sent = bench.span(name, SpanKind.CLIENT);
      assertChild(sent, call);
      assertChild(bench.span(name, SpanKind.SERVER), sent);
    }
  },
);

onBothSdks('spans made in a handler are children of the SERVER span', async (sdk, bench) => {
  await using pair = await sdk.connect({
    work: () => {
      trace.getTracer('app').startSpan('inner').end();
      return { content: [] };
    },
  });
  await pair.client.callTool({ name: 'work', arguments: {} });
  assertChild(bench.span('inner'), bench.span('tools/call work', SpanKind.SERVER));
});

onBothSdks(
  'progress shows as events on both spans of the request, logging as notification spans',
  async (sdk, bench) => {
    await using pair = await sdk.connect({
      slow: async (_args, tools) => {
        const progressToken = tools.meta?.progressToken;
        await tools.notify('notifications/progress', {
          progressToken,
          progress: 1,
          total: 2,
          message: 'half',
        });
        await tools.notify('notifications/message', { level: 'info', data: 'secret words' });
        return { content: [] };
      },
    });
    const progress: unknown[] = [];
    await pair.call(
      'slow',
      {},
      {
        onprogress: (p) => progress.push(p),
      },
    );
    assert.equal(progress.length, 1);
    for (const kind of [SpanKind.CLIENT, SpanKind.SERVER]) {
      const { events } = bench.span('tools/call slow', kind);
      assert.deepEqual(
        events.map(({ name, attributes }) => [name, attributes]),
        [['notifications/progress', { 'observatory.progress.value': 1, 'observatory.progress.total': 2 }]],
      );
    }
    assert.equal(bench.spans.filter((span) => span.name === 'notifications/progress').length, 0);
    const sent = bench.span('notifications/message', SpanKind.CLIENT);
    assertChild(sent, bench.span('tools/call slow', SpanKind.SERVER));
    assertChild(bench.span('notifications/message', SpanKind.SERVER), sent);
  },
);

onBothSdks('a tool that reports an error is tool_error; its words stay off the span', async (sdk, bench) => {
  await using pair = await sdk.connect({
    fail: () => ({ isError: true, content: [{ type: 'text', text: 'the password is hunter2' }] }),
  });
  const result = await pair.client.callTool({ name: 'fail', arguments: {} });
  assert.equal(result.isError, true);
  for (const kind of [SpanKind.CLIENT, SpanKind.SERVER]) {
    const span = bench.span('tools/call fail', kind);
    assert.equal(span.attributes['error.type'], 'tool_error');
    assert.equal('rpc.response.status_code' in span.attributes, false);
    assert.deepEqual(span.status, { code: SpanStatusCode.ERROR, message: 'Tool reported an error' });
  }
});

onBothSdks(
  'a JSON-RPC error gives its code on both spans and the very error to the caller',
  async (sdk, bench) => {
    await using pair = await sdk.connect({ echo });
    await assert.rejects(
      pair.client.getPrompt({ name: 'no such prompt' }),
      (error: { code?: unknown }) => error.code === -32602,
    );
    for (const kind of [SpanKind.CLIENT, SpanKind.SERVER]) {
      const span = bench.span('prompts/get no such prompt', kind);
      assert.equal(span.attributes['error.type'], '-32602');
      assert.equal(span.attributes['rpc.response.status_code'], '-32602');
      assert.deepEqual(span.status, { code: SpanStatusCode.ERROR, message: 'Invalid params' });
    }
  },
);

onBothSdks('a request nobody handles ends with -32601 on both sides', async (sdk, bench) => {
  await using pair = await sdk.connect({ echo });
  const schema = {
    '~standard': { version: 1, vendor: 't', validate: (value: unknown) => ({ value }) },
    safeParse: (data: unknown) => ({ success: true, data }),
    parse: (v: unknown) => v,
    _def: {},
  };
  await assert.rejects(
    pair.client.request({ method: 'acme/unknown', params: { a: 1 } } as never, schema as never),
  );
  for (const kind of [SpanKind.CLIENT, SpanKind.SERVER]) {
    assert.equal(bench.span('acme/unknown', kind).attributes['error.type'], '-32601');
  }
});

onBothSdks(
  'an abort still aborts, ends both spans as cancelled, and is a notification of the same trace',
  async (sdk, bench) => {
    let aborted = false;
    await using pair = await sdk.connect({
      hang: (_args, tools) =>
        new Promise((resolve) => {
          tools.signal.addEventListener('abort', () => {
            aborted = true;
            resolve({ content: [] });
          });
        }),
    });
    const controller = new AbortController();
    const call = pair.call(
      'hang',
      {},
      {
        signal: controller.signal,
      },
    );
    setTimeout(() => controller.abort(new Error('enough')), 20);
    await assert.rejects(call, /enough/);
    await waitUntil(() => aborted);
    const sent = bench.span('tools/call hang', SpanKind.CLIENT);
    for (const span of [sent, bench.span('tools/call hang', SpanKind.SERVER)]) {
      assert.equal(span.attributes['error.type'], 'cancelled');
      assert.deepEqual(span.status, { code: SpanStatusCode.ERROR, message: 'Request cancelled' });
    }
    const notice = bench.span('notifications/cancelled', SpanKind.CLIENT);
    assertChild(notice, sent);
    assertChild(bench.span('notifications/cancelled', SpanKind.SERVER), notice);
  },
);

onBothSdks('a timeout and a closed connection differ from errors of the server', async (sdk, bench) => {
  await using pair = await sdk.connect({
    hang: () => new Promise(() => undefined),
    again: () => new Promise(() => undefined),
  });
  await assert.rejects(pair.call('hang', {}, { timeout: 20 }));
  const timedOut = bench.span('tools/call hang', SpanKind.CLIENT);
  assert.equal(timedOut.attributes['error.type'], 'timeout');
  assert.equal('rpc.response.status_code' in timedOut.attributes, false);
  const open = pair.client.callTool({ name: 'again', arguments: {} });
  setTimeout(() => void pair.client.close(), 20);
  await assert.rejects(open);
  assert.equal(bench.span('tools/call again', SpanKind.CLIENT).attributes['error.type'], 'connection_closed');
  assert.equal(bench.span('tools/call again', SpanKind.SERVER).attributes['error.type'], 'connection_closed');
});

onBothSdks('a disabled instrumentation is passed by', async (sdk, bench, instrumentation) => {
  await using pair = await sdk.connect({ echo });
  const before = bench.spans.length;
  instrumentation.disable();
  let meta: unknown = 'unset';
  await using other = await sdk.connect({
    look: (_args, tools) => {
      meta = tools.meta;
      return { content: [] };
    },
  });
  await other.client.callTool({ name: 'look', arguments: {} });
  await pair.client.ping();
  assert.equal(bench.spans.length, before);
  assert.equal(meta, undefined);
});

test('a peer cannot make attributes longer than names are', async () => {
  await using bench = new TelemetryBench();
  const instrumentation = new McpInstrumentation();
  instrumentation.manuallyInstrument({ Server });
  const [here, there] = InMemoryTransport.createLinkedPair();
  const server = new Server({ name: 's', version: '1' }, {});
  await server.connect(there);
  await here.start();
  const answered = new Promise((resolve) => {
    here.onmessage = resolve;
  });
  await here.send({ jsonrpc: '2.0', id: 'i'.repeat(5_000), method: 'm'.repeat(5_000) });
  assert.equal(((await answered) as { id: string }).id.length, 5_000);
  const span = bench.span('m'.repeat(256), SpanKind.SERVER);
  assert.equal(span.attributes['mcp.method.name'], 'm'.repeat(256));
  assert.equal(span.attributes['jsonrpc.request.id'], 'i'.repeat(256));
  assert.equal(span.attributes['error.type'], '-32601');
  await server.close();
  instrumentation.disable();
});

test('a task whose tool reported an error ends its call, and its tasks/result, as a tool_error', async (t) => {
  await using bench = new TelemetryBench();
  const instrumentation = new McpInstrumentation();
  instrumentation.manuallyInstrument({ Client, Server });
  const tasks = { list: {}, cancel: {}, requests: { tools: { call: {} } } };
  const taskStore = new InMemoryTaskStore();
  t.after(() => taskStore.cleanup());
  const options = { capabilities: { tools: {}, tasks }, taskStore };
  const server = new McpServer({ name: 's', version: '1' }, options);
  const failed: CallToolResult = { isError: true, content: [{ type: 'text', text: 'no' }] };
  server.experimental.tasks.registerToolTask(
    'slow',
    { execution: { taskSupport: 'required' } },
    {
      async createTask({ taskStore }) {
        const task = await taskStore.createTask({ ttl: 60_000, pollInterval: 1 });
        await taskStore.storeTaskResult(task.taskId, 'completed', failed);
        return { task };
      },
      getTask: ({ taskStore, taskId }) => taskStore.getTask(taskId),
      getTaskResult: async ({ taskStore, taskId }) =>
        (await taskStore.getTaskResult(taskId)) as CallToolResult,
    },
  );
  const client = new Client({ name: 'c', version: '1' });
  const [here, there] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(there), client.connect(here)]);
  await client.listTools();
  const messages = client.experimental.tasks.callToolStream({ name: 'slow' }, CallToolResultSchema, {
    task: {},
  });
  for await (const message of messages) assert.notEqual(message.type, 'error');
  for (const kind of [SpanKind.CLIENT, SpanKind.SERVER]) {
    assert.equal(bench.span('tasks/result', kind).attributes['error.type'], 'tool_error');
    assert.equal(bench.span('tools/call slow', kind).attributes['error.type'], 'tool_error');
  }
  await client.close();
  instrumentation.disable();
});

for (const captureContent of [false, true]) {
  onBothSdks(
    `a failed call says whose failure it is, and a SERVER span has the exception${captureContent ? ', with its message' : ''}`,
    async (sdk, bench) => {
      const message = 'customer 4711 at (secret.js:1:1)\n    at secret';
      const closed = await freePort();
      const tools: Record<string, Tool> = {
        bug: () => (undefined as unknown as { a: { b: string } }).a.b,
        refused: () => fetch(`http://127.0.0.1:${closed}/`),
        late: () => {
          throw Object.assign(new Error(message), { code: 'UND_ERR_HEADERS_TIMEOUT' });
        },
        status: () => {
          throw Object.assign(new Error(message), { status: 503 });
        },
        aborted: () => {
          throw new DOMException(message, 'AbortError');
        },
        own: () => {
          throw new Error(message);
        },
        said: () => ({ isError: true, content: [{ type: 'text', text: message }] }),
        typed: echo,
      };
      await using pair = await sdk.connect(tools);
      const expected = {
        bug: 'bug TypeError',
        refused: 'upstream TypeError',
        late: 'timeout Error',
        status: 'upstream Error',
        aborted: 'cancelled DOMException',
        own: 'undefined Error',
        said: 'undefined undefined',
        typed: `bad_arguments ${sdk.name === 'v1' ? 'McpError' : 'ProtocolError'}`,
        missing: `unknown_tool ${sdk.name === 'v1' ? 'undefined' : 'ProtocolError'}`,
      };
      const seen: Record<string, string> = {};
      for (const name of Object.keys(expected)) {
        const call = { name, arguments: { text: name === 'typed' ? 5 : 'x' } };
        await pair.client.callTool(call).catch(() => {});
        const span = bench.span(`tools/call ${name}`, SpanKind.SERVER);
        const event = span.events.find((each) => each.name === 'exception')?.attributes ?? {};
        seen[name] = `${span.attributes['observatory.error_kind']} ${event['exception.type']}`;
        const stack = event['exception.stacktrace'];
        if (name === 'own') {
          assert.match(String(stack), /^ {4}at .*mcp-spans\.test/);
          assert.doesNotMatch(String(stack), /secret/);
          assert.equal(event['exception.message'], captureContent ? message : undefined);
        }
        if (stack !== undefined) assert.ok(isKept('exception.stacktrace', stack), String(stack));
        const client = bench.span(`tools/call ${name}`, SpanKind.CLIENT);
        assert.deepEqual(client.events, []);
      }
      assert.deepEqual(seen, expected);
    },
    { captureContent },
  );
}
