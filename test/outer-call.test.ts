/** `interceptModelCall` around an instrumented call: one call, one span, one cost. */
// Runs with the others that hook the model SDKs: the hook of require() stays in the process.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { trace } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { instrument, ObservatorySpanProcessor } from '../src/index.ts';
import { AnthropicInstrumentation } from '../src/instrumentation/anthropic/index.ts';
import { GoogleGenAIInstrumentation } from '../src/instrumentation/google-genai.ts';
import { OpenAIInstrumentation } from '../src/instrumentation/openai.ts';
import { duringTests } from './support/during-tests.ts';
import { duringFile } from './support/model-hooks.ts';
import { anthropicSdk, googleSdk, type ModelStream, openaiSdk } from './support/model-sdks.ts';
import type { ProviderServer } from './support/provider-server.ts';
import { Telemetry } from './support/telemetry.ts';

const telemetry = new Telemetry(new ObservatorySpanProcessor());
duringFile(new OpenAIInstrumentation());
const anthropicInstrumentation = duringFile(new AnthropicInstrumentation());
duringFile(new GoogleGenAIInstrumentation());
const openai = openaiSdk();
const anthropic = anthropicSdk();
const SDKS = [
  { ...openai, model: 'gpt-4o-mini' },
  { ...anthropic, model: 'claude-sonnet-4-6' },
  { ...googleSdk(), model: 'gemini-2.5-flash' },
];
const interceptor = instrument({ serviceName: 'test' });
const TEXTS = ['one ', 'two ', 'three '];

let provider: ProviderServer;
duringTests(telemetry, (started) => {
  provider = started;
});

async function drain(stream: ModelStream): Promise<string> {
  for await (const _ of stream);
  return TEXTS.join('');
}

const priced = (): ReadableSpan[] =>
  telemetry.spans.filter(({ attributes }) => attributes['observatory.cost_usd'] !== undefined);

for (const sdk of SDKS) {
  const { model } = sdk;
  const prompt = 'Tell me.';

  test(`${sdk.name}: the span around a call is the call's only one, with the usage the provider reports`, async () => {
    provider.answer({ events: sdk.events(TEXTS) });
    const { record } = await interceptor.recordModelCall({
      model,
      prompt,
      riskTier: 'high',
      call: async () => drain(await sdk.stream(provider.url)),
    });
    const { attributes, instrumentationScope, parentSpanContext } = telemetry.only;
    assert.equal(instrumentationScope.name, 'mcp-observatory');
    assert.equal(parentSpanContext, undefined);
    assert.equal(attributes['gen_ai.usage.input_tokens'], 100);
    assert.equal(attributes['gen_ai.usage.cache_read.input_tokens'], 90);
    assert.equal(attributes['observatory.risk_tier'], 'high');
    assert.equal(attributes['server.port'], provider.port);
    assert.equal(attributes['observatory.tokens_estimated'], undefined);
    assert.ok(Number(record.fields.costUsd) > 0);
  });

  test(`${sdk.name}: a stream that outlives the span around it has a span of its own, and the one cost`, async () => {
    provider.answer({ events: sdk.events(TEXTS), pauseMs: 2 });
    const call = () => sdk.stream(provider.url);
    const stream = (await interceptor.interceptModelCall({ model, prompt, call })) as ModelStream;
    const outer = telemetry.only;
    await drain(stream);
    const [, inner] = telemetry.spans;
    assert.equal(telemetry.spans.length, 2);
    assert.equal(inner?.parentSpanContext?.spanId, outer.spanContext().spanId);
    assert.equal(inner?.attributes['gen_ai.usage.output_tokens'], 20);
    assert.ok((inner?.startTime[0] ?? 0) >= outer.startTime[0]);
    assert.deepEqual(priced(), [inner]);
  });

  test(`${sdk.name}: an attempt that fails leaves the span to the next, and has no cost`, async () => {
    let attempts = 0;
    provider.answer(() => {
      attempts += 1;
      return attempts === 1 ? { status: 400, body: { error: {} } } : { events: sdk.events(TEXTS) };
    });
    const attempt = async () => drain(await sdk.stream(provider.url));
    await interceptor.interceptModelCall({ model, prompt, call: () => attempt().catch(attempt) });
    const { attributes, status } = telemetry.only;
    assert.equal(attributes['error.type'], undefined);
    assert.equal(status.code, 0);
    assert.equal(attributes['gen_ai.usage.output_tokens'], 20);
    assert.equal(priced().length, 1);
  });

  test(`${sdk.name}: a second call inside has a span and a cost of its own`, async () => {
    provider.answer({ events: sdk.events(TEXTS) });
    const call = async () => {
      await drain(await sdk.stream(provider.url));
      return trace.getTracer('app').startActiveSpan('step', async (step) => {
        const text = await drain(await sdk.stream(provider.url));
        step.end();
        return text;
      });
    };
    await interceptor.interceptModelCall({ model, prompt, call });
    assert.equal(telemetry.spans.length, 3);
    assert.equal(priced().length, 2);
  });
}

test('@anthropic-ai/sdk: the spans of the SDK itself come back after a call inside a span of ours', async () => {
  provider.answer({ events: anthropic.events(TEXTS) });
  anthropicInstrumentation.setConfig({});
  const { messages } = anthropic.client(provider.url);
  const body = {
    model: 'claude-sonnet-4-6',
    max_tokens: 9,
    stream: true as const,
    messages: [{ role: 'user' as const, content: 'x' }],
  };
  await interceptor.interceptModelCall({
    model: body.model,
    prompt: 'x',
    call: async () => drain(await messages.create(body)),
  });
  assert.equal(telemetry.only.instrumentationScope.name, 'mcp-observatory');
  await drain(await messages.create(body));
  assert.equal(telemetry.spans[1]?.instrumentationScope.name, 'com.anthropic.sdk.typescript');
});
