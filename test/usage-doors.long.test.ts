/** Every unit and mode that a price depends on, at every door that a usage comes through: the same tokens and cost. */
// Runs alone: it ends the instrumentations of model SDKs, which hook them once in a process, and sets a logger.
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { type Attributes, SpanKind } from '@opentelemetry/api';
import { InMemorySpanExporter, type ReadableSpan } from '@opentelemetry/sdk-trace-node';
import type { TraceRow } from '../src/base/index.ts';
import { instrument } from '../src/execution/index.ts';
import { BedrockInstrumentation } from '../src/instrumentation/bedrock.ts';
import { decodeJson, decodeProtobuf } from '../src/otlp/index.ts';
import { Enricher } from '../src/processor/index.ts';
import { type AnswerRow, answersWith, type ToldUsage } from './support/answer-rows.ts';
import { closeWays, openaiWith, spanDuring, spanOf, throughAdapter } from './support/answer-ways.ts';
import { encodeJson, encodeProtobuf, requestJson } from './support/otlp-encode.ts';
import { recordSpan } from './support/span-fixture.ts';
import { spanToRow } from './support/span-row.ts';

after(closeWays);

interface Case extends ToldUsage {
  readonly provider: string;
  readonly tokens: readonly [input: number, output: number];
  /** In millionths of a dollar; null where none is published, or not for this mode. */
  readonly cost: number | null;
}

const AUDIO = {
  prompt_tokens: 117,
  completion_tokens: 592,
  total_tokens: 709,
  prompt_tokens_details: { text_tokens: 17, audio_tokens: 100 },
  completion_tokens_details: { text_tokens: 110, audio_tokens: 482 },
};
const CACHED_AUDIO = {
  input_tokens: 1000,
  output_tokens: 10,
  total_tokens: 1010,
  input_token_details: {
    text_tokens: 300,
    audio_tokens: 700,
    cached_tokens: 600,
    cached_tokens_details: { text_tokens: 200, audio_tokens: 400 },
  },
};
const PLAIN = { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 };
const SONNET = { input_tokens: 1000, output_tokens: 100 };
const GEMINI = { promptTokenCount: 1000, candidatesTokenCount: 100, totalTokenCount: 1100 };

const openai = { provider: 'openai', api: 'chat.completions' } as const;
const responses = { provider: 'openai', api: 'responses' } as const;
const claude = { provider: 'anthropic', api: 'messages', model: 'claude-sonnet-4-5' } as const;
const gemini = { provider: 'gcp.gemini', api: 'generateContent', model: 'gemini-2.5-flash' } as const;

const CASES: Readonly<Record<string, Case>> = {
  'audio in and out': {
    ...openai,
    model: 'gpt-audio',
    usage: AUDIO,
    tokens: [117, 592],
    cost: 17 * 2.5 + 100 * 32 + 110 * 10 + 482 * 64,
  },
  'cached audio': {
    ...responses,
    model: 'gpt-realtime',
    usage: CACHED_AUDIO,
    tokens: [1000, 10],
    cost: 100 * 4 + 300 * 32 + 600 * 0.4 + 10 * 16,
  },
  'audio in (Gemini)': {
    ...gemini,
    usage: {
      ...GEMINI,
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: 20 },
        { modality: 'AUDIO', tokenCount: 980 },
      ],
    },
    tokens: [1000, 100],
    cost: 20 * 0.3 + 980 + 100 * 2.5,
  },
  'cached audio (Gemini)': {
    ...gemini,
    usage: {
      ...GEMINI,
      cachedContentTokenCount: 500,
      promptTokensDetails: [{ modality: 'AUDIO', tokenCount: 980 }],
      cacheTokensDetails: [{ modality: 'AUDIO', tokenCount: 500 }],
    },
    tokens: [1000, 100],
    cost: 20 * 0.3 + 480 + 500 * 0.1 + 100 * 2.5,
  },
  'images out': {
    ...gemini,
    model: 'gemini-2.5-flash-image',
    usage: {
      promptTokenCount: 10,
      candidatesTokenCount: 1290,
      totalTokenCount: 1300,
      candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1290 }],
    },
    tokens: [10, 1290],
    cost: 10 * 0.3 + 1290 * 30,
  },
  'reasoning outside the output': {
    ...openai,
    model: 'o4-mini',
    usage: { ...PLAIN, total_tokens: 1600, completion_tokens_details: { reasoning_tokens: 500 } },
    tokens: [1000, 600],
    cost: 1000 * 1.1 + 600 * 4.4,
  },
  'thoughts (Gemini)': {
    ...gemini,
    usage: { ...GEMINI, thoughtsTokenCount: 500, totalTokenCount: 1600 },
    tokens: [1000, 600],
    cost: 300 + 600 * 2.5,
  },
  'searches of the web': {
    ...claude,
    usage: { ...SONNET, server_tool_use: { web_search_requests: 3 } },
    tokens: [1000, 100],
    cost: 3000 + 1500 + 30_000,
  },
  'cache writes for five minutes and an hour': {
    ...claude,
    usage: {
      ...SONNET,
      cache_read_input_tokens: 200,
      cache_creation_input_tokens: 300,
      cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 },
    },
    tokens: [1500, 100],
    cost: 3000 + 60 + 375 + 1200 + 1500,
  },
  'speed fast': {
    ...claude,
    model: 'claude-opus-4-6',
    usage: { ...SONNET, speed: 'fast' },
    tokens: [1000, 100],
    cost: null,
  },
  'one place': {
    ...claude,
    usage: { ...SONNET, inference_geo: 'us' },
    tokens: [1000, 100],
    cost: 4500 * 1.1,
  },
  'batch (Anthropic)': {
    ...claude,
    usage: { ...SONNET, service_tier: 'batch' },
    tokens: [1000, 100],
    cost: 2250,
  },
  'priority (Anthropic)': {
    ...claude,
    usage: { ...SONNET, service_tier: 'priority' },
    tokens: [1000, 100],
    cost: null,
  },
  flex: {
    ...openai,
    model: 'gpt-5-nano',
    usage: PLAIN,
    more: { service_tier: 'flex' },
    tokens: [1000, 100],
    cost: (50 + 40) / 2,
  },
  priority: {
    ...responses,
    model: 'gpt-4o',
    usage: SONNET,
    more: { service_tier: 'priority' },
    tokens: [1000, 100],
    cost: null,
  },
  'flex (Vertex AI)': {
    ...gemini,
    usage: { ...GEMINI, trafficType: 'ON_DEMAND_FLEX' },
    tokens: [1000, 100],
    cost: (300 + 250) / 2,
  },
  'provisioned throughput': {
    ...gemini,
    usage: { ...GEMINI, trafficType: 'PROVISIONED_THROUGHPUT' },
    tokens: [1000, 100],
    cost: null,
  },
};

const CHAT = { 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai' };
const CLAUDE = { ...CHAT, 'gen_ai.provider.name': 'anthropic', 'gen_ai.request.model': claude.model };

const round = (usd: unknown) => (typeof usd === 'number' ? Number(usd.toFixed(12)) : usd);

interface Read {
  readonly tokens: readonly [unknown, unknown];
  readonly cost: unknown;
}

const readRow = (span: ReadableSpan): Read => {
  const { prompt_tokens: input, completion_tokens: output, cost_usd: cost } = spanToRow(span);
  return { tokens: [input, output], cost: round(cost) };
};

/** A span as it is stored after it came over OTLP. */
function receive(span: ReadableSpan, form: 'json' | 'protobuf'): ReadableSpan {
  const { spans } =
    form === 'json'
      ? decodeJson(encodeJson([span]), 10)
      : decodeProtobuf(encodeProtobuf(requestJson([span])), 10);
  const [received] = spans;
  assert.ok(received);
  const enricher = new Enricher({ meterProvider: false });
  enricher.expectReceived(received);
  enricher.enrichReceived(received);
  return received;
}

/** A span as another instrumentation may write it. */
const foreign = ({ provider, model, more }: Case, usage: Attributes): ReadableSpan =>
  recordSpan({
    kind: SpanKind.CLIENT,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': provider,
      'gen_ai.request.model': model,
      ...(more?.service_tier && { [`${provider}.response.service_tier`]: more.service_tier }),
      ...usage,
    },
  });

function flatten(usage: object, path: string): Attributes {
  return Object.fromEntries(
    Object.entries(usage).flatMap(([name, value]) =>
      typeof value === 'object'
        ? Object.entries(flatten(value, `${path}.${name}`))
        : [[`${path}.${name}`, value]],
    ),
  );
}

