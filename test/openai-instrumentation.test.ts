// Runs with the others that hook the model SDKs: the hook of require() stays in the process.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, afterEach, before, test } from 'node:test';
import { context, trace } from '@opentelemetry/api';
import type { OpenAI } from 'openai';
import { OpenAIInstrumentation } from '../src/instrumentation/openai.ts';
import { collectGarbage } from './support/garbage.ts';
import { duringFile } from './support/model-hooks.ts';
import { ProviderServer, sse } from './support/provider-server.ts';
import { Telemetry } from './support/telemetry.ts';

const telemetry = new Telemetry();
const instrumentation = duringFile(new OpenAIInstrumentation());
const sdk = createRequire(import.meta.url)('openai') as typeof import('openai');
let provider: ProviderServer;
let client: OpenAI;

before(async () => {
  provider = await ProviderServer.start();
  client = new sdk.OpenAI({ apiKey: 'sk-test', baseURL: `${provider.url}/v1`, maxRetries: 0 });
});
afterEach(() => {
  telemetry.reset();
  instrumentation.setConfig({});
});
after(async () => {
  await provider[Symbol.asyncDispose]();
  await telemetry.shutdown();
});

const COMPLETION = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-4o-mini-2024-07-18',
  service_tier: 'default',
  system_fingerprint: 'fp_1',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Paris.' }, finish_reason: 'stop' }],
  usage: {
    prompt_tokens: 100,
    completion_tokens: 20,
    total_tokens: 120,
    prompt_tokens_details: { cached_tokens: 90 },
    completion_tokens_details: { reasoning_tokens: 5 },
  },
};
const ASK = {
  model: 'gpt-4o-mini',
  messages: [{ role: 'user' as const, content: 'Capital of France?' }],
};

test('a chat completion is a CLIENT span with request, response and usage', async () => {
  provider.answer({ body: COMPLETION });
  const promise = client.chat.completions.create({
    ...ASK,
    temperature: 0,
    max_tokens: 50,
    n: 2,
    seed: 0,
    stop: 'x',
  });
  assert.ok(promise instanceof sdk.APIPromise);
  const answer = await promise;
  assert.equal(answer.choices[0]?.message.content, 'Paris.');
  const span = telemetry.only;
  assert.equal(span.name, 'chat gpt-4o-mini');
  assert.equal(span.kind, 2);
  assert.equal(span.instrumentationScope.name, 'mcp-observatory/openai');
  assert.deepEqual(span.attributes, {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'gpt-4o-mini',
    'server.address': '127.0.0.1',
    'server.port': provider.port,
    'openai.api.type': 'chat_completions',
    'gen_ai.request.temperature': 0,
    'gen_ai.request.seed': 0,
    'gen_ai.request.max_tokens': 50,
    'gen_ai.request.choice.count': 2,
    'http.response.status_code': 200,
    'openai.response.service_tier': 'default',
    'openai.response.system_fingerprint': 'fp_1',
    'gen_ai.response.id': 'chatcmpl-1',
    'gen_ai.response.model': 'gpt-4o-mini-2024-07-18',
    'gen_ai.response.finish_reasons': ['stop'],
    'gen_ai.usage.input_tokens': 100,
    'gen_ai.usage.output_tokens': 20,
    'gen_ai.usage.cache_read.input_tokens': 90,
    'gen_ai.usage.reasoning.output_tokens': 5,
  });
});

test('the metrics have the buckets and attributes of the semantic conventions', async () => {
  await telemetry.points();
  provider.answer({ body: COMPLETION });
  await client.chat.completions.create(ASK);
  provider.answer({ events: sse([chunk('a'), chunk('b'), chunk('c'), '[DONE]']) });
  for await (const _ of await client.chat.completions.create({ ...ASK, stream: true }));
  const points = await telemetry.points();
  const named = (name: string) => points.filter((point) => point.metric === name);
  const tokens = named('gen_ai.client.token.usage');
  assert.deepEqual(
    tokens.map(({ attributes, sum }) => [attributes['gen_ai.token.type'], sum]),
    [
      ['input', 100],
      ['output', 20],
    ],
  );
  assert.equal(tokens[0]?.boundaries.at(-1), 67_108_864);
  const [duration] = named('gen_ai.client.operation.duration');
  assert.deepEqual(duration?.attributes, {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'gpt-4o-mini',
    'gen_ai.response.model': 'gpt-4o-mini-2024-07-18',
    'server.address': '127.0.0.1',
    'server.port': provider.port,
  });
  assert.deepEqual([duration?.boundaries[0], duration?.boundaries.at(-1)], [0.01, 81.92]);
  assert.equal(named('gen_ai.client.operation.time_to_first_chunk')[0]?.count, 1);
  assert.equal(named('gen_ai.client.operation.time_per_output_chunk')[0]?.count, 2);
});

