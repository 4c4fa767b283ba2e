// Runs with the others that hook the model SDKs: the hook of require() stays in the process.
/** What is emitted, against the model of the semantic conventions 1.41.1. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { SpanKind } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { ObservatorySpanProcessor } from '../src/index.ts';
import { AnthropicInstrumentation } from '../src/instrumentation/anthropic/index.ts';
import { GoogleGenAIInstrumentation } from '../src/instrumentation/google-genai.ts';
import { McpInstrumentation } from '../src/instrumentation/mcp/index.ts';
import { OpenAIInstrumentation } from '../src/instrumentation/openai.ts';
import { duringTests } from './support/during-tests.ts';
import { SDKS } from './support/mcp-sdks.ts';
import { duringFile } from './support/model-hooks.ts';
import { anthropicSdk, googleSdk, openaiSdk } from './support/model-sdks.ts';
import type { ProviderServer } from './support/provider-server.ts';
import { Telemetry } from './support/telemetry.ts';

interface Model {
  /** Types by name. */
  readonly attributes: Readonly<Record<string, string>>;
  readonly spans: Readonly<Record<string, { readonly kind: string; readonly required: readonly string[] }>>;
  readonly metrics: Readonly<Record<string, { readonly required: readonly string[] }>>;
}

const model = JSON.parse(
  readFileSync(new URL('../../test/fixtures/semconv-1.41.1.json', import.meta.url), 'utf8'),
) as Model;

const telemetry = new Telemetry(new ObservatorySpanProcessor({ meterProvider: false }));
duringFile(new OpenAIInstrumentation());
duringFile(new AnthropicInstrumentation());
duringFile(new GoogleGenAIInstrumentation());
const models = [openaiSdk(), anthropicSdk(), googleSdk()];
const instrumentation = new McpInstrumentation();

let provider: ProviderServer;
duringTests(telemetry, (started) => {
  provider = started;
});
before(() => SDKS.forEach((sdk) => void sdk.instrument(instrumentation)));
after(() => instrumentation.disable());

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  int: Number.isInteger,
  double: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
  'string[]': (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
};

function assertKnown(attributes: Readonly<Record<string, unknown>>, where: string): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('observatory.')) continue;
    const type = model.attributes[name];
    assert.ok(type !== undefined, `${where}: ${name} is not in the model`);
    const isOfType = TYPES[type] ?? ((any: unknown) => any !== undefined);
    assert.ok(isOfType(value), `${where}: ${name} is no ${type}: ${JSON.stringify(value)}`);
  }
}

/** The kind of span that the model has, and what it requires in this case. */
function requiredOf({ attributes, kind }: ReadableSpan): readonly string[] {
  const of = (name: string) => (model.spans[name] as Model['spans'][string]).required;
  const method = attributes['mcp.method.name'];
  if (method === undefined) return [...of('gen_ai.inference.client'), 'gen_ai.request.model'];
  return [
    ...of(kind === SpanKind.CLIENT ? 'mcp.client' : 'mcp.server'),
    ...(String(method).startsWith('notifications/') ? [] : ['jsonrpc.request.id']),
    ...(method === 'tools/call' ? ['gen_ai.tool.name'] : []),
    ...(method === 'prompts/get' ? ['gen_ai.prompt.name'] : []),
    ...(method === 'resources/read' ? ['mcp.resource.uri'] : []),
  ];
}

function assertConforms(all: readonly ReadableSpan[]): void {
  // Anthropic's SDK makes spans of its own, which are completed.
  const spans = all.filter(({ instrumentationScope }) =>
    instrumentationScope.name.startsWith('mcp-observatory'),
  );
  for (const span of spans) {
    assertKnown(span.attributes, span.name);
    for (const { name, attributes } of span.events)
      assertKnown(attributes ?? {}, `${span.name}, event ${name}`);
    const required = requiredOf(span);
    const isFailed = span.status.code === 2;
    for (const name of isFailed ? [...required, 'error.type'] : required)
      assert.ok(span.attributes[name] !== undefined, `${span.name} has no ${name}`);
    assert.equal(span.attributes['error.type'] !== undefined, isFailed, span.name);
  }
}

for (const sdk of SDKS) {
  test(`MCP ${sdk.name}: no unknown, wrongly typed or missing attribute`, async () => {
    await using pair = await sdk.connect({
      echo: () => ({ content: [] }),
      fail: () => ({ content: [], isError: true }),
    });
    const { client } = pair;
    await client.ping();
    await client.listTools();
    await client.callTool({ name: 'echo', arguments: { text: 'a' } });
    await client.callTool({ name: 'fail', arguments: {} });
    await client.getPrompt({ name: 'greeting' });
    await client.readResource({ uri: 'note://one' });
    await client.getPrompt({ name: 'nowhere' }).catch(() => {});
    assert.ok(telemetry.spans.length > 14);
    assertConforms(telemetry.spans);
  });
}

for (const sdk of models) {
  test(`${sdk.name}: no unknown, wrongly typed or missing attribute`, async () => {
    provider.answer({ events: sdk.events(['a ', 'b']) });
    for await (const _ of await sdk.stream(provider.url));
    provider.answer({ status: 429, body: { error: {} } });
    await sdk.stream(provider.url).catch(() => {});
    assert.ok(telemetry.spans.length >= 2);
    assertConforms(telemetry.spans);
  });
}

test('metrics have the required attributes, and none that is unknown', async () => {
  const [sdk] = SDKS;
  provider.answer({ events: models[0]?.events(['a']) as string[] });
  for await (const _ of (await models[0]?.stream(provider.url)) ?? []);
  const pair = await sdk?.connect({ echo: () => ({ content: [] }) });
  await pair?.client.callTool({ name: 'echo', arguments: {} });
  await pair?.[Symbol.asyncDispose]();
  const seen = new Set<string>();
  for (const { metric, attributes } of await telemetry.points()) {
    assertKnown(attributes, metric);
    if (metric.startsWith('observatory.')) continue;
    seen.add(metric);
    const known = model.metrics[metric];
    assert.ok(known !== undefined, `${metric} is not in the model`);
    for (const name of known.required) assert.ok(attributes[name] !== undefined, `${metric} has no ${name}`);
  }
  assert.ok(
    seen.has('mcp.client.operation.duration') && seen.has('gen_ai.client.token.usage'),
    [...seen].join(),
  );
});