const record = ({ provider, model, usage }: Case, response: unknown): Promise<Read> =>
  recordCall({ provider, model, ...(response === undefined ? { response: 'ok', usage } : { response }) });

async function recordCall(call: { provider: string; model: string; response: unknown }): Promise<Read> {
  const exporter = new InMemorySpanExporter();
  const recorder = instrument({ serviceName: 'test', exporter });
  await recorder.recordModelCall({ prompt: 'hello', ...call });
  await recorder.forceFlush();
  const [span] = exporter.getFinishedSpans();
  await recorder.shutdown();
  return readRow(span as ReadableSpan);
}

/** Doors by name; undefined where a case has no such door. */
const DOORS: Readonly<Record<string, (one: Case, rows: readonly AnswerRow[]) => Promise<Read | undefined>>> =
  {
    whole: async (_, [row]) => readRow(await spanOf(row as AnswerRow)),
    stream: async (_, [, row]) => readRow(await spanOf(row as AnswerRow)),
    'the orchestrator': async (_, [row]) => adapted(row as AnswerRow),
    'the orchestrator, streamed': async (_, [, row]) => adapted(row as AnswerRow),
    'recordModelCall with the answer': async (one, [row]) => record(one, row?.response.body),
    'recordModelCall with the usage': async (one) =>
      one.more === undefined ? record(one, undefined) : undefined,
    'ours in JSON': async (_, [row]) => readRow(receive(await spanOf(row as AnswerRow), 'json')),
    'ours in protobuf': async (_, [row]) => readRow(receive(await spanOf(row as AnswerRow), 'protobuf')),
    'usage as JSON text, in JSON': async (one) =>
      readRow(receive(foreign(one, { 'llm.usage': JSON.stringify(one.usage) }), 'json')),
    'usage as JSON text, in protobuf': async (one) =>
      readRow(receive(foreign(one, { 'llm.usage': JSON.stringify(one.usage) }), 'protobuf')),
    // Input that leaves out cached tokens is that of usage objects: attributes have the names of the conventions.
    'usage as attributes': async (one) =>
      one.api === 'generateContent' || 'cache_read_input_tokens' in one.usage
        ? undefined
        : readRow(receive(foreign(one, flatten(one.usage, 'gen_ai.usage')), 'json')),
  };

async function adapted(row: AnswerRow): Promise<Read> {
  const { usage, costUsd = null } = await throughAdapter(row);
  return { tokens: [usage?.inputTokens, usage?.outputTokens], cost: round(costUsd) };
}

describe('the units and modes of a usage', () => {
  for (const [door, read] of Object.entries(DOORS)) {
    test(`through: ${door}`, async () => {
      const wrong: string[] = [];
      for (const [name, one] of Object.entries(CASES)) {
        const got = await read(one, answersWith(name, one));
        if (got === undefined) continue;
        const right = JSON.stringify({ tokens: one.tokens, cost: one.cost && round(one.cost / 1e6) });
        const text = JSON.stringify(got);
        if (text !== right) wrong.push(`${name}: ${text}, right is ${right}`);
      }
      assert.deepEqual(wrong, []);
    });
  }
});

/** A call of media, or of a command of Bedrock, whose answer is `response`, whole or in a stream. */
interface Made {
  readonly provider: string;
  readonly model: string;
  readonly response: unknown;
  readonly call: () => Promise<unknown>;
  readonly tokens: readonly [input: number | null, output: number | null];
  readonly cost: number | null;
}

const wav = () => new File([new Uint8Array(8)], 'a.wav', { type: 'audio/wav' });
const transcript = {
  text: 'hello',
  usage: {
    type: 'tokens',
    input_tokens: 29,
    input_token_details: { text_tokens: 1, audio_tokens: 28 },
    output_tokens: 14,
    total_tokens: 43,
  },
};
const painted = (input: number, images: number, output: number) => ({
  created: 1,
  data: [{ b64_json: 'aGk=' }],
  usage: {
    input_tokens: input + images,
    input_tokens_details: { text_tokens: input, image_tokens: images },
    output_tokens: output,
    total_tokens: input + images + output,
  },
});

function images(model: string, response: ReturnType<typeof painted>, cost: number): Made[] {
  const { usage } = response;
  const tokens = [usage.input_tokens, usage.output_tokens] as const;
  const streamed = [
    { type: 'image_generation.partial_image', b64_json: 'aA==', partial_image_index: 0 },
    { type: 'image_generation.completed', b64_json: 'aGk=', usage },
  ];
  const one = { provider: 'openai', model, response, tokens, cost };
  const prompt = 'a cat';
  return [
    { ...one, call: () => openaiWith(response).images.generate({ model, prompt }) },
    { ...one, call: () => openaiWith(response).images.edit({ model, prompt, image: wav() }) },
    { ...one, call: () => openaiWith(streamed).images.generate({ model, prompt, stream: true }) },
  ];
}

function transcribed(model: string, response: typeof transcript, tokens: Made['tokens'], cost: Made['cost']) {
  const one = { provider: 'openai', model, response, tokens, cost };
  const streamed = [
    { type: 'transcript.text.delta', delta: 'hello' },
    { type: 'transcript.text.done', ...response },
  ];
  const create = (answer: object, stream: boolean) => () =>
    openaiWith(answer).audio.transcriptions.create({ model, file: wav(), stream: stream as false });
  return [
    { ...one, call: create(response, false) },
    { ...one, call: create(streamed, true) },
  ];
}

/** As the module of AWS has it: what is observed is `send`, of commands that are known by their names. */
const AWS = {
  BedrockRuntimeClient: class {
    async send({ output }: { readonly output: object }): Promise<object> {
      return { $metadata: { httpStatusCode: 200, attempts: 1 }, ...output };
    }
  },
};
class Command {
  readonly input: object;
  readonly output: object;
  constructor(input: object, output: object) {
    this.input = input;
    this.output = output;
  }
}
const COMMANDS = {
  converse: class ConverseCommand extends Command {},
  converseStream: class ConverseStreamCommand extends Command {},
  invoke: class InvokeModelCommand extends Command {},
  invokeStream: class InvokeModelWithResponseStreamCommand extends Command {},
};
const bedrock = new BedrockInstrumentation();
bedrock.manuallyInstrument(AWS);
after(() => bedrock.disable());

async function* eventsOf(events: readonly object[]): AsyncGenerator<object> {
  yield* events;
}
const bytes = (value: object) => Buffer.from(JSON.stringify(value));

function sent(command: keyof typeof COMMANDS, modelId: string, output: () => object) {
  return async () => {
    const input = {
      modelId,
      messages: [{ role: 'user', content: [{ text: 'hi' }] }],
      body: '{"messages":[]}',
    };
    const answered = await new AWS.BedrockRuntimeClient().send(new COMMANDS[command](input, output()));
    return Object.values(answered).find((value) => Symbol.asyncIterator in Object(value)) ?? answered;
  };
}

/** @param usage in the words of Converse, and its counts without those of the cache. */
function conversed(model: string, usage: object, more: object, tokens: Made['tokens'], cost: Made['cost']) {
  const message = { role: 'assistant', content: [{ text: 'ok' }] };
  const response = { output: { message }, stopReason: 'end_turn', usage, ...more };
  const streamed = () => ({
    stream: eventsOf([
      { messageStart: { role: 'assistant' } },
      { contentBlockDelta: { contentBlockIndex: 0, delta: { text: 'ok' } } },
      { messageStop: { stopReason: 'end_turn' } },
      { metadata: { usage, ...more } },
    ]),
  });
  const one = { provider: 'aws.bedrock', model, response, tokens, cost };
  return [
    { ...one, call: sent('converse', model, () => response) },
    { ...one, call: sent('converseStream', model, streamed) },
  ];
}

/** Claude by `InvokeModel`, in the words of Anthropic. */
function invoked(model: string, usage: object, tokens: Made['tokens'], cost: Made['cost']): Made[] {
  const content = [{ type: 'text', text: 'ok' }];
  const answer = {
    id: 'id-1',
    type: 'message',
    role: 'assistant',
    model: 'claude',
    content,
    stop_reason: 'end_turn',
  };
  const events = [
    {
      type: 'message_start',
      message: { ...answer, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'ok' } },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
    {
      type: 'message_stop',
      'amazon-bedrock-invocationMetrics': { inputTokenCount: 10, outputTokenCount: 100 },
    },
  ];
  const one = { provider: 'aws.bedrock', model, response: { ...answer, usage }, tokens, cost };
  const streamed = () => ({ body: eventsOf(events.map((event) => ({ chunk: { bytes: bytes(event) } }))) });
  return [
    { ...one, call: sent('invoke', model, () => ({ body: bytes(one.response) })) },
    { ...one, call: sent('invokeStream', model, streamed) },
  ];
}