test('an HTTP error is an error span with the code of the provider, and the same rejection', async () => {
  const error = {
    message: 'The model `x` does not exist',
    type: 'invalid_request_error',
    code: 'model_not_found',
  };
  provider.answer({ status: 404, body: { error } });
  await assert.rejects(
    async () => client.chat.completions.create(ASK),
    (thrown) => thrown instanceof sdk.NotFoundError,
  );
  const { attributes, status } = telemetry.only;
  assert.equal(attributes['error.type'], 'model_not_found');
  assert.equal(attributes['http.response.status_code'], 404);
  assert.deepEqual(status, { code: 2, message: '404 model_not_found' });
});

test('a server that is not there is an error span', async () => {
  const nowhere = new sdk.OpenAI({ apiKey: 'x', baseURL: 'http://127.0.0.1:1/v1', maxRetries: 0 });
  await assert.rejects(async () => nowhere.chat.completions.create(ASK));
  assert.equal(telemetry.only.attributes['error.type'], 'APIConnectionError');
});

test('parse() and embeddings, which unwrap the promise, are observed once', async () => {
  provider.answer({ body: COMPLETION });
  await client.chat.completions.parse(ASK);
  provider.answer({
    body: {
      object: 'list',
      model: 'emb-1',
      data: [{ index: 0, embedding: [1, 2] }],
      usage: { prompt_tokens: 3 },
    },
  });
  await client.embeddings.create({ model: 'emb', input: 'x', encoding_format: 'float', dimensions: 2 });
  const [parsed, embedded] = telemetry.spans;
  assert.equal(telemetry.spans.length, 2);
  assert.equal(parsed?.attributes['gen_ai.usage.input_tokens'], 100);
  assert.equal(embedded?.name, 'embeddings emb');
  assert.equal(embedded?.attributes['gen_ai.usage.input_tokens'], 3);
  assert.equal(embedded?.attributes['gen_ai.embeddings.dimension.count'], 2);
});

test('a rejected parse() ends its span as an error', async () => {
  provider.answer({
    status: 401,
    body: { error: { type: 'invalid_request_error', code: 'invalid_api_key' } },
  });
  await assert.rejects(async () => client.chat.completions.parse(ASK));
  assert.equal(telemetry.only.attributes['error.type'], 'invalid_api_key');
});

