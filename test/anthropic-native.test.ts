// Runs with the others that hook the model SDKs: the hook of require() stays in the process.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { context, ProxyTracerProvider, trace } from '@opentelemetry/api';
import { AnthropicInstrumentation } from '../src/instrumentation/anthropic/index.ts';
import { type Interaction, readInteractions, takeInteraction } from '../src/interaction/index.ts';
import { collectGarbage } from './support/garbage.ts';
import { duringFile } from './support/model-hooks.ts';
import { anthropicSdk } from './support/model-sdks.ts';
import { ProviderServer } from './support/provider-server.ts';
import { Telemetry } from './support/telemetry.ts';

readInteractions();

const NATIVE = 'com.anthropic.sdk.typescript';
const OURS = 'mcp-observatory/anthropic';
const attached: (Interaction | undefined)[] = [];
const telemetry = new Telemetry({
  onStart() {},
  onEnding(span: object) {
    const found = takeInteraction(span);
    attached.push(found === undefined ? undefined : { ...found });
  },
  onEnd() {},
  forceFlush: async () => {},
  shutdown: async () => {},
});
const instrumentation = duringFile(new AnthropicInstrumentation());
const sdk = anthropicSdk();
let provider: ProviderServer;

before(async () => {
  provider = await ProviderServer.start();
});
afterEach(() => {
  telemetry.reset();
  attached.length = 0;
});
after(async () => {
  await provider[Symbol.asyncDispose]();
  await telemetry.shutdown();
});

const scopes = (): string[] =>
  telemetry.spans.map(({ instrumentationScope }) => instrumentationScope.name).sort();

test('by default the span of the SDK is the only one, and carries what was said', async () => {
  instrumentation.setConfig({});
  provider.answer({ events: sdk.events(['It is ', 'sunny.']) });
  for await (const _ of await sdk.stream(provider.url));
  assert.deepEqual(scopes(), [NATIVE]);
  const { attributes } = telemetry.only;
  assert.deepEqual(attributes['gen_ai.response.finish_reasons'], ['end_turn']);
  assert.equal(attributes['gen_ai.usage.cache_creation.input_tokens'], 6);
  assert.equal(attached[0]?.prompt, 'Tell me.');
  assert.equal(attached[0]?.answer, 'It is sunny.');
  assert.equal(attached[0]?.usage?.inputTokens, 100);
});

test('the span of the SDK carries what was said up to an early break', async () => {
  provider.answer({ events: sdk.events(['It is ', 'sunny.', ' Or not.']), pauseMs: 5 });
  for await (const event of await sdk.stream(provider.url)) {
    if (JSON.stringify(event).includes('sunny')) break;
  }
  assert.deepEqual(scopes(), [NATIVE]);
  assert.equal(attached[0]?.answer, 'It is sunny.');
});

test('the span of a refused call carries the prompt', async () => {
  provider.answer({
    status: 529,
    body: { type: 'error', error: { type: 'overloaded_error', message: 'x' } },
  });
  await assert.rejects(async () => sdk.stream(provider.url));
  assert.equal(telemetry.only.attributes['error.type'], 'overloaded_error');
  assert.equal(attached[0]?.prompt, 'Tell me.');
});

test('the metrics are recorded for the span of the SDK too', async () => {
  await telemetry.points();
  provider.answer({ events: sdk.events(['x']) });
  await sdk.helper(provider.url);
  const names = (await telemetry.points()).map(({ metric }) => metric);
  assert.ok(names.includes('gen_ai.client.operation.duration'));
  assert.ok(names.includes('gen_ai.client.token.usage'));
});

test('captured content stands on the span of the SDK', async () => {
  instrumentation.setConfig({ captureContent: true });
  provider.answer({ events: sdk.events(['Sunny.']) });
  for await (const _ of await sdk.stream(provider.url));
  const { attributes } = telemetry.only;
  assert.match(String(attributes['gen_ai.input.messages']), /Tell me/);
  assert.match(String(attributes['gen_ai.output.messages']), /Sunny/);
});

test("'suppress' leaves ours alone, also for the helpers", async () => {
  instrumentation.setConfig({ native: 'suppress' });
  provider.answer({ events: sdk.events(['x']) });
  for await (const _ of await sdk.stream(provider.url));
  await sdk.helper(provider.url);
  assert.deepEqual(scopes(), [OURS, OURS]);
});

test("'both' gives two spans, ours outside", async () => {
  instrumentation.setConfig({ native: 'both' });
  provider.answer({ events: sdk.events(['x']) });
  for await (const _ of await sdk.stream(provider.url));
  assert.deepEqual(scopes(), [NATIVE, OURS]);
  const outer = telemetry.spans.find(({ instrumentationScope }) => instrumentationScope.name === OURS);
  const inner = telemetry.spans.find(({ instrumentationScope }) => instrumentationScope.name === NATIVE);
  assert.equal(inner?.parentSpanContext?.spanId, outer?.spanContext().spanId);
});

