// Runs with the others that hook the model SDKs: the hook of require() stays in the process.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, afterEach, before, test } from 'node:test';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import type { OpenAI } from 'openai';
import { OpenAIInstrumentation } from '../src/instrumentation/openai.ts';
import {
  DeferredEnrichment,
  Enricher,
  ObservatorySpanProcessor,
  type ObservatorySpanProcessorOptions,
} from '../src/processor/index.ts';
import { duringFile } from './support/model-hooks.ts';
import { type ProviderReply, ProviderServer, sse } from './support/provider-server.ts';

const instrumentation = duringFile(new OpenAIInstrumentation());
const sdk = createRequire(import.meta.url)('openai') as typeof import('openai');
let server: ProviderServer;
let client: OpenAI;

before(async () => {
  server = await ProviderServer.start();
  client = new sdk.OpenAI({ apiKey: 'sk-test', baseURL: `${server.url}/v1`, maxRetries: 0 });
});
afterEach(() => instrumentation.setConfig({}));
after(() => server[Symbol.asyncDispose]());

type Body = OpenAI.ChatCompletionCreateParamsNonStreaming;

const TOOL = { type: 'function' as const, function: { name: 'find', parameters: { type: 'object' } } };

function request(): Body {
  return {
    model: 'gpt-4o-mini',
    temperature: 0,
    stop: ['END'],
    tools: [TOOL],
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'Was invoice 92311 paid?' }] },
      {
        role: 'assistant',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'find', arguments: '{"id":92311}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: '{"status":"paid","on":"2026-02-10"}' },
    ],
  };
}

const ANSWER = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  model: 'gpt-4o-mini-2024-07-18',
  choices: [
    { index: 0, message: { role: 'assistant', content: 'Paid on 2026-02-10.' }, finish_reason: 'stop' },
  ],
  usage: { prompt_tokens: 40, completion_tokens: 9, total_tokens: 49 },
};

type Pipeline = (options: ObservatorySpanProcessorOptions, exporting: SpanProcessor) => SpanProcessor[];

/** Pipelines that enrich after a span's end, or as it ends, with the exporter after or before. */
const PIPELINES = {
  late: (options, exporting) => [new DeferredEnrichment(new Enricher(options), [exporting])],
  first: (options, exporting) => [exporting, new ObservatorySpanProcessor(options)],
  direct: (options, exporting) => [new ObservatorySpanProcessor(options), exporting],
} satisfies Record<string, Pipeline>;

/** The span of a call, in one of the pipelines. */
async function spanOf(pipeline: Pipeline, call: () => Promise<unknown>) {
  const memory = new InMemorySpanExporter();
  const exporting = new SimpleSpanProcessor(memory);
  const options: ObservatorySpanProcessorOptions = { contextTax: false, signals: { verifier: 'evidence' } };
  const provider = new NodeTracerProvider({ spanProcessors: pipeline(options, exporting) });
  instrumentation.setTracerProvider(provider);
  await call();
  await provider.forceFlush();
  const [span, ...others] = memory.getFinishedSpans();
  assert.equal(others.length, 0);
  return span as ReadableSpan;
}

function told({ name, attributes, status, events, ended }: ReadableSpan) {
  const { 'gen_ai.response.time_to_first_chunk': _, ...rest } = attributes;
  return {
    name,
    attributes: rest,
    status,
    events: events.map((event) => [event.name, event.attributes]),
    ended,
  };
}

/** What an agent does with its conversation right after an answer: it goes on, and clears what is old. */
function goOn(body: Body, answer: OpenAI.ChatCompletion): void {
  const [choice] = answer.choices;
  if (choice !== undefined) body.messages.push(choice.message);
  for (const message of body.messages) message.content = '[cleared]';
  body.messages.push({ role: 'user', content: 'And invoice 92312?' });
  body.temperature = 1;
}

async function complete(): Promise<void> {
  const body = request();
  const answer = await client.chat.completions.create(body);
  goOn(body, answer);
}

async function streamed(): Promise<void> {
  const body = request();
  const stream = await client.chat.completions.create({ ...body, stream: true });
  for await (const chunk of stream) chunk.choices.length = 0;
  body.messages.length = 0;
}

const CHUNKS = [
  {
    id: 'chatcmpl-2',
    model: ANSWER.model,
    choices: [{ index: 0, delta: { content: 'Paid' }, finish_reason: null }],
  },
  {
    id: 'chatcmpl-2',
    model: ANSWER.model,
    choices: [{ index: 0, delta: { content: '.' }, finish_reason: 'stop' }],
  },
];

const CASES: readonly (readonly [string, ProviderReply, () => Promise<unknown>])[] = [
  ['an answer', { body: ANSWER }, complete],
  ['a stream', { events: sse(CHUNKS) }, streamed],
  [
    'a refusal',
    { status: 429, body: { error: { message: 'slow', code: 'rate_limit' } } },
    () => complete().catch(() => {}),
  ],
  ['an error under status 200', { body: { error: { message: 'no', code: 502 }, choices: [] } }, complete],
];

for (const captureContent of [false, true]) {
  for (const [name, reply, call] of CASES) {
    test(`${name} is recorded the same when it is read after the call${captureContent ? ', with content' : ''}`, async () => {
      instrumentation.setConfig({ captureContent });
      server.answer(reply);
      const late = await spanOf(PIPELINES.late, call);
      const direct = await spanOf(PIPELINES.direct, call);
      assert.deepEqual(told(late), told(direct));
      assert.deepEqual(told(await spanOf(PIPELINES.first, call)), told(direct));
      assert.equal(late.attributes['gen_ai.request.temperature'], 0);
      assert.equal(late.attributes['gen_ai.request.stop_sequences'] !== undefined, captureContent);
      if (name === 'an answer') {
        assert.equal(late.attributes['observatory.evidence_risk_level'], 'low');
        assert.equal(String(late.attributes['gen_ai.input.messages']).includes('92311'), captureContent);
      }
    });
  }
}
