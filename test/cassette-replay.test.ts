/** Every recorded exchange, played back by a local server to the official SDKs with the recorded request. */
import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { AnthropicInstrumentation } from '../src/instrumentation/anthropic/index.ts';
import { GoogleGenAIInstrumentation } from '../src/instrumentation/google-genai/index.ts';
import { OpenAIInstrumentation } from '../src/instrumentation/openai/index.ts';
import { type Exchange, expectedOf, type Json, readCassettes } from './support/cassettes.ts';
import { anthropicSdk, googleSdk, openaiSdk } from './support/model-sdks.ts';
import { ProviderServer } from './support/provider-server.ts';
import { Telemetry } from './support/telemetry.ts';

const telemetry = new Telemetry();
new OpenAIInstrumentation();
const anthropicInstrumentation = new AnthropicInstrumentation({ native: 'suppress' });
new GoogleGenAIInstrumentation();
const openai = openaiSdk();
const anthropic = anthropicSdk();
const google = googleSdk();
const exchanges = readCassettes();
let provider: ProviderServer;

before(async () => {
  provider = await ProviderServer.start();
});
after(async () => {
  await provider[Symbol.asyncDispose]();
  await telemetry.shutdown();
});

/** Calls that are no inference, which semconv gives no span; and what the SDK cannot be made to send. */
function whySkipped({ api }: Exchange): string | undefined {
  if (api === 'messages.count_tokens' || api === 'countTokens') return 'counting tokens is no model call';
  return undefined;
}

