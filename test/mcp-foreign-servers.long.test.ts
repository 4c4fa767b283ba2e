/** Third-party servers, started as their packages start them and hooked only through environment variables. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import * as protocol from '@modelcontextprotocol/sdk/shared/protocol.js';
import { CreateMessageRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { SpanKind, trace } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { McpInstrumentation } from '../src/instrumentation/mcp/index.ts';
import { type CollectedSpan, OtlpCollector } from './support/otlp-collector.ts';
import { TelemetryBench } from './support/telemetry-bench.ts';

const REGISTER = new URL('../../test/fixtures/mcp/register.mjs', import.meta.url).href;
const require = createRequire(import.meta.url);

/** Runs `use` with a client of this process against a server of its own, and gives the server's spans. */
async function withServer(
  packageName: string,
  args: readonly string[],
  env: Record<string, string>,
  use: (client: Client) => Promise<void>,
): Promise<{ spans: readonly CollectedSpan[]; ours: readonly ReadableSpan[] }> {
  await using bench = new TelemetryBench();
  await using collector = await OtlpCollector.start();
  const instrumentation = new McpInstrumentation();
  instrumentation.manuallyInstrument(protocol);
  try {
    const entry = join(packageRoot(packageName), 'dist/index.js');
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [entry, ...args],
      stderr: 'pipe',
      env: {
        PATH: process.env.PATH ?? '',
        NODE_OPTIONS: `--import ${REGISTER}`,
        OTEL_SERVICE_NAME: packageName,
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        ...env,
      },
    });
    const client = new Client({ name: 'test', version: '1' }, { capabilities: { sampling: {} } });
    client.setRequestHandler(CreateMessageRequestSchema, () => ({
      model: 'm',
      role: 'assistant' as const,
      content: { type: 'text' as const, text: 'sampled' },
    }));
    await using _closing = { [Symbol.asyncDispose]: () => client.close() };
    const errors: Error[] = [];
    client.onerror = (error) => {
      // v1 forgets the token when the answer comes in the same chunk as the last progress, with us or without.
      if (!error.message.includes('unknown token')) errors.push(error);
    };
    await client.connect(transport);
    await trace.getTracer('test').startActiveSpan('app', async (span) => {
      await use(client);
      span.end();
    });
    // A line on stdout that is no message of the protocol would be an error of the client.
    assert.deepEqual(errors, []);
    client.onerror = () => undefined;
    await client.close();
    const called = bench.spans
      .filter((span) => span.kind === SpanKind.CLIENT)
      .map((span) => span.spanContext().spanId);
    await collector.until((spans) => called.every((id) => spans.some((span) => span.parentSpanId === id)));
    assert.deepEqual([...instrumentation.faults], []);
    return { spans: [...collector.spans], ours: [...bench.spans] };
  } finally {
    instrumentation.disable();
  }
}

function packageRoot(name: string): string {
  const base = require.resolve('@modelcontextprotocol/sdk/client/index.js');
  const modules = base.slice(0, base.lastIndexOf('@modelcontextprotocol'));
  return fileURLToPath(new URL(`${name}/`, `file://${modules}`));
}

/** Every span of the client has just one child, of the same name, in the server's process. */
function assertPaired(ours: readonly ReadableSpan[], spans: readonly CollectedSpan[], service: string): void {
  const sentSpans = ours.filter((span) => span.kind === SpanKind.CLIENT);
  assert.ok(sentSpans.length >= 4);
  for (const sent of sentSpans) {
    const received = spans.filter((span) => span.parentSpanId === sent.spanContext().spanId);
    assert.equal(received.length, 1, sent.name);
    assert.equal(received[0]?.name, sent.name);
    assert.equal(received[0]?.kind, 'SERVER');
    assert.equal(received[0]?.traceId, sent.spanContext().traceId);
    assert.equal(received[0]?.service, service);
    assert.equal(received[0]?.attributes['network.transport'], 'pipe');
  }
}

test('server-everything: tools, sampling, prompts, resources and progress join our trace', async () => {
  const name = '@modelcontextprotocol/server-everything';
  const { spans, ours } = await withServer(name, ['stdio'], {}, async (client) => {
    const progress: unknown[] = [];
    const echoed = await client.callTool({ name: 'echo', arguments: { message: 'hi' } });
    assert.deepEqual(echoed.content, [{ type: 'text', text: 'Echo: hi' }]);
    await client.callTool({ name: 'trigger-sampling-request', arguments: { prompt: 'p', maxTokens: 5 } });
    await client.callTool(
      { name: 'trigger-long-running-operation', arguments: { duration: 0.2, steps: 2 } },
      undefined,
      { onprogress: (step) => progress.push(step) },
    );
    assert.ok(progress.length >= 1);
    await client.listPrompts();
    await client.listResources();
    const bad = await client.callTool({ name: 'echo', arguments: { message: 12 } });
    assert.equal(bad.isError, true);
  });
  assertPaired(ours, spans, name);
  const call = spans.find((span) => span.name === 'tools/call trigger-sampling-request');
  const sampling = spans.find((span) => span.name === 'sampling/createMessage' && span.kind === 'CLIENT');
  assert.equal(sampling?.parentSpanId, call?.spanId);
  const sampled = ours.find((span) => span.name === 'sampling/createMessage');
  assert.equal(sampled?.parentSpanContext?.spanId, sampling?.spanId);
  const long = ours.find((span) => span.name === 'tools/call trigger-long-running-operation');
  assert.equal(long?.events.length, 2);
  const echoes = ours.filter((span) => span.name === 'tools/call echo');
  assert.deepEqual(
    echoes.map((span) => span.attributes['error.type']),
    [undefined, 'tool_error'],
  );
});

test('server-filesystem: a read and a refusal join our trace', async () => {
  const name = '@modelcontextprotocol/server-filesystem';
  const folder = await mkdtemp(join(tmpdir(), 'mcp-fs-'));
  try {
    await writeFile(join(folder, 'note.txt'), 'a note');
    const { spans, ours } = await withServer(name, [folder], {}, async (client) => {
      await client.callTool({ name: 'read_text_file', arguments: { path: join(folder, 'note.txt') } });
      const refused = await client.callTool({ name: 'read_text_file', arguments: { path: '/etc/hostname' } });
      assert.equal(refused.isError, true);
    });
    assertPaired(ours, spans, name);
    const reads = spans.filter((span) => span.name === 'tools/call read_text_file');
    const errorTypes = reads.map((span) => span.attributes['error.type'] ?? 'none');
    assert.deepEqual(errorTypes.sort(), ['none', 'tool_error']);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('server-memory: writing and reading the graph join our trace', async () => {
  const name = '@modelcontextprotocol/server-memory';
  const folder = await mkdtemp(join(tmpdir(), 'mcp-memory-'));
  try {
    const env = { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') };
    const { spans, ours } = await withServer(name, [], env, async (client) => {
      const entities = [{ name: 'a', entityType: 'thing', observations: ['seen'] }];
      await client.callTool({ name: 'create_entities', arguments: { entities } });
      await client.callTool({ name: 'read_graph', arguments: {} });
    });
    assertPaired(ours, spans, name);
    assert.equal(
      spans.filter((span) => span.attributes['gen_ai.operation.name'] === 'execute_tool').length,
      2,
    );
  } finally {
    await rm(folder, { recursive: true });
  }
});
