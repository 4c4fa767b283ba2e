/** Our span of a call with Anthropic's SDK, with the SDK's own spans disabled. */
// Runs with the others that hook the model SDKs: the hook of require() stays in the process.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { AnthropicInstrumentation } from '../src/instrumentation/anthropic/index.ts';
import { duringTests } from './support/during-tests.ts';
import { duringFile } from './support/model-hooks.ts';
import { type ProviderServer, sse } from './support/provider-server.ts';
import { Telemetry } from './support/telemetry.ts';

const telemetry = new Telemetry();
duringFile(new AnthropicInstrumentation({ native: 'suppress' }));
const { Anthropic } = createRequire(import.meta.url)(
  '@anthropic-ai/sdk',
) as typeof import('@anthropic-ai/sdk');
let provider: ProviderServer;
duringTests(telemetry, (started) => {
  provider = started;
});

const USAGE = {
  input_tokens: 4,
  cache_read_input_tokens: 90,
  cache_creation_input_tokens: 6,
  cache_creation: { ephemeral_5m_input_tokens: 1, ephemeral_1h_input_tokens: 5 },
  output_tokens: 1,
  output_tokens_details: { thinking_tokens: 0 },
  service_tier: 'priority',
};
const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-4-6',
  content: [{ type: 'text', text: '{}' }],
  stop_reason: 'pause_turn',
  usage: { ...USAGE, output_tokens: 20, output_tokens_details: { thinking_tokens: 7 } },
};
const ASK = {
  model: 'claude-sonnet-4-6',
  max_tokens: 9,
  messages: [{ role: 'user' as const, content: 'Tell me.' }],
};

const client = () => new Anthropic({ apiKey: 'key', baseURL: provider.url, maxRetries: 0 });

test('a message is a CLIENT span with request, response, tier and usage', async () => {
  provider.answer({ body: MESSAGE });
  const format = { type: 'json_schema' as const, schema: { type: 'object' } };
  await client().messages.create({ ...ASK, output_config: { format } });
  const { name, kind, attributes } = telemetry.only;
  assert.deepEqual([name, kind], ['chat claude-sonnet-4-6', 2]);
  assert.deepEqual(attributes, {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'anthropic',
    'gen_ai.request.model': 'claude-sonnet-4-6',
    'server.address': '127.0.0.1',
    'server.port': provider.port,
    'gen_ai.request.max_tokens': 9,
    'gen_ai.output.type': 'json',
    'http.response.status_code': 200,
    'gen_ai.response.id': 'msg_1',
    'gen_ai.response.model': 'claude-sonnet-4-6',
    'gen_ai.response.finish_reasons': ['pause_turn'],
    'anthropic.response.service_tier': 'priority',
    'observatory.usage_units': '{"modes":["tier priority"]}',
    'gen_ai.usage.input_tokens': 100,
    'gen_ai.usage.output_tokens': 20,
    'gen_ai.usage.cache_read.input_tokens': 90,
    'gen_ai.usage.cache_creation.input_tokens': 6,
    'gen_ai.usage.reasoning.output_tokens': 7,
    'anthropic.usage.cache_creation.ephemeral_1h_input_tokens': 5,
  });
});

test('what a stream says of its output at the start are placeholders until its totals come', async () => {
  const start = { type: 'message_start', message: { ...MESSAGE, content: [], usage: USAGE } };
  const delta = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 20 } };
  const counts = () => {
    const { attributes } = telemetry.spans.at(-1) ?? telemetry.only;
    const names = ['input_tokens', 'output_tokens', 'reasoning.output_tokens'];
    return names.map((name) => attributes[`gen_ai.usage.${name}`]);
  };
  provider.answer({ events: sse([start, { type: 'ping' }, delta], true), pauseMs: 5 });
  for await (const _ of await client().messages.create({ ...ASK, stream: true })) break;
  assert.deepEqual(counts(), [100, undefined, undefined]);
  for await (const _ of await client().messages.create({ ...ASK, stream: true }));
  assert.deepEqual(counts(), [100, 20, 0]);
});

test('the provider is who answers, by the host', async () => {
  const hosts = [
    ['https://bedrock-runtime.us-east-1.amazonaws.com', 'aws.bedrock'],
    ['https://us-east5-aiplatform.googleapis.com/v1', 'gcp.vertex_ai'],
    ['https://api.deepseek.com/anthropic', 'deepseek'],
    ['https://api.anthropic.com', 'anthropic'],
  ];
  for (const [baseURL] of hosts) {
    const fetch = async () => Response.json(MESSAGE);
    await new Anthropic({ apiKey: 'key', baseURL, fetch }).messages.create(ASK);
  }
  assert.deepEqual(
    telemetry.spans.map(({ attributes }) => attributes['gen_ai.provider.name']),
    hosts.map(([, name]) => name),
  );
});

const OVERLOADED = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };

test('an error event in a stream names its type', async () => {
  provider.answer({ events: sse([OVERLOADED], true) });
  const stream = await client().messages.create({ ...ASK, stream: true });
  await assert.rejects(drain(stream), /Overloaded/);
  assert.equal(telemetry.only.attributes['error.type'], 'overloaded_error');
});

for (const [what, message, expected] of [
  ['an error event', JSON.stringify(OVERLOADED), 'overloaded_error'],
  ['another text', '{ no JSON', 'APIConnectionError'],
] as const) {
  test(`a connection error made of ${what}, as before 0.50, is named ${expected}`, async () => {
    const error = new Anthropic.APIConnectionError({ message, cause: new Error(`SSE Error: ${message}`) });
    const body = new ReadableStream({ pull: (controller) => controller.error(error) });
    const fetch = async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    const older = new Anthropic({ apiKey: 'key', baseURL: provider.url, fetch });
    const stream = await older.messages.create({ ...ASK, stream: true });
    await assert.rejects(drain(stream), error);
    assert.equal(telemetry.only.attributes['error.type'], expected);
  });
}

async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}