test('where the SDK does not trace, ours does', async () => {
  instrumentation.setConfig({});
  provider.answer({ events: sdk.events(['x']) });
  const silent = sdk.client(provider.url).withOptions({ openTelemetry: false });
  const messages = [{ role: 'user' as const, content: 'x' }];
  await silent.messages.stream({ model: 'claude-sonnet-4-6', max_tokens: 9, messages }).finalMessage();
  assert.deepEqual(scopes(), [OURS]);
});

test('where the tracer of the SDK has no provider behind it, ours does', async () => {
  instrumentation.setConfig({});
  provider.answer({ events: sdk.events(['x']) });
  const client = sdk.client(provider.url).withOptions({});
  Object.assign(client, { _tracer: new ProxyTracerProvider().getTracer('nobody') });
  const messages = [{ role: 'user' as const, content: 'x' }];
  const ask = async () => {
    const body = { model: 'claude-sonnet-4-6', max_tokens: 9, messages, stream: true } as const;
    for await (const _ of await client.messages.create(body));
  };
  await ask();
  // Such a tracer hands on the span that is active.
  const outer = trace.getTracer('app').startSpan('outer');
  await context.with(trace.setSpan(context.active(), outer), ask);
  assert.deepEqual(scopes(), [OURS, OURS]);
  assert.equal(telemetry.spans[1]?.parentSpanContext?.spanId, outer.spanContext().spanId);
  assert.equal(attached[0]?.answer, 'x');
});

const ASK_BETA = {
  model: 'claude-sonnet-4-6',
  max_tokens: 9,
  messages: [{ role: 'user' as const, content: 'Tell me.' }],
  tools: [],
};

for (const native of ['prefer', 'suppress'] as const) {
  const scope = native === 'prefer' ? NATIVE : OURS;
  const chats = () =>
    telemetry.spans.filter(({ attributes }) => attributes['gen_ai.operation.name'] === 'chat');

  test(`'${native}': the tool runner's stream, whose body the SDK parses apart, is read as any other`, async () => {
    instrumentation.setConfig({ native });
    provider.answer({ events: sdk.events(['It is ', 'sunny.']) });
    for await (const stream of sdk
      .client(provider.url)
      .beta.messages.toolRunner({ ...ASK_BETA, stream: true }))
      await stream.finalMessage();
    const [span, ...more] = chats();
    assert.deepEqual(more, []);
    assert.equal(span?.instrumentationScope.name, scope);
    assert.deepEqual(span?.attributes['gen_ai.response.finish_reasons'], ['end_turn']);
    assert.equal(span?.attributes['gen_ai.usage.output_tokens'], 20);
    assert.equal(attached[0]?.answer, 'It is sunny.');
  });

  test(`'${native}': what the tool runner is refused is an error span`, async () => {
    instrumentation.setConfig({ native });
    provider.answer({
      status: 529,
      body: { type: 'error', error: { type: 'overloaded_error', message: 'x' } },
    });
    const client = sdk.client(provider.url);
    await assert.rejects(async () => client.beta.messages.toolRunner({ ...ASK_BETA }));
    const [span] = chats();
    assert.equal(span?.instrumentationScope.name, scope);
    assert.equal(span?.attributes['error.type'], 'overloaded_error');
  });
}

test('the span of the SDK ends with a stream that nobody reads, and a promise that nobody awaits', async () => {
  instrumentation.setConfig({});
  provider.answer({ events: sdk.events(['x']) });
  await (async () => {
    await sdk.stream(provider.url);
    void sdk.client(provider.url).messages.create({ model: 'm', max_tokens: 9, messages: [] });
  })();
  await collectGarbage(() => telemetry.spans.length > 1);
  assert.deepEqual(scopes(), [NATIVE, NATIVE]);
  for (const { attributes } of telemetry.spans) {
    assert.equal(attributes['observatory.stream_end'], 'abandoned');
  }
});

test('a request that a thread takes and whose body nobody parses ends its span when it is garbage', async () => {
  instrumentation.setConfig({ native: 'suppress' });
  provider.answer({ events: sdk.events(['x']) });
  await (async () => {
    const { tools: _, ...ask } = ASK_BETA;
    const promise = sdk.client(provider.url).beta.messages.create({ ...ask, stream: true });
    await (promise as unknown as { _responseProps(): Promise<unknown> })._responseProps();
  })();
  await collectGarbage(() => telemetry.spans.length > 0);
  assert.equal(telemetry.only.attributes['observatory.stream_end'], 'abandoned');
});