const ON_BEDROCK = 'us.anthropic.claude-sonnet-4-20250514-v1:0';
const CACHING = {
  inputTokens: 10,
  outputTokens: 100,
  cacheReadInputTokens: 2000,
  cacheWriteInputTokens: 300,
};
const LUNA = {
  inputTokens: 151_411,
  outputTokens: 639,
  cacheReadInputTokens: 132_976,
  cacheWriteInputTokens: 18_433,
};

const MADE: Readonly<Record<string, readonly Made[]>> = {
  'images of which the usage does not tell': images(
    'gpt-image-1.5',
    painted(23, 0, 1056),
    23 * 5 + 1056 * 32,
  ),
  'images from an image': images('gpt-image-1', painted(20, 323, 1056), 20 * 5 + 323 * 10 + 1056 * 40),
  'images at the one price of output': images('gpt-image-2', painted(22, 0, 1372), 22 * 5 + 1372 * 30),
  'a transcript by tokens': transcribed('gpt-4o-transcribe', transcript, [29, 14], 28 * 6 + 2.5 + 140),
  'a transcript by seconds': transcribed(
    'whisper-1',
    { text: 'hello', usage: { type: 'duration', seconds: 11 } } as never,
    [null, null],
    1100,
  ),
  Converse: conversed(
    ON_BEDROCK,
    { inputTokens: 1000, outputTokens: 100, totalTokens: 1100 },
    {},
    [1000, 100],
    4500,
  ),
  'Converse with a cache': conversed(
    ON_BEDROCK,
    { ...CACHING, totalTokens: 2410 },
    {},
    [2310, 100],
    30 + 600 + 1125 + 1500,
  ),
  'Converse with more input than cache': conversed(
    ON_BEDROCK,
    { ...CACHING, inputTokens: 5000, totalTokens: 7400 },
    {},
    [7300, 100],
    15_000 + 600 + 1125 + 1500,
  ),
  'Converse of a model whose input has the cache in it': conversed(
    'us.openai.gpt-5.6-luna',
    { ...LUNA, totalTokens: 152_050 },
    {},
    [151_411, 639],
    2 * 0.22 + 132_976 * 0.022 + 18_433 * 0.275 + 639 * 1.32,
  ),
  'Converse at another latency': conversed(
    ON_BEDROCK,
    { inputTokens: 1000, outputTokens: 100, totalTokens: 1100 },
    { performanceConfig: { latency: 'optimized' } },
    [1000, 100],
    null,
  ),
  'InvokeModel with a cache': invoked(
    ON_BEDROCK,
    { input_tokens: 10, output_tokens: 100, cache_read_input_tokens: 2000, cache_creation_input_tokens: 300 },
    [2310, 100],
    30 + 600 + 1125 + 1500,
  ),
};

describe('media and Bedrock', () => {
  for (const [name, forms] of Object.entries(MADE)) {
    test(name, async () => {
      const wrong: string[] = [];
      for (const { provider, model, response, call, tokens, cost } of forms) {
        const right = JSON.stringify({ tokens, cost: cost && round(cost / 1e6) });
        const span = await spanDuring(call);
        const read = {
          'the SDK': readRow(span),
          'ours in JSON': readRow(receive(span, 'json')),
          'ours in protobuf': readRow(receive(span, 'protobuf')),
          // Without a count its text is estimated.
          ...(tokens[0] !== null && { recordModelCall: await recordCall({ provider, model, response }) }),
        };
        for (const [door, got] of Object.entries(read)) {
          if (JSON.stringify(got) !== right) wrong.push(`${door}: ${JSON.stringify(got)}, right is ${right}`);
        }
      }
      assert.deepEqual(wrong, []);
    });
  }
});

const MLFLOW = {
  'mlflow.spanType': '"CHAT_MODEL"',
  'mlflow.llm.model': '"claude-sonnet-4-5"',
  'mlflow.llm.provider': '"anthropic"',
};
const MIXED = '{"input_tokens":1400,"output_tokens":40,"total_tokens":1440,"cache_read_input_tokens":400}';
const NET = { input_tokens: 1000, output_tokens: 40, cache_read_input_tokens: 400 };
const GROSS = {
  prompt_tokens: 1400,
  completion_tokens: 40,
  total_tokens: 1440,
  prompt_tokens_details: { cached_tokens: 400 },
  cache_read_input_tokens: 400,
};
const ON_AWS = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.system': 'aws.bedrock',
  'gen_ai.request.model': 'global.anthropic.claude-sonnet-4-5-20250929-v1:0',
  'gen_ai.usage.input_tokens': 1000,
  'gen_ai.usage.output_tokens': 40,
};
const NET_CLAUDE = { ...CLAUDE, 'gen_ai.usage.input_tokens': 1000, 'gen_ai.usage.output_tokens': 40 };
const TWO_THOUSAND = {
  ...CHAT,
  'gen_ai.request.model': 'gpt-4o',
  'gen_ai.usage.input_tokens': 2000,
  'gen_ai.usage.output_tokens': 40,
};
const DEEPSEEK = {
  'gen_ai.provider.name': 'deepseek',
  'gen_ai.request.model': 'deepseek-chat',
  'gen_ai.usage.input_tokens': 200,
};
const MLFLOW_ON_AWS = {
  'mlflow.spanType': '"CHAT_MODEL"',
  'mlflow.llm.model': '"us.anthropic.claude-sonnet-4-5-20250929-v1:0"',
  'mlflow.llm.provider': '"bedrock"',
};
const VERTEX = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.system': 'vertex_ai',
  'gen_ai.request.model': 'gemini-2.5-flash',
  'gen_ai.usage.input_tokens': 200,
  'gen_ai.usage.output_tokens': 40,
};
const INTERACTION = {
  'openinference.span.kind': 'LLM',
  'llm.provider': 'google',
  'llm.model_name': 'gemini-2.5-flash',
  'llm.token_count.prompt': 1433,
  'llm.token_count.completion': 73,
  'llm.token_count.total': 1506,
  'llm.token_count.prompt_details.cache_read': 400,
};
const { 'llm.token_count.prompt_details.cache_read': _, ...UNCACHED } = INTERACTION;
const OF_OPENAI = { ...UNCACHED, 'llm.provider': 'openai', 'llm.model_name': 'gpt-4.1-2025-04-14' };
/** A whole answer of OpenAI, as OpenInference keeps it. */
const inAnswer = (answer: object) => ({ ...OF_OPENAI, 'output.value': JSON.stringify(answer) });
const IN_FLEX = { choices: [{ message: { role: 'assistant', content: 'Yes.' } }], service_tier: 'flex' };
const ASKED_FOR_PRIORITY = { 'llm.invocation_parameters': '{"service_tier": "priority"}' };
const OF_GEMINI = { scope: 'openinference.instrumentation.google_genai' };
const AGNO = { ...INTERACTION, 'llm.provider': 'Anthropic', 'llm.model_name': 'claude-sonnet-4-5' };
const OF_AGNO = { scope: 'openinference.instrumentation.agno' };
const AWS_SPAN = { ...ON_AWS, 'rpc.system': 'aws-api' };

/** The schema of a minor version of the semantic conventions. */
const toSchema = (minor: number) => `https://opentelemetry.io/schemas/1.${minor}.0`;

/** Usage as public reports have it, with what is right. */
const REPORTED: Readonly<
  Record<
    string,
    readonly [
      attributes: Attributes,
      right: Partial<TraceRow>,
      by?: { scope: string; version?: string; schemaUrl?: string; name?: string; limit?: number },
    ]
  >