test('every recorded exchange gives a span that says what the recording says', async (t) => {
  await replayAll(t, (span, exchange) => {
    assert.equal(span.attributes['gen_ai.request.model'], modelOf(exchange).replace(/^.*models\//, ''));
  });
});

test('Anthropic exchanges give the same on the native span of the SDK', async (t) => {
  anthropicInstrumentation.setConfig({ native: 'prefer' });
  await replayAll(
    t,
    (span) => assert.equal(span.instrumentationScope.name, 'com.anthropic.sdk.typescript'),
    'anthropic',
  );
});

type Span = Telemetry['only'];

async function replayAll(
  t: TestContext,
  check: (span: Span, exchange: Exchange) => void,
  only?: Exchange['provider'],
): Promise<void> {
  if (exchanges === undefined) {
    t.skip('the recordings are not there; set OBSERVATORY_DATA');
    return;
  }
  const skipped: string[] = [];
  const failures: string[] = [];
  let replayed = 0;
  const chosen = exchanges.filter(({ provider: name }) => only === undefined || name === only);
  for (const exchange of chosen) {
    const why = whySkipped(exchange);
    if (why !== undefined) {
      skipped.push(`${exchange.id}: ${why}`);
      continue;
    }
    telemetry.reset();
    try {
      await replay(exchange);
      const span = telemetry.only;
      compare(span, expectedOf(exchange));
      check(span, exchange);
      replayed++;
    } catch (error) {
      failures.push(
        `${exchange.id} ${exchange.api}: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  }
  t.diagnostic(`${replayed} of ${chosen.length} exchanges, ${skipped.length} skipped`);
  for (const line of skipped) t.diagnostic(`skipped ${line}`);
  assert.deepEqual(failures, []);
  assert.equal(replayed + skipped.length, chosen.length);
}

function compare({ attributes, status }: Span, expected: ReturnType<typeof expectedOf>): void {
  const said = {
    model: attributes['gen_ai.response.model'],
    id: attributes['gen_ai.response.id'],
    input: attributes['gen_ai.usage.input_tokens'],
    output: attributes['gen_ai.usage.output_tokens'],
    cached: attributes['gen_ai.usage.cache_read.input_tokens'],
    cacheWrite:
      attributes['gen_ai.usage.cache_creation.input_tokens'] ??
      attributes['gen_ai.usage.cache_write.input_tokens'],
    reasoning: attributes['gen_ai.usage.reasoning.output_tokens'],
    finishReasons: attributes['gen_ai.response.finish_reasons'] ?? [],
    toolCalls: attributes['observatory.tool_call_count'] ?? 0,
    errorType: attributes['error.type'],
  };
  assert.deepEqual(JSON.parse(JSON.stringify(said)), JSON.parse(JSON.stringify(expected)));
  assert.equal(status.code === 2, expected.errorType !== undefined);
}

/** The model asked for: the recording's path for Gemini, its body for the others; documented shapes have neither. */
function modelOf({ request, model }: Exchange): string {
  const fromPath = /models\/([^:?]+)/.exec(request?.path ?? '')?.[1];
  return fromPath ?? (request?.body.model as string | undefined) ?? model ?? 'some-model';
}

async function replay(exchange: Exchange): Promise<void> {
  const { response, request } = exchange;
  provider.answer({
    status: response.status,
    headers: replayable(response.headers),
    ...(response.sse === undefined ? { body: response.body } : { events: [response.sse] }),
  });
  const body = { ...DOCUMENTED_BODY[exchange.provider], ...request?.body, model: modelOf(exchange) };
  if (response.sse !== undefined) Object.assign(body, { stream: true });
  try {
    if (exchange.provider === 'openai') await callOpenAI(exchange.api, body);
    else if (exchange.provider === 'anthropic') await callAnthropic(exchange, body);
    else await callGemini(exchange, body);
  } catch (error) {
    // What the SDK throws is its own affair; a fault of this test is not.
    const expected = expectedOf(exchange);
    if (expected.errorType === undefined || error instanceof assert.AssertionError) throw error;
  }
  const [received] = provider.requests.splice(0);
  if (request?.body !== undefined && exchange.provider !== 'gemini') assert.deepEqual(received?.body, body);
}

const DOCUMENTED_BODY = {
  openai: { messages: [{ role: 'user', content: 'hello' }] },
  anthropic: { max_tokens: 16, messages: [{ role: 'user', content: 'hello' }] },
  gemini: { contents: [{ role: 'user', parts: [{ text: 'hello' }] }] },
} as const;

/** Headers about the transport of the recording do not fit that of the replay. */
function replayable(headers: Readonly<Record<string, string>>): Record<string, string> {
  const kept = Object.entries(headers).filter(
    ([name]) => !/^(content-(length|encoding)|transfer-|retry-)/.test(name),
  );
  return Object.fromEntries(kept);
}

async function callOpenAI(api: string, body: Json): Promise<void> {
  const client = openai.client(provider.url);
  if (api === 'responses') delete body.messages;
  await drain(
    await (api === 'responses' ? client.responses.create(body) : client.chat.completions.create(body)),
  );
}

async function callAnthropic({ request }: Exchange, body: Json): Promise<void> {
  const client = anthropic.client(provider.url);
  const isBeta = request?.path.includes('beta=true') === true;
  const options = { timeout: 10_000 };
  await drain(
    await (isBeta ? client.beta.messages.create(body, options) : client.messages.create(body, options)),
  );
}

async function callGemini({ request, response, api }: Exchange, body: Json): Promise<void> {
  const vertex = request?.path.includes('/projects/') === true;
  const client = vertex ? vertexClient() : google.client(provider.url);
  const {
    contents,
    model,
    systemInstruction,
    tools,
    toolConfig,
    safetySettings,
    cachedContent,
    generationConfig,
  } = body;
  const config = { systemInstruction, tools, toolConfig, safetySettings, cachedContent, ...generationConfig };
  const streams = api === 'streamGenerateContent' || response.sse !== undefined;
  const params = { model, contents, config };
  await drain(
    await (streams ? client.models.generateContentStream(params) : client.models.generateContent(params)),
  );
}

function vertexClient() {
  const { GoogleGenAI } = google.module;
  return new GoogleGenAI({ vertexai: true, apiKey: 'key', httpOptions: { baseUrl: provider.url } });
}

async function drain(result: unknown): Promise<void> {
  if (typeof result !== 'object' || result === null || !(Symbol.asyncIterator in result)) return;
  for await (const _ of result as AsyncIterable<unknown>);
}