test('the Responses API gives usage, status and tool calls', async () => {
  provider.answer({
    body: {
      id: 'resp_1',
      object: 'response',
      model: 'gpt-5-2026',
      status: 'completed',
      output: [
        { type: 'reasoning', summary: [] },
        { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{"city":"Rome"}' },
      ],
      usage: {
        input_tokens: 10,
        output_tokens: 7,
        input_tokens_details: { cached_tokens: 4 },
        output_tokens_details: { reasoning_tokens: 2 },
      },
    },
  });
  await client.responses.create({ model: 'gpt-5', input: 'Weather in Rome?', conversation: 'conv_1' });
  const { attributes } = telemetry.only;
  assert.equal(attributes['openai.api.type'], 'responses');
  assert.equal(attributes['gen_ai.conversation.id'], 'conv_1');
  assert.deepEqual(attributes['gen_ai.response.finish_reasons'], ['tool_call']);
  assert.equal(attributes['observatory.tool_call_count'], 1);
  assert.equal(attributes['gen_ai.usage.cache_read.input_tokens'], 4);
  assert.equal(attributes['gen_ai.usage.reasoning.output_tokens'], 2);
});

test('retries inside the SDK are counted on the one span of the call', async () => {
  let attempts = 0;
  provider.answer(() =>
    ++attempts < 3 ? { status: 503, headers: { 'retry-after-ms': '1' }, body: {} } : { body: COMPLETION },
  );
  await client.withOptions({ maxRetries: 4 }).chat.completions.create(ASK);
  assert.equal(telemetry.only.attributes['http.request.resend_count'], 2);
});

test('runTools() gives one span for each request it makes', async () => {
  const call = { id: 'c1', type: 'function', function: { name: 'now', arguments: '{}' } };
  const asks = {
    ...COMPLETION.choices[0],
    message: { role: 'assistant', content: null, tool_calls: [call] },
  };
  let requests = 0;
  provider.answer(() => ({ body: ++requests === 1 ? { ...COMPLETION, choices: [asks] } : COMPLETION }));
  const tool = {
    type: 'function',
    function: { name: 'now', parameters: {}, function: () => 'noon' },
  } as const;
  const text = await client.chat.completions.runTools({ ...ASK, tools: [tool as never] }).finalContent();
  assert.equal(text, 'Paris.');
  assert.deepEqual(
    telemetry.spans.map(({ attributes }) => attributes['observatory.tool_call_count']),
    [1, undefined],
  );
});

test('a streamed response that fails is an error though the stream does not throw', async () => {
  const response = {
    id: 'r',
    model: 'm',
    status: 'failed',
    error: { code: 'server_error', message: 'x' },
    output: [],
  };
  provider.answer({
    events: sse(
      [
        { type: 'response.created', response },
        { type: 'response.failed', response },
      ],
      true,
    ),
  });
  for await (const _ of await client.responses.create({ model: 'm', input: 'x', stream: true }));
  assert.equal(telemetry.only.attributes['error.type'], 'server_error');
  assert.equal(telemetry.only.status.code, 2);
});

test('legacy completions are traced, plain and streamed', async () => {
  const piece = { id: 'cmpl-1', model: 'm', choices: [{ index: 0, text: 'Paris', finish_reason: 'stop' }] };
  provider.answer({ body: { ...piece, usage: { prompt_tokens: 2, completion_tokens: 1 } } });
  await client.completions.create({ model: 'm', prompt: 'Capital?' });
  provider.answer({ events: sse([piece, { ...piece, choices: [], usage: { prompt_tokens: 2 } }, '[DONE]']) });
  for await (const _ of await client.completions.create({ model: 'm', prompt: 'Capital?', stream: true }));
  assert.deepEqual(
    telemetry.spans.map(({ name, attributes }) => [name, attributes['gen_ai.usage.input_tokens']]),
    [
      ['text_completion m', 2],
      ['text_completion m', 2],
    ],
  );
});

test('asResponse() alone ends the span at the headers and leaves the body to its reader', async () => {
  provider.answer({ body: COMPLETION });
  const response = await client.chat.completions.create(ASK).asResponse();
  assert.equal(telemetry.only.attributes['http.response.status_code'], 200);
  assert.deepEqual(await response.json(), COMPLETION);
});

test('a request nobody awaits and that fails stays an unhandled rejection, as without us', async () => {
  provider.answer({ status: 500, body: { error: { type: 'server_error', code: null } } });
  const unhandled: unknown[] = [];
  const listeners = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection');
  process.on('unhandledRejection', (reason) => unhandled.push(reason));
  void client.chat.completions.create(ASK);
  await collectGarbage(() => telemetry.spans.length > 0 && unhandled.length > 0);
  process.removeAllListeners('unhandledRejection');
  for (const listener of listeners) process.on('unhandledRejection', listener);
  assert.equal(unhandled.length, 1);
  assert.equal(telemetry.only.attributes['observatory.stream_end'], 'abandoned');
});

test('the span is the parent of what happens inside the call and a child of what is around it', async () => {
  provider.answer({ body: COMPLETION });
  const inside: (string | undefined)[] = [];
  const spying = new sdk.OpenAI({
    apiKey: 'x',
    baseURL: `${provider.url}/v1`,
    fetch: (url, init) => {
      inside.push(trace.getSpan(context.active())?.spanContext().spanId);
      return fetch(url as string, init as RequestInit);
    },
  });
  const outer = trace.getTracer('test').startSpan('outer');
  await context.with(trace.setSpan(context.active(), outer), () => spying.chat.completions.create(ASK));
  outer.end();
  const span = telemetry.spans.find(({ name }) => name === 'chat gpt-4o-mini');
  assert.equal(span?.parentSpanContext?.spanId, outer.spanContext().spanId);
  assert.deepEqual(inside, [span?.spanContext().spanId]);
});

test('content stands on the span only with captureContent', async () => {
  provider.answer({ body: COMPLETION });
  await client.chat.completions.create(ASK);
  assert.equal(telemetry.only.attributes['gen_ai.input.messages'], undefined);
  telemetry.reset();
  instrumentation.setConfig({ captureContent: true });
  await client.chat.completions.create({
    ...ASK,
    stop: 'x',
    messages: [{ role: 'system', content: 'Be brief.' }, ...ASK.messages],
  });
  const { attributes } = telemetry.only;
  assert.deepEqual(attributes['gen_ai.request.stop_sequences'], ['x']);
  assert.deepEqual(JSON.parse(String(attributes['gen_ai.system_instructions'])), [
    { type: 'text', content: 'Be brief.' },
  ]);
  assert.deepEqual(JSON.parse(String(attributes['gen_ai.input.messages'])), [
    { role: 'user', parts: [{ type: 'text', content: 'Capital of France?' }] },
  ]);
  assert.deepEqual(JSON.parse(String(attributes['gen_ai.output.messages'])), [
    { role: 'assistant', parts: [{ type: 'text', content: 'Paris.' }], finish_reason: 'stop' },
  ]);
});

test('a disabled instrumentation leaves no trace', async () => {
  provider.answer({ body: COMPLETION });
  instrumentation.disable();
  await client.chat.completions.create(ASK);
  instrumentation.enable();
  assert.equal(telemetry.spans.length, 0);
  await client.chat.completions.create(ASK);
  assert.equal(telemetry.spans.length, 1);
});

test('beta.responses is traced as responses is', async () => {
  provider.answer({ body: { id: 'resp_1', model: 'gpt-5-2026', status: 'completed', output: [] } });
  await client.beta.responses.create({ model: 'gpt-5', input: 'x' });
  const { name, attributes } = telemetry.only;
  assert.equal(name, 'chat gpt-5');
  assert.equal(attributes['openai.api.type'], 'responses');
  assert.deepEqual(attributes['gen_ai.response.finish_reasons'], ['stop']);
});

test('the provider is who answers, by the host or by the client for Azure', async () => {
  const answering = async () => Response.json(COMPLETION);
  const hosts = [
    ['https://api.groq.com/openai/v1', 'groq'],
    ['https://bedrock-mantle.us-east-1.api.aws/openai/v1', 'aws.bedrock'],
    ['https://lb.elb.us-east-1.amazonaws.com/v1', 'openai'],
    ['https://us-east5-aiplatform.googleapis.com/v1/projects/p', 'gcp.vertex_ai'],
    ['https://eu.api.openai.com/v1', 'openai'],
  ];
  for (const [baseURL] of hosts) {
    await new sdk.OpenAI({ apiKey: 'x', baseURL, fetch: answering }).chat.completions.create(ASK);
  }
  const azure = { apiKey: 'x', apiVersion: '2024-10-21', fetch: answering };
  await new sdk.AzureOpenAI({ ...azure, endpoint: 'https://models.internal' }).chat.completions.create(ASK);
  assert.deepEqual(
    telemetry.spans.map(({ attributes }) => attributes['gen_ai.provider.name']),
    [...hosts.map(([, name]) => name), 'azure.ai.openai'],
  );
});

test('streamed tool calls of servers that number all alike, or none, are kept apart by their ids', async () => {
  const call = (id: string | undefined, args: string, index?: number, name?: string) => ({
    ...chunk(''),
    choices: [{ index: 0, delta: { tool_calls: [{ index, id, function: { name, arguments: args } }] } }],
  });
  for (const events of [
    [call('a', '{}', undefined, 'f'), call('b', '{}', undefined, 'f')],
    [call('a', '{}', 0, 'f'), call('b', '{}', 0, 'f')],
    [call('a', '{', 0, 'f'), call('a', '}', 0, 'f'), call('b', '{}', 1, 'f')],
    [call('a', '{', 1, 'f'), call(undefined, '}', 1), call('b', '{}', 1, 'f')],
    // An id of its own for each fragment.
    [call('a', '{', 0, 'f'), call('x', '}', 0), call('b', '{', 1, 'f'), call('y', '}', 1)],
  ]) {
    provider.answer({ events: sse([...events, '[DONE]']) });
    for await (const _ of await client.chat.completions.create({ ...ASK, stream: true }));
  }
  assert.deepEqual(
    telemetry.spans.map(({ attributes }) => attributes['observatory.tool_call_count']),
    [2, 2, 2, 2, 2],
  );
});

test('the usage of a stream is found where Groq and Moonshot put it', async () => {
  const usage = { prompt_tokens: 3, completion_tokens: 1 };
  const last = { ...chunk(''), choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
  const moonshot = { ...last, choices: [{ ...last.choices[0], usage }] };
  for (const piece of [{ ...last, x_groq: { id: 'r', usage } }, moonshot]) {
    provider.answer({ events: sse([chunk('a'), piece, '[DONE]']) });
    for await (const _ of await client.chat.completions.create({ ...ASK, stream: true }));
  }
  assert.deepEqual(
    telemetry.spans.map(({ attributes }) => attributes['gen_ai.usage.input_tokens']),
    [3, 3],
  );
});

test('an error in place of choices, under status 200, is an error on the span alone', async () => {
  const error = { code: 502, message: 'Upstream said: secret' };
  provider.answer({ body: { error } });
  const answer = await client.chat.completions.create(ASK);
  assert.deepEqual((answer as unknown as { error: object }).error, error);
  assert.equal(telemetry.only.attributes['error.type'], '502');
  assert.deepEqual(telemetry.only.status, { code: 2, message: '200 502' });
});

function chunk(content: string): object {
  return {
    id: 'chatcmpl-2',
    object: 'chat.completion.chunk',
    model: 'gpt-4o-mini-2024-07-18',
    choices: [{ index: 0, delta: { content }, finish_reason: null }],
  };
}