> = {
  'what was read is in the input, what was written is not (LiteLLM)': [
    {
      ...CLAUDE,
      usage: JSON.stringify({
        prompt_tokens: 120_357,
        completion_tokens: 4156,
        total_tokens: 124_513,
        prompt_tokens_details: { cached_tokens: 120_269 },
        cache_creation_input_tokens: 21_002,
      }),
    },
    { prompt_tokens: 141_359, cost_usd: 0.1774422 },
  ],
  'a zero beside the count (LiteLLM)': [
    {
      ...CLAUDE,
      usage: JSON.stringify({
        prompt_tokens: 2459,
        completion_tokens: 23,
        total_tokens: 2482,
        prompt_tokens_details: { cached_tokens: 0 },
        cache_read_input_tokens: 2455,
      }),
    },
    { prompt_tokens: 2459, cached_prompt_tokens: 2455, cost_usd: 0.0010935 },
  ],
  'a zero for writes that are told by their lifetime (LangChain)': [
    {
      ...CLAUDE,
      'langsmith.usage_metadata': JSON.stringify({
        input_tokens: 19,
        output_tokens: 50,
        total_tokens: 69,
        input_token_details: { cache_read: 30_000, cache_creation: 0, ephemeral_1hr_input_tokens: 9000 },
      }),
    },
    { prompt_tokens: 39_019, cache_write_tokens: 9000, cost_usd: 0.063807 },
  ],
  'audio under names of its own (LiveKit)': [
    {
      ...CHAT,
      'gen_ai.request.model': 'gpt-realtime',
      'gen_ai.usage.input_tokens': 1500,
      'gen_ai.usage.output_tokens': 220,
      'gen_ai.usage.input_audio_tokens': 800,
      'gen_ai.usage.output_audio_tokens': 150,
    },
    { prompt_tokens: 1500, cost_usd: 0.03912 },
  ],
  'a cost as an object (Langfuse)': [
    {
      'langfuse.observation.type': 'generation',
      'langfuse.observation.model.name': 'gpt-4o',
      'langfuse.observation.usage_details': '{"input":10,"output":5}',
      'langfuse.observation.cost_details': '{"input":0.01,"output":0.0023}',
    },
    { prompt_tokens: 10, cost_usd: 0.0123, cost_source: 'instrumentation' },
  ],
  'a cost as an object with a total (MLflow)': [
    {
      'mlflow.spanType': '"LLM"',
      'mlflow.chat.tokenUsage': '{"input_tokens":10,"output_tokens":4,"total_tokens":14}',
      'mlflow.llm.cost': '{"input_cost":0.001,"output_cost":0.002,"total_cost":0.003}',
    },
    { prompt_tokens: 10, cost_usd: 0.003 },
  ],
  'usage and model under plain names (MLflow, agents of OpenAI)': [
    {
      'mlflow.spanType': '"CHAT_MODEL"',
      model: '"gpt-4o"',
      usage: '{"input_tokens":120,"output_tokens":30}',
    },
    { prompt_tokens: 120, cost_usd: 0.0006 },
  ],
  'the answer as JSON (Agent Development Kit 1)': [
    {
      ...CHAT,
      'gen_ai.provider.name': 'gcp.gemini',
      'gen_ai.request.model': 'gemini-2.5-flash',
      'gen_ai.usage.input_tokens': 1000,
      'gen_ai.usage.output_tokens': 200,
      'gcp.vertex.agent.llm_response': JSON.stringify({
        content: { parts: [{ text: 'hi' }] },
        usage_metadata: {
          prompt_token_count: 1000,
          candidates_token_count: 200,
          cached_content_token_count: 800,
          total_token_count: 1200,
          traffic_type: 'PROVISIONED_THROUGHPUT',
        },
      }),
    },
    { cached_prompt_tokens: 800, cost_usd: null, cost_source: 'unpriced: traffic provisioned_throughput' },
  ],
  'counts of the response (Microsoft.Extensions.AI)': [
    {
      ...CHAT,
      'gen_ai.request.model': 'gpt-4o',
      'gen_ai.response.input_tokens': 100,
      'gen_ai.response.output_tokens': 20,
    },
    { prompt_tokens: 100, cost_usd: 0.00045 },
  ],
  'counts in the case of .NET (OpenAI)': [
    {
      ...CHAT,
      'gen_ai.request.model': 'gpt-4o',
      usage: JSON.stringify({
        OutputTokenCount: 300,
        InputTokenCount: 2006,
        TotalTokenCount: 2306,
        OutputTokenDetails: { ReasoningTokenCount: 0, AudioTokenCount: 0 },
        InputTokenDetails: { AudioTokenCount: 0, CachedTokenCount: 1920 },
      }),
    },
    { prompt_tokens: 2006, cached_prompt_tokens: 1920, cost_usd: 0.005615 },
  ],
  'additional counts in the case of .NET (Microsoft.Extensions.AI)': [
    {
      ...CHAT,
      'gen_ai.request.model': 'gpt-4o-mini',
      usage: JSON.stringify({
        InputTokenCount: 2593,
        OutputTokenCount: 1,
        TotalTokenCount: 2594,
        AdditionalCounts: { 'InputTokenDetails.CachedTokenCount': 2560 },
      }),
    },
    { prompt_tokens: 2593, cached_prompt_tokens: 2560, cost_usd: 0.00019755 },
  ],
  'zeros for what was not counted (Spring AI, streams)': [
    {
      ...CHAT,
      'gen_ai.request.model': 'gpt-4o',
      'gen_ai.usage.input_tokens': 0,
      'gen_ai.usage.output_tokens': 0,
      'gen_ai.usage.total_tokens': 0,
    },
    { prompt_tokens: null, completion_tokens: null, cost_usd: null },
  ],
  'a zero for input that was not counted (LangChain, streams)': [
    { ...CLAUDE, 'gen_ai.usage.input_tokens': 0, 'gen_ai.usage.output_tokens': 29 },
    { prompt_tokens: null, completion_tokens: 29, cost_usd: null, cost_source: 'unpriced: tokens' },
  ],
  'what is billed, beside cached tokens of all (Cohere)': [
    {
      ...CHAT,
      'gen_ai.provider.name': 'cohere',
      'gen_ai.request.model': 'command-a-03-2025',
      usage: JSON.stringify({
        billed_units: { input_tokens: 431, output_tokens: 24 },
        tokens: { input_tokens: 2190, output_tokens: 31 },
        cached_tokens: 448,
      }),
    },
    { prompt_tokens: 431, cost_usd: 0.0013175 },
  ],
  'a net input beside a usage that has it all (LiveKit, Bedrock)': [
    {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': ON_BEDROCK,
      'gen_ai.usage.input_tokens': 10,
      'gen_ai.usage.output_tokens': 90,
      'lk.llm_metrics': JSON.stringify({
        completion_tokens: 90,
        prompt_tokens: 10,
        prompt_cached_tokens: 6000,
        total_tokens: 6100,
      }),
    },
    { prompt_tokens: 6010, cached_prompt_tokens: 6000, cost_usd: 0.00318 },
  ],
  'cached tokens at a tenth (Mistral)': [
    {
      ...CHAT,
      'gen_ai.provider.name': 'mistral_ai',
      'gen_ai.request.model': 'mistral-small-latest',
      usage: JSON.stringify({
        prompt_tokens: 801,
        completion_tokens: 2,
        total_tokens: 803,
        prompt_token_details: { cached_tokens: 768 },
      }),
    },
    { cached_prompt_tokens: 768, cost_usd: 0.00001158 },
  ],
  'audio that no count tells of': [
    {
      ...CHAT,
      'gen_ai.request.model': 'gpt-audio',
      'gen_ai.usage.input_tokens': 117,
      'gen_ai.usage.output_tokens': 592,
    },
    { prompt_tokens: 117, cost_usd: null, cost_source: 'unpriced: output_audio' },
  ],
  'a cost in two attributes (OpenInference)': [
    {
      'openinference.span.kind': 'LLM',
      'llm.model_name': 'my-own-model',
      'llm.token_count.prompt': 100,
      'llm.token_count.completion': 50,
      'llm.cost.prompt': 0.001,
      'llm.cost.completion': 0.0021,
    },
    { prompt_tokens: 100, cost_usd: 0.0031, cost_source: 'instrumentation' },
  ],
  'half of a cost in two attributes': [
    {
      'openinference.span.kind': 'LLM',
      'llm.model_name': 'my-own-model',
      'llm.token_count.prompt': 100,
      'llm.token_count.completion': 50,
      'llm.cost.prompt': 0.001,
    },
    { prompt_tokens: 100, cost_usd: null },
  ],
  'a cost as an object of two parts (MLflow)': [
    {
      'mlflow.spanType': '"LLM"',
      'mlflow.chat.tokenUsage': '{"input_tokens":10,"output_tokens":4,"total_tokens":14}',
      'mlflow.llm.cost': '{"input_cost":0.001,"output_cost":0.002}',
    },
    { prompt_tokens: 10, cost_usd: 0.003 },
  ],
  'a cost by the words of its name': [
    { ...CHAT, 'gen_ai.request.model': 'mine', 'gen_ai.usage.input_tokens': 10, 'gen_ai.cost.usd': 0.0042 },
    { prompt_tokens: 10, cost_usd: 0.0042, cost_source: 'instrumentation' },
  ],
  'a cost in two attributes by their words (Laminar)': [
    {
      ...CHAT,
      'gen_ai.request.model': 'mine',
      'gen_ai.usage.input_tokens': 10,
      'gen_ai.usage.input_cost': 0.001,
      'gen_ai.usage.output_cost': 0.002,
    },
    { prompt_tokens: 10, cost_usd: 0.003 },
  ],
  'audio beside the text (Langfuse)': [
    {
      'langfuse.observation.type': 'generation',
      'langfuse.observation.model.name': 'gpt-audio',
      'langfuse.observation.usage_details':
        '{"input":17,"output":110,"total":709,"input_audio_tokens":100,"output_audio_tokens":482}',
    },
    { prompt_tokens: 117, completion_tokens: 592, cost_usd: 0.0351905 },
  ],
  "the provider's own answer in that of a framework (Genkit)": [
    {
      'genkit:metadata:subtype': 'model',
      'genkit:name': 'googleai/gemini-2.5-flash',
      'genkit:output':
        '{"usage":{"inputTokens":13,"outputTokens":70},"custom":{"usageMetadata":{"promptTokenCount":13,"candidatesTokenCount":70,"thoughtsTokenCount":1100,"totalTokenCount":1183}}}',
    },
    { prompt_tokens: 13, completion_tokens: 1170, cost_usd: 0.0029289 },
  ],
  'what AI SDK 5 does not tell of a cache': [
    {
      'ai.operationId': 'ai.generateText.doGenerate',
      'ai.model.provider': 'openai.chat',
      'ai.model.id': 'gpt-4o',
      'ai.response.providerMetadata': '{"openai":{}}',
      'ai.usage.promptTokens': 2000,
      'ai.usage.completionTokens': 41,
    },
    { prompt_tokens: 2000, cost_usd: null, cost_source: 'unpriced: cache untold' },
  ],
  "a provider's own answer beside the usage, whose input has the cache in it (MLflow 3.17)": [
    { ...MLFLOW, 'mlflow.chat.tokenUsage': MIXED, 'mlflow.spanOutputs': JSON.stringify({ usage: NET }) },
    { prompt_tokens: 1400, cached_prompt_tokens: 400, cost_usd: 0.00372 },
  ],
  'an answer of LiteLLM beside the usage (MLflow)': [
    { ...MLFLOW, 'mlflow.chat.tokenUsage': MIXED, 'mlflow.spanOutputs': JSON.stringify({ usage: GROSS }) },
    { prompt_tokens: 1400, cached_prompt_tokens: 400, cost_usd: 0.00372 },
  ],
  'usage whose input may have the cache in it (MLflow)': [
    { ...MLFLOW, 'mlflow.chat.tokenUsage': MIXED },
    { prompt_tokens: 1400, tokens_disagree: true, cost_usd: null, cost_source: 'unpriced: tokens_disagree' },
  ],
  'usage whose input is less than the cache (MLflow)': [
    {
      ...MLFLOW,
      'mlflow.chat.tokenUsage':
        '{"input_tokens":10,"output_tokens":40,"total_tokens":50,"cache_read_input_tokens":400}',
    },
    { prompt_tokens: 410, cached_prompt_tokens: 400, cost_usd: 0.00075 },
  ],
  'a net input beside what was read from the cache (Traceloop, Bedrock)': [
    { ...ON_AWS, 'gen_ai.usage.total_tokens': 1040, 'gen_ai.usage.cache_read.input_tokens': 400 },
    { prompt_tokens: 1400, cached_prompt_tokens: 400, cost_usd: 0.00372 },
    { scope: 'opentelemetry.instrumentation.bedrock' },
  ],
  'what an instrumentation never tells of a cache (Semantic Kernel)': [
    {
      ...CHAT,
      'gen_ai.request.model': 'gpt-4o',
      'gen_ai.usage.input_tokens': 2000,
      'gen_ai.usage.output_tokens': 40,
    },
    { prompt_tokens: 2000, cost_usd: null, cost_source: 'unpriced: cache untold' },
    { scope: 'semantic_kernel.utils.telemetry.model_diagnostics.decorators' },
  ],
  'thoughts beside the candidates (Agent Development Kit up to 2.2)': [
    { ...VERTEX, 'gen_ai.usage.experimental.reasoning_tokens': 10 },
    { completion_tokens: 50, reasoning_tokens: 10, cost_usd: 0.000185 },
  ],
  'what tools of the provider read, in the input of some and beside that of others': [
    { ...VERTEX, 'gen_ai.usage.tool_use_prompt_tokens': 300 },
    { prompt_tokens: 200, cost_usd: null, cost_source: 'unpriced: tool use untold' },
  ],
  'the tier in the answer of the provider (OpenInference)': [
    inAnswer(IN_FLEX),
    { prompt_tokens: 1433, cost_usd: 0.001725 },
  ],
  'the tier in what LangChain makes of an answer, which has no published factor': [
    inAnswer({ generations: [[{ message: { response_metadata: { service_tier: 'priority' } } }]] }),
    { cost_usd: null, cost_source: 'unpriced: tier priority' },
  ],
  'the tier that was asked for': [
    { ...OF_OPENAI, ...ASKED_FOR_PRIORITY },
    { cost_usd: null, cost_source: 'unpriced: tier priority' },
  ],
  'the tier that served, of another that was asked for': [
    { ...inAnswer({ ...IN_FLEX, service_tier: 'default' }), ...ASKED_FOR_PRIORITY },
    { cost_usd: 0.00345, cost_source: 'genai-prices' },
  ],
  'a text that speaks of a tier': [
    inAnswer({ choices: [{ message: { role: 'assistant', content: 'Set {"service_tier": "flex"}.' } }] }),
    { cost_usd: 0.00345, cost_source: 'genai-prices' },
  ],
  'searches in the answer, which its usage does not count': [
    inAnswer({
      object: 'response',
      output: [
        { type: 'web_search_call', action: { type: 'search', query: 'rain' } },
        { type: 'web_search_call', action: { type: 'open_page', url: 'https://example.com' } },
      ],
      usage: { input_tokens: 1433, output_tokens: 73 },
    }),
    { cost_usd: 0.01345, cost_source: 'genai-prices' },
  ],
  'Claude on Vertex AI, whose price depends on a place that nobody tells': [
    { ...VERTEX, 'gen_ai.request.model': 'claude-sonnet-4-5@20250929' },
    { prompt_tokens: 200, cost_usd: null, cost_source: 'unpriced: region' },
  ],
  'Claude on Vertex AI in all places': [
    {
      ...VERTEX,
      'gen_ai.request.model': 'claude-sonnet-4-5@20250929',
      'server.address': 'aiplatform.googleapis.com',
    },
    { prompt_tokens: 200, cost_usd: 0.0012, cost_source: 'genai-prices' },
  ],
  'what spans of the AWS SDK do not tell of a cache': [
    AWS_SPAN,
    { prompt_tokens: 1000, cost_usd: null, cost_source: 'unpriced: cache untold' },
  ],
  'what spans of the AWS SDK tell of a cache (Python)': [
    { ...AWS_SPAN, 'gen_ai.usage.cache_read.input_tokens': 400 },
    { prompt_tokens: 1400, cached_prompt_tokens: 400, cost_usd: 0.00372 },
  ],
  'a model of Claude on Bedrock without the place of its profile (OpenInference)': [
    {
      'openinference.span.kind': 'LLM',
      'llm.system': 'aws.bedrock',
      'llm.model_name': 'claude-sonnet-4-5-20250929',
      'llm.token_count.prompt': 1000,
      'llm.token_count.completion': 40,
    },
    { prompt_tokens: 1000, cost_usd: null, cost_source: 'unpriced: inference_profile' },
  ],
  'an id of Bedrock whose place was cut off, where prices differ by it (Traceloop)': [
    { ...ON_AWS, 'gen_ai.request.model': 'anthropic.claude-sonnet-4-5-20250929-v1:0' },
    { prompt_tokens: 1000, cost_usd: null, cost_source: 'unpriced: inference_profile' },
    { scope: 'opentelemetry.instrumentation.bedrock' },
  ],
  'an id of Bedrock whose place was cut off, of one price in all places': [
    { ...ON_AWS, 'gen_ai.request.model': 'anthropic.claude-3-5-sonnet-20241022-v2:0' },
    { prompt_tokens: 1000, cost_usd: 0.0036, cost_source: 'genai-prices' },
    { scope: 'opentelemetry.instrumentation.bedrock' },
  ],
  'an id of Bedrock as it was asked for, without a place': [
    { ...ON_AWS, 'gen_ai.request.model': 'anthropic.claude-sonnet-4-5-20250929-v1:0' },
    { prompt_tokens: 1000, cost_usd: 0.00396, cost_source: 'genai-prices' },
  ],
  'a stream of Bedrock without its cache (Traceloop, JavaScript)': [
    { ...ON_AWS, 'gen_ai.request.model': 'anthropic.claude-3-5-sonnet-20241022-v2:0' },
    { prompt_tokens: 1000, cost_usd: null, cost_source: 'unpriced: cache untold' },
    { scope: '@traceloop/instrumentation-bedrock' },
  ],
  'what an instrumentation never tells of a cache (OpenTelemetry for Java)': [
    { ...TWO_THOUSAND, 'gen_ai.response.model': 'gpt-4o-2024-08-06' },
    { prompt_tokens: 2000, cost_usd: null, cost_source: 'unpriced: cache untold' },
    { scope: 'io.opentelemetry.openai-java-1.1' },
  ],
  'a cache of a provider that keeps less than OpenAI (Semantic Kernel)': [
    { ...TWO_THOUSAND, ...DEEPSEEK },
    { prompt_tokens: 200, cost_usd: null, cost_source: 'unpriced: cache untold' },
    { scope: 'Microsoft.SemanticKernel.Diagnostics' },
  ],
  'less than OpenAI keeps in its cache (smolagents)': [
    { ...TWO_THOUSAND, 'gen_ai.usage.input_tokens': 1000 },
    { prompt_tokens: 1000, cost_usd: 0.0029 },
    { scope: 'openinference.instrumentation.smolagents' },
  ],
  'what was read from a cache, but not what was written (Microsoft.Extensions.AI)': [
    { ...CLAUDE, 'gen_ai.usage.input_tokens': 1700, 'gen_ai.usage.cache_read.input_tokens': 400 },
    { prompt_tokens: 1700, cached_prompt_tokens: 400, cost_usd: null, cost_source: 'unpriced: cache untold' },
    { scope: 'Experimental.Microsoft.Extensions.AI' },
  ],
  'a net input with a total that leaves out the cache (OpenLIT for Go)': [
    {
      ...CLAUDE,
      'gen_ai.usage.input_tokens': 1000,
      'gen_ai.usage.output_tokens': 40,
      'gen_ai.usage.total_tokens': 1040,
      'gen_ai.usage.prompt_tokens_details.cache_read': 400,
    },
    { prompt_tokens: 1400, cached_prompt_tokens: 400, cost_usd: 0.00372 },
    { scope: 'openlit.anthropic' },
  ],
  'counts without a prefix beside an operation (LangChain4j)': [
    {
      ...CHAT,
      'gen_ai.provider.name': 'OPEN_AI',
      'gen_ai.request.model': 'gpt-4o',
      outcome: 'SUCCESS',
      input_tokens: '2000',
      output_tokens: '40',
    },
    { provider: 'openai', prompt_tokens: 2000, cost_usd: null, cost_source: 'unpriced: cache untold' },
  ],
  'names of the SDK that made the call (PHP)': [
    {
      'openai.resource': 'chat/create',
      'openai.model': 'gpt-4o',
      'openai.usage.prompt_tokens': 200,
      'openai.usage.completion_tokens': 40,
      'openai.usage.total_tokens': 240,
    },
    { model: 'gpt-4o', prompt_tokens: 200, completion_tokens: 40, cost_usd: 0.0009 },
    { scope: 'io.opentelemetry.contrib.php.openaiphp' },
  ],
  'usage of a framework without the answer beside it (Genkit for Go)': [
    {
      'genkit:metadata:subtype': 'model',
      'genkit:name': 'anthropic/claude-sonnet-4-5-20250929',
      'genkit:output': '{"finishReason":"stop","usage":{"inputTokens":1003,"outputTokens":43}}',
    },
    { prompt_tokens: 1003, cost_usd: null, cost_source: 'unpriced: cache untold' },
  ],
  'usage of Bedrock without the answer beside it (MLflow)': [
    { ...MLFLOW_ON_AWS, 'mlflow.chat.tokenUsage': '{"input_tokens":3,"output_tokens":12,"total_tokens":15}' },
    { prompt_tokens: 3, cost_usd: null, cost_source: 'unpriced: cache untold' },
  ],
  'counts of a cache in the metadata (Strands to OpenInference)': [
    {
      'openinference.span.kind': 'LLM',
      'llm.model_name': 'global.anthropic.claude-sonnet-4-5-20250929-v1:0',
      'llm.token_count.prompt': 4299,
      'llm.token_count.completion': 631,
      'llm.token_count.total': 58_291,
      metadata:
        '{"gen_ai.usage.cache_read_input_tokens":35574,"gen_ai.usage.cache_write_input_tokens":17787,"n":[1]}',
    },
    { prompt_tokens: 57_660, cached_prompt_tokens: 35_574, cache_write_tokens: 17_787, cost_usd: 0.09973545 },
  ],
  'details of a count as Python prints them (LangSmith)': [
    {
      ...CLAUDE,
      'gen_ai.usage.input_tokens': 1700,
      'gen_ai.usage.output_tokens': 40,
      'gen_ai.usage.input_token_details': "{'cache_read': 400, 'cache_creation': 300}",
    },
    { prompt_tokens: 1700, cached_prompt_tokens: 400, cache_write_tokens: 300, cost_usd: 0.004845 },
  ],
  'what an integration never tells of a cache (Sentry)': [
    { ...TWO_THOUSAND, 'sentry.origin': 'auto.ai.litellm' },
    { prompt_tokens: 2000, cost_usd: null, cost_source: 'unpriced: cache untold' },
  ],
  'a net input without its cache (OpenInference, JavaScript)': [
    { ...CLAUDE, 'llm.token_count.prompt': 1000, 'llm.token_count.completion': 40 },
    { prompt_tokens: 1000, cost_usd: null, cost_source: 'unpriced: cache untold' },
    { scope: '@arizeai/openinference-instrumentation-anthropic' },
  ],
  'an output without thoughts (OpenTelemetry for Python, Vertex AI)': [
    VERTEX,
    { prompt_tokens: 200, cost_usd: null, cost_source: 'unpriced: thoughts untold' },
    { scope: 'opentelemetry.instrumentation.vertexai' },
  ],
  'an output without thoughts beside the total (Traceloop, Vertex AI)': [
    { ...VERTEX, 'gen_ai.usage.total_tokens': 340 },
    { prompt_tokens: 200, completion_tokens: 140, cost_usd: 0.00041 },
    { scope: 'opentelemetry.instrumentation.vertexai' },
  ],
  'a model with its provider before it': [
    { ...CLAUDE, 'gen_ai.request.model': `anthropic/${claude.model}`, usage: JSON.stringify(GROSS) },
    { prompt_tokens: 1400, cost_usd: 0.00372 },
  ],
  'a model without a cache on a span of the AWS SDK': [
    { ...AWS_SPAN, 'gen_ai.request.model': 'us.meta.llama3-3-70b-instruct-v1:0' },
    { prompt_tokens: 1000, cost_usd: 0.0007488, cost_source: 'genai-prices' },
  ],
  'what AI SDK 4 tells of a cache beside the usage': [
    {
      'ai.operationId': 'ai.generateText.doGenerate',
      'ai.model.provider': 'openai.chat',
      'ai.model.id': 'gpt-4o',
      'ai.response.providerMetadata': '{"openai":{"cachedPromptTokens":1000}}',
      'ai.usage.promptTokens': 2000,
      'ai.usage.completionTokens': 0,
    },
    { prompt_tokens: 2000, cached_prompt_tokens: 1000, cost_usd: 0.00375 },
  ],
  'conventions without a name of a cache, in the name of another scope (Elastic)': [
    TWO_THOUSAND,
    { prompt_tokens: 2000, cost_usd: null, cost_source: 'unpriced: cache untold' },
    { scope: 'opentelemetry.instrumentation.openai', schemaUrl: toSchema(31) },
  ],
  'a scope of that name that states no conventions (Traceloop)': [
    TWO_THOUSAND,
    { prompt_tokens: 2000, cost_usd: 0.0054 },
    { scope: 'opentelemetry.instrumentation.openai' },
  ],
  'conventions without a name of a cache, of a model without one': [
    { ...TWO_THOUSAND, 'gen_ai.request.model': 'gpt-4-turbo' },
    { prompt_tokens: 2000, cost_usd: 0.0212 },
    { scope: 'any', schemaUrl: toSchema(39) },
  ],
  'what was read from a cache in a name that the conventions lacked': [
    { ...TWO_THOUSAND, 'gen_ai.usage.cached_tokens': 1024 },
    { prompt_tokens: 2000, cached_prompt_tokens: 1024, cost_usd: 0.00412 },
    { scope: 'any', schemaUrl: toSchema(39) },
  ],
  'conventions without a name of a cache, by the name of a constant (Azure)': [
    TWO_THOUSAND,
    { prompt_tokens: 2000, cost_usd: null, cost_source: 'unpriced: cache untold' },
    { scope: 'any', schemaUrl: 'https://opentelemetry.io/schemas/OpenTelemetrySchemaVersion.V1_23_1' },
  ],
  'what was read from a cache, twice in the input (OpenInference)': [
    INTERACTION,
    { prompt_tokens: 1033, cached_prompt_tokens: 400, cost_usd: 0.0003844 },
    { ...OF_GEMINI, name: 'InteractionsResource.create' },
  ],
  'a cache that a version did not tell (OpenInference, Gemini)': [
    UNCACHED,
    { prompt_tokens: 1433, cost_usd: null, cost_source: 'unpriced: cache untold' },
    { ...OF_GEMINI, version: '0.1.12', name: 'GenerateContent' },
  ],
  'a cache that the next version tells': [
    UNCACHED,
    { prompt_tokens: 1433, cost_usd: 0.0006124 },
    { ...OF_GEMINI, version: '0.1.16', name: 'GenerateContent' },
  ],
  'tools of the provider, whose tokens are in the output (OpenInference)': [
    { ...INTERACTION, 'llm.tools.0.tool.json_schema': '{"type": "url_context"}' },
    { prompt_tokens: 1033, cost_usd: null, cost_source: 'unpriced: tool use untold' },
    { ...OF_GEMINI, name: 'AsyncInteractionsResource.create' },
  ],
  'tools of the program, which have no tokens of their own (OpenInference)': [
    { ...INTERACTION, 'llm.tools.0.tool.json_schema': '{"type": "function", "name": "weather"}' },
    { prompt_tokens: 1033, cost_usd: 0.0003844 },
    { ...OF_GEMINI, name: 'AsyncInteractionsResource.create' },
  ],
  'a net input in which the total is net too (Agno)': [
    AGNO,
    { provider: 'anthropic', prompt_tokens: 1833, cached_prompt_tokens: 400, cost_usd: 0.005514 },
    OF_AGNO,
  ],
  'a net input of Bedrock (Agno)': [
    { ...AGNO, 'llm.provider': 'AwsBedrock', 'llm.model_name': ON_AWS['gen_ai.request.model'] },
    { provider: 'aws.bedrock', prompt_tokens: 1833, cost_usd: 0.005514 },
    OF_AGNO,
  ],
  'an input of Claude by another door, with what was read in it (Agno)': [
    { ...AGNO, 'llm.provider': 'LiteLLM' },
    { prompt_tokens: 1433, cached_prompt_tokens: 400, cost_usd: 0.004314 },
    OF_AGNO,
  ],
  'conventions with a name of a cache': [
    TWO_THOUSAND,
    { prompt_tokens: 2000, cost_usd: 0.0054 },
    { scope: 'any', schemaUrl: toSchema(40) },
  ],
  'conventions without a name of a cache, of a writer that tells it (Agent Development Kit)': [
    TWO_THOUSAND,
    { prompt_tokens: 2000, cost_usd: 0.0054 },
    { scope: 'gcp.vertex.agent', schemaUrl: toSchema(36) },
  ],
  'a net input of any provider (RubyLLM)': [
    { ...TWO_THOUSAND, 'gen_ai.usage.cache_read.input_tokens': 1024 },
    { prompt_tokens: 3024, cached_prompt_tokens: 1024, cost_usd: 0.00668 },
    { scope: 'OpenTelemetry::Instrumentation::RubyLLM' },
  ],
  'little net input, and nothing of a cache (RubyLLM)': [
    { ...TWO_THOUSAND, 'gen_ai.usage.input_tokens': 30 },
    { prompt_tokens: 30, cost_usd: null, cost_source: 'unpriced: cache untold' },
    { scope: 'OpenTelemetry::Instrumentation::RubyLLM' },
  ],
  'the usage of the start of a stream beside its output (AI SDK 5)': [
    {
      'ai.operationId': 'ai.streamText.doStream',
      'ai.model.provider': 'anthropic.messages',
      'ai.model.id': 'claude-sonnet-4-5',
      'ai.response.providerMetadata':
        '{"anthropic":{"usage":{"input_tokens":4,"output_tokens":1,"cache_creation_input_tokens":2183,"cache_read_input_tokens":0}}}',
      'ai.usage.inputTokens': 4,
      'ai.usage.outputTokens': 104,
      'ai.usage.cachedInputTokens': 0,
    },
    { prompt_tokens: 2187, completion_tokens: 104, cost_usd: 0.00975825 },
  ],
  'a model and a usage as Python prints it, in no known name (LiteLLM)': [
    {
      'llm.None.model': 'claude-sonnet-4-5',
      'llm.None.usage':
        "{'input_tokens': 1000, 'output_tokens': 40, 'cache_read_input_tokens': 400, 'cached': False, 'tier': None}",
    },
    { model: 'claude-sonnet-4-5', prompt_tokens: 1400, cost_usd: 0.00372 },
  ],
  'the lifetime of what was written, in the details (Pydantic AI)': [
    {
      ...CLAUDE,
      'gen_ai.usage.input_tokens': 3000,
      'gen_ai.usage.output_tokens': 10,
      'gen_ai.usage.details.cache_write_tokens': 1000,
      'gen_ai.usage.details.ephemeral_1h_input_tokens': 1000,
    },
    { prompt_tokens: 3000, cache_write_tokens: 1000, cost_usd: 0.01215 },
  ],
  'what was cached, read or written (OpenInference)': [
    { ...NET_CLAUDE, 'llm.token_count.prompt_details.cache_input': 400 },
    { prompt_tokens: 1000, cost_usd: null, cost_source: 'unpriced: cache untold' },
  ],
  'a cache in the prompt of an agent, told in no name (Arize)': [
    NET_CLAUDE,
    { prompt_tokens: 1000, cost_usd: null, cost_source: 'unpriced: cache untold' },
    { scope: 'arize-claude-plugin' },
  ],
  'usage of Claude without the name of its provider (MLflow)': [
    {
      'mlflow.spanType': '"LLM"',
      'mlflow.llm.model': '"claude-sonnet-4-5"',
      'mlflow.chat.tokenUsage': '{"input_tokens": 1000, "output_tokens": 40, "total_tokens": 1040}',
    },
    { prompt_tokens: 1000, cost_usd: null, cost_source: 'unpriced: cache untold' },
  ],
  'counts that a full span may have dropped': [
    { ...TWO_THOUSAND, 'gen_ai.usage.cache_read.input_tokens': 1024 },
    { prompt_tokens: 2000, cost_usd: null, cost_source: 'unpriced: cache untold' },
    { scope: 'any', limit: Object.keys(TWO_THOUSAND).length },
  ],
  'the cost in the answer of a router (OpenInference)': [
    {
      'openinference.span.kind': 'LLM',
      'llm.system': 'openai',
      'llm.model_name': 'openai/gpt-4o',
      'llm.token_count.prompt': 1000,
      'llm.token_count.completion': 100,
      'llm.cost.prompt': 0.0025,
      'llm.cost.completion': 0.001,
      'output.value': JSON.stringify({
        choices: [{ message: { role: 'assistant', content: 'ok' } }],
        usage: { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100, cost: 0.0021 },
      }),
    },
    { prompt_tokens: 1000, cost_usd: 0.0021, cost_source: 'provider' },
  ],
  'a cost in another currency': [
    { ...TWO_THOUSAND, 'gen_ai.usage.cost': 0.005, 'gen_ai.usage.cost.currency': 'EUR' },
    { prompt_tokens: 2000, cost_usd: 0.0054, cost_source: 'genai-prices' },
  ],
  'the usage beside a message (Logfire)': [
    {
      'gen_ai.system': 'openai',
      'gen_ai.request.model': 'gpt-4o',
      response_data: '{"message":{"content":"ok"},"usage":{"prompt_tokens":2000,"completion_tokens":40}}',
    },
    { prompt_tokens: 2000, completion_tokens: 40, cost_usd: 0.0054 },
  ],
  'counts after the word for tokens (Rhesis)': [
    {
      'ai.model.name': 'gpt-4o',
      'ai.llm.tokens.input': 2000,
      'ai.llm.tokens.output': 40,
      'ai.llm.tokens.limit': 1,
    },
    { model: 'gpt-4o', prompt_tokens: 2000, completion_tokens: 40, cost_usd: 0.0054 },
  ],
  'a batch that is over (LiteLLM)': [
    { ...TWO_THOUSAND, 'gen_ai.operation.name': 'aretrieve_batch' },
    { prompt_tokens: 2000, cost_usd: 0.0027 },
  ],
  'a batch of a provider without a published factor (LiteLLM)': [
    {
      ...TWO_THOUSAND,
      'gen_ai.operation.name': 'retrieve_batch',
      'gen_ai.provider.name': 'groq',
      'gen_ai.request.model': 'llama-3.3-70b-versatile',
    },
    { prompt_tokens: 2000, cost_usd: null, cost_source: 'unpriced: tier batch' },
  ],
  'a model of Claude by a class of LangChain, in a place that nobody tells': [
    {
      ...TWO_THOUSAND,
      'gen_ai.provider.name': 'google_vertexai',
      'gen_ai.request.model': 'claude-sonnet-4-5@20250929',
    },
    { provider: 'gcp.vertex_ai', prompt_tokens: 2000, cost_usd: null, cost_source: 'unpriced: region' },
  ],
  'usage and cost of an agent (pi)': [
    {
      ...CLAUDE,
      'llm.usage':
        '{"input":2,"output":319,"cacheRead":0,"cacheWrite":66396,"totalTokens":66717,"cost":{"total":0.42296}}',
    },
    { prompt_tokens: 66_398, cache_write_tokens: 66_396, cost_usd: 0.42296 },
  ],
};

