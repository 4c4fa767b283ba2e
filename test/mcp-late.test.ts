// Runs with the others that hook the MCP SDKs: the hook of require() stays in the process.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Attributes, context, propagation, SpanKind, trace } from '@opentelemetry/api';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { McpInstrumentation } from '../src/instrumentation/mcp/index.ts';
import { DeferredEnrichment, Enricher, ObservatorySpanProcessor } from '../src/processor/index.ts';
import { SDKS, type Sdk } from './support/mcp-sdks.ts';

const ROWS = Array.from({ length: 3 }, (_, id) => ({ id, name: `row ${id}` }));

/** Calls of all kinds, by a program that goes on with its arguments and results as soon as it has an answer. */
async function callAll(sdk: Sdk): Promise<void> {
  const stop = new AbortController();
  await using pair = await sdk.connect({
    find: async (_args, tools) => {
      trace.getActiveSpan()?.setAttributes({ 'observatory.connection_id': 'my own', 'app.step': 1 });
      const progressToken = tools.meta?.progressToken;
      if (progressToken !== undefined)
        await tools.notify('notifications/progress', { progressToken, progress: 1, message: 'half' });
      return { content: [{ type: 'text', text: 'found '.repeat(20) }], structuredContent: { rows: ROWS } };
    },
    report: () => ({ isError: true, content: [{ type: 'text', text: 'no such row' }] }),
    fail: () => {
      throw new Error('broken');
    },
    hang: () => {
      setImmediate(() => stop.abort());
      return new Promise(() => undefined);
    },
  });
  const args = { text: 'a', filter: { ids: [1, 2], since: 'today' }, left: undefined };
  const found = (await pair.call('find', args, { onprogress: () => undefined })) as {
    content: { text: string }[];
    structuredContent?: unknown;
  };
  args.text = 'b';
  args.filter.ids.push(3);
  args.filter.since = 'tomorrow';
  found.content.length = 0;
  found.structuredContent = 'cleared';
  for (const name of ['report', 'fail']) await pair.client.callTool({ name, arguments: { text: 'c' } });
  await pair.client.callTool({ name: 'find' });
  await pair.call('hang', { text: 'd' }, { signal: stop.signal }).catch(() => undefined);
  await pair.client.listTools();
  await pair.client.readResource({ uri: 'note://one' });
  await pair.client.getPrompt({ name: 'greeting' });
  await pair.client.ping();
}

interface Recorded {
  readonly exported: readonly ReadableSpan[];
  /** How many attributes the spans had when the calls returned. */
  readonly written: number;
}

/** The spans of the calls, in a pipeline that enriches spans as they end or after. */
async function spansOf(sdk: Sdk, isLate: boolean, captureContent: boolean): Promise<Recorded> {
  const memory = new InMemorySpanExporter();
  const exporting = new SimpleSpanProcessor(memory);
  const seen: ReadableSpan[] = [];
  const watching = {
    onStart: () => {},
    onEnd: (span: ReadableSpan) => void seen.push(span),
    forceFlush: async () => {},
    shutdown: async () => {},
  };
  const enriching = isLate
    ? [new DeferredEnrichment(new Enricher(), [exporting])]
    : [new ObservatorySpanProcessor(), exporting];
  const provider = new NodeTracerProvider({ spanProcessors: [...enriching, watching] });
  provider.register();
  const instrumentation = new McpInstrumentation({ captureContent, contentLimitChars: 100 });
  sdk.instrument(instrumentation);
  try {
    await callAll(sdk);
    const written = seen.reduce((sum, { attributes }) => sum + Object.keys(attributes).length, 0);
    await provider.forceFlush();
    assert.deepEqual([...instrumentation.faults], []);
    return { exported: [...memory.getFinishedSpans()], written };
  } finally {
    instrumentation.disable();
    await provider.shutdown();
    trace.disable();
    context.disable();
    propagation.disable();
  }
}

/** All that is exported, but for ids, times, the id that each run gives its connection, and who called what threw. */
function told(spans: readonly ReadableSpan[]): readonly string[] {
  const connections = new Set(spans.map(({ attributes }) => attributes['observatory.connection_id']));
  assert.equal(connections.size, 2);
  const names = new Map(spans.map((span) => [span.spanContext().spanId, `${span.kind} ${span.name}`]));
  const sorted = (attributes: object = {}) => Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1));
  return spans
    .map(({ name, kind, attributes, status, events, links, parentSpanContext, ended }) => {
      const { 'observatory.connection_id': connection, ...rest } = attributes;
      return JSON.stringify({
        name,
        kind: SpanKind[kind],
        attributes: sorted(rest),
        connection: connection === 'my own' ? connection : typeof connection,
        status,
        events: events.map((event) => [event.name, sorted(withoutCallers(event.attributes))]),
        links: links.length,
        parent: names.get(parentSpanContext?.spanId ?? ''),
        ended,
      });
    })
    .sort();
}

/** The frames below the first depend on which promise was awaited when. */
function withoutCallers(attributes: Attributes = {}): Attributes {
  const stack = attributes['exception.stacktrace'];
  if (typeof stack !== 'string') return attributes;
  return { ...attributes, 'exception.stacktrace': stack.split('\n', 1)[0] };
}

for (const sdk of SDKS) {
  for (const captureContent of [false, true]) {
    const how = captureContent ? ', with content' : '';
    test(`${sdk.name}: calls are recorded the same when they are written after they have returned${how}`, async () => {
      const late = await spansOf(sdk, true, captureContent);
      const direct = await spansOf(sdk, false, captureContent);
      assert.ok(direct.exported.length > 18);
      assert.deepEqual(told(late.exported), told(direct.exported));
      assert.ok(late.written < direct.written / 2, `${late.written} of ${direct.written} attributes`);
    });
  }
}