/** Ways of a span of another instrumentation to its row: over OTLP, and with our processor beside it. */
const WAYS: Readonly<Record<string, (span: ReadableSpan) => ReadableSpan>> = {
  'in JSON': (span) => receive(span, 'json'),
  'in protobuf': (span) => receive(span, 'protobuf'),
  'in process': (span) => {
    new Enricher({ meterProvider: false }).enrichEnded(span);
    return span;
  },
};

/** What a program passes by hand of usage that other libraries made: provider, usage; input and cost, null where it is open. */
const PASSED: Readonly<Record<string, readonly [string, object, readonly [number | null, number | null]]>> = {
  'counts of a cache in the names of Anthropic beside a total (MLflow)': [
    'openai gpt-4o',
    { input_tokens: 2000, output_tokens: 40, total_tokens: 2040, cache_read_input_tokens: 1024 },
    [2000, 0.00412],
  ],
  'the same of Anthropic, whose input may leave them out': [
    'anthropic claude-sonnet-4-5',
    { input_tokens: 1000, output_tokens: 40, total_tokens: 1040, cache_read_input_tokens: 400 },
    [1000, null],
  ],
  'the same with a total that has them too, so that the input does not': [
    'anthropic claude-sonnet-4-5',
    { input_tokens: 1000, output_tokens: 40, total_tokens: 1440, cache_read_input_tokens: 400 },
    [1400, 0.00372],
  ],
  'the usage of the provider within that of a framework (Spring AI)': [
    'anthropic claude-sonnet-4-5',
    {
      promptTokens: 1000,
      completionTokens: 40,
      totalTokens: 1040,
      nativeUsage: { input_tokens: 1000, output_tokens: 40, cache_read_input_tokens: 400 },
    },
    [1400, 0.00372],
  ],
  'reasoning of xAI without a total, in the completion or beside it': [
    'x_ai grok-3-mini',
    { prompt_tokens: 1000, completion_tokens: 500, completion_tokens_details: { reasoning_tokens: 300 } },
    [1000, null],
  ],
  'a total of zero beside counts': [
    'openai gpt-4o',
    { prompt_tokens: 2000, completion_tokens: 40, total_tokens: 0 },
    [2000, 0.0054],
  ],
  'images, of which nothing says how many tokens (Cohere)': [
    'cohere embed-v4.0',
    { billed_units: { images: 3 } },
    [null, null],
  ],
  'a net input of Bedrock (AWS SDK)': [
    'aws.bedrock us.anthropic.claude-sonnet-4-5-20250929-v1:0',
    { inputTokens: 1000, outputTokens: 40, totalTokens: 1440, cacheReadInputTokens: 400 },
    [1400, 0.004092],
  ],
};

for (const [name, [call, usage, [input, cost]]] of Object.entries(PASSED)) {
  test(`passed usage: ${name}`, async () => {
    const [provider = '', model = ''] = call.split(' ');
    const read = await record({ provider, model, usage } as unknown as Case, undefined);
    assert.deepEqual([read.tokens[0], read.cost], [input, cost]);
  });
}

for (const [name, [attributes, right, scope]] of Object.entries(REPORTED)) {
  test(`reported usage: ${name}`, () => {
    for (const [way, through] of Object.entries(WAYS)) {
      const row = spanToRow(through(recordSpan({ kind: SpanKind.CLIENT, attributes, ...scope })));
      const read = Object.fromEntries(
        Object.keys(right).map((column) => [column, row[column as keyof TraceRow]]),
      );
      assert.deepEqual({ ...read, cost_usd: round(row.cost_usd) }, right, way);
    }
  });
}

const START = 1_790_000_000_000n;

/** Calls below one span as Spring Boot of a version writes them: input, output, how it ended; what is right of each. */
const GROWING: Readonly<
  Record<string, readonly [boot: string, calls: string, right: string, isRoot?: true]>
> = {
  'Spring AI 1': ['3.5.9', '101 41 TOOL_CALLS, 303 83 tool_use, 606 126 STOP', '101 41, 202 42, 303 43'],
  'Gemini in Spring AI 1': ['3.4.0', '101 41 STOP google_genai, 303 83 STOP google_genai', '101 41, 202 42'],
  'no tools asked for': ['3.5.9', '101 41 STOP, 303 83 STOP', '101 41, 303 83'],
  'calls for tools that are over': [
    '3.5.9',
    '101 41 TOOL_CALLS, 303 83 STOP, 606 126 STOP',
    '101 41, 202 42, 606 126',
  ],
  'less than before': ['3.5.9', '303 83 TOOL_CALLS, 101 41 STOP', '303 83, 101 41 disagrees'],
  'Spring AI 2': ['4.0.1', '101 41 TOOL_CALLS, 303 83 STOP', '101 41, 303 83'],
  'no span around': ['3.5.9', '303 83 STOP', '303 83 disagrees', true],
};

for (const [name, [version, calls, right, isRoot]] of Object.entries(GROWING)) {
  test(`usage that grows from call to call: ${name}`, () => {
    const spans = calls.split(', ').map((call, i) => {
      const [input, output, finish, provider = 'openai'] = call.split(' ');
      const attributes = {
        'gen_ai.operation.name': 'chat',
        'gen_ai.system': provider,
        'gen_ai.request.model': 'gpt-4o',
        'gen_ai.response.finish_reasons': `["${finish}"]`,
        'gen_ai.usage.input_tokens': input,
        'gen_ai.usage.output_tokens': output,
        'spring.ai.model.request.tool.names': '["weather"]',
      };
      return {
        traceId: 'a'.repeat(32),
        spanId: `${i + 1}`.repeat(16),
        ...(isRoot ? {} : { parentSpanId: 'f'.repeat(16) }),
        name: 'chat gpt-4o',
        startTimeUnixNano: `${START + BigInt(2 * i)}000000`,
        endTimeUnixNano: `${START + BigInt(2 * i + 1)}000000`,
        attributes: Object.entries(attributes).map(([key, stringValue]) => ({ key, value: { stringValue } })),
      };
    });
    // They come in any order.
    const scopeSpans = [{ scope: { name: 'org.springframework.boot', version }, spans: spans.toReversed() }];
    const received = decodeJson(Buffer.from(JSON.stringify({ resourceSpans: [{ scopeSpans }] })), 10).spans;
    const enricher = new Enricher({ meterProvider: false });
    for (const span of received) enricher.expectReceived(span);
    for (const span of received) enricher.enrichReceived(span);
    const read = received.toReversed().map((span) => {
      const { prompt_tokens: input, completion_tokens: output, tokens_disagree: disagrees } = spanToRow(span);
      return `${input} ${output}${disagrees ? ' disagrees' : ''}`;
    });
    assert.equal(read.join(', '), right);
  });
}
