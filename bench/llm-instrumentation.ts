/**
 * What an instrumentation adds to one chat completion that is not streamed. How it is measured: `contest.ts`.
 *
 * The official SDK, with a `fetch` that responds from memory, so that the network does not hide the difference. Each
 * contender is compared with one CLIENT span made by hand around the call, with the same attributes (and events): those of
 * the conventions for one that does not enrich; for the others also the hashes, computed on the spot, and scores and cost,
 * which the span made by hand has for nothing. With content, that span has the messages as JSON; with metrics, its call
 * is recorded in the two histograms.
 *
 *   npm run build && node dist/bench/llm-instrumentation.js            # --peers adds other instrumentations
 *   node dist/bench/llm-instrumentation.js --content                   # with messages on the spans
 *   node dist/bench/llm-instrumentation.js --metrics
 *   node dist/bench/llm-instrumentation.js --sizes                     # answers of 1 KB, 100 KB and 1 MB
 *
 * The peers are installed on demand in `bench/peers`, which is not part of the repository.
 */
import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { context, metrics, type Span, SpanKind, type TracerProvider, trace } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import type { ChatCompletion } from 'openai/resources/chat/completions';
import { ObservatorySpanProcessor } from '../src/processor/index.ts';
import { startObservatory } from '../src/setup/index.ts';
import { compare, contend, startSomeSdk } from './contest.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PEERS = join(ROOT, 'bench/peers');
const PEER_VERSIONS = {
  '@arizeai/openinference-instrumentation-openai': 'latest',
  '@opentelemetry/instrumentation-openai': '0.21.0',
};
const FLOOR = 'one span by hand';
const ALL = 'one span by hand, enriched';
const CONTENT_FLOOR = 'one span by hand, content';
const METRICS_FLOOR = 'one span by hand, metrics';
const OWNED = 'ours, startObservatory';
const THEIRS = 'ours in another SDK';
const TRACES = 'ours in another SDK, not enriched';
const OWNED_CONTENT = 'ours, startObservatory, content';
const THEIRS_CONTENT = 'ours in another SDK, content';
const METRICS = 'ours, startObservatory, metrics';
const OURS = [OWNED, THEIRS, TRACES, OWNED_CONTENT, THEIRS_CONTENT, METRICS];
const BY_HAND = [FLOOR, ALL, CONTENT_FLOOR, METRICS_FLOOR];
const FLOOR_OF: Readonly<Record<string, string>> = {
  [OWNED]: ALL,
  [THEIRS]: ALL,
  [OWNED_CONTENT]: CONTENT_FLOOR,
  [THEIRS_CONTENT]: CONTENT_FLOOR,
  [METRICS]: METRICS_FLOOR,
};
const SIZES = [1_000, 100_000, 1_000_000];

type CreateInstrumentation = new () => { setTracerProvider(provider: unknown): void };

function installPeers(): void {
  if (existsSync(join(PEERS, 'node_modules'))) return;
  mkdirSync(PEERS, { recursive: true });
  writeFileSync(join(PEERS, 'package.json'), JSON.stringify({ private: true, dependencies: PEER_VERSIONS }));
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--silent'], { cwd: PEERS, stdio: 'inherit' });
}

/** @param chars length of the answer; without it the answer is a short sentence, parsed from JSON in each call. */
async function open(name: string, chars: number | undefined): Promise<void> {
  if ([METRICS, METRICS_FLOOR].includes(name)) startMetrics();
  const instrumentation = await instrumentationOf(name);
  const { provider, flush } = await startSdk(name);
  instrumentation?.setTracerProvider(provider);
  const { OpenAI } = createRequire(import.meta.url)('openai') as typeof import('openai');
  const fetch = chars === undefined ? async () => new Response(ANSWER, { headers: JSON_TYPE }) : ready(chars);
  const client = new OpenAI({ apiKey: 'x', fetch });
  const ask = () =>
    client.chat.completions.create({ model: MODEL, temperature: 0.2, messages: [...MESSAGES] });
  contend(BY_HAND.includes(name) ? () => inBareSpan(ask, name) : ask, flush);
}

/** An answer that is parsed already: else the JSON of a large one would hide what is measured. */
function ready(chars: number): () => Promise<Response> {
  const text = 'Two million people live in Paris. '.repeat(Math.ceil(chars / 34)).slice(0, chars);
  const parsed = JSON.parse(ANSWER.replace(SENTENCE, text)) as ChatCompletion;
  const headers = new Headers(JSON_TYPE);
  const answer = { ok: true, status: 200, headers, url: '', body: null, json: async () => ({ ...parsed }) };
  return async () => answer as unknown as Response;
}

async function startSdk(name: string): Promise<{ provider: TracerProvider; flush: () => Promise<void> }> {
  if ([OWNED, OWNED_CONTENT, METRICS].includes(name)) {
    const observatory = await startObservatory({ otlp: true, captureContent: name === OWNED_CONTENT });
    return { provider: observatory.tracerProvider, flush: () => observatory.forceFlush() };
  }
  const enriches = [THEIRS, THEIRS_CONTENT].includes(name);
  const processor = () => new ObservatorySpanProcessor({ captureContent: name === THEIRS_CONTENT });
  const provider = startSomeSdk(enriches ? [processor()] : []);
  return { provider, flush: () => provider.forceFlush() };
}

let byHand: ReturnType<typeof histograms>;

function histograms() {
  const meter = metrics.getMeter('bench');
  return {
    operationDuration: meter.createHistogram('gen_ai.client.operation.duration', { unit: 's' }),
    tokenUsage: meter.createHistogram('gen_ai.client.token.usage', { unit: '{token}' }),
  };
}

function startMetrics(): void {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.DELTA);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
  byHand = histograms();
}

/** What any instrumentation must do at least. */
async function inBareSpan(ask: () => PromiseLike<ChatCompletion>, name: string): Promise<ChatCompletion> {
  const started = performance.now();
  const span = trace
    .getTracer('bench')
    .startSpan(`chat ${MODEL}`, { kind: SpanKind.CLIENT, attributes: REQUEST });
  try {
    const answer = await context.with(trace.setSpan(context.active(), span), ask);
    span.setAttributes({
      'http.response.status_code': 200,
      'gen_ai.response.id': answer.id,
      'gen_ai.response.model': answer.model,
      'gen_ai.response.finish_reasons': answer.choices.map((choice) => choice.finish_reason),
      'gen_ai.usage.input_tokens': answer.usage?.prompt_tokens,
      'gen_ai.usage.output_tokens': answer.usage?.completion_tokens,
    });
    if (name !== FLOOR) enrichByHand(span, answer);
    if (name === CONTENT_FLOOR) tellByHand(span, answer);
    if (name === METRICS_FLOOR) measureByHand(answer, performance.now() - started);
    return answer;
  } finally {
    span.end();
  }
}

/** The three hashes are computed. What the scores and the cost are is known. */
function enrichByHand(span: Span, { choices }: ChatCompletion): void {
  const prompt = MESSAGES.map(({ content }) => content).join('\n\n');
  const answer = choices[0]?.message.content ?? '';
  span.setAttributes({
    'observatory.prompt_hash': hash('sha256', prompt),
    'observatory.normalized_prompt_hash': hash('sha256', prompt.toLowerCase()),
    'observatory.prompt_size_chars': prompt.length,
    'observatory.answer_hash': hash('sha256', answer.toLowerCase()),
    'observatory.numeric_variance_score': 0,
    'observatory.verifier_score': 1,
    'observatory.verifier_reason': 'ok',
    'observatory.hallucination_risk_score': 0,
    'observatory.hallucination_risk_level': 'low',
    'observatory.cost_usd': 0.0000114,
    'observatory.cost_source': 'genai-prices',
  });
  for (const attributes of EVALUATIONS) span.addEvent('gen_ai.evaluation.result', attributes);
}

function tellByHand(span: Span, { choices }: ChatCompletion): void {
  const [system, ...input] = MESSAGES.map(({ role, content }) => ({
    role,
    parts: [{ type: 'text', content }],
  }));
  const output = choices.map(({ message: { role, content }, finish_reason }) => ({
    role,
    parts: [{ type: 'text', content }],
    finish_reason,
  }));
  span.setAttributes({
    'gen_ai.system_instructions': JSON.stringify(system?.parts),
    'gen_ai.input.messages': JSON.stringify(input),
    'gen_ai.output.messages': JSON.stringify(output),
  });
}

function measureByHand({ model, usage }: ChatCompletion, milliseconds: number): void {
  const { operationDuration, tokenUsage } = byHand;
  const about = { ...IDENTITY, 'gen_ai.response.model': model };
  operationDuration.record(milliseconds / 1000, about);
  tokenUsage.record(usage?.prompt_tokens ?? 0, { ...about, 'gen_ai.token.type': 'input' });
  tokenUsage.record(usage?.completion_tokens ?? 0, { ...about, 'gen_ai.token.type': 'output' });
}

const MODEL = 'gpt-4o-mini';
const MESSAGES = [
  { role: 'system', content: 'You are a careful assistant.' },
  { role: 'user', content: 'What is the capital of France, and how many people live there?' },
] as const;

const IDENTITY = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'openai',
  'gen_ai.request.model': MODEL,
  'server.address': 'api.openai.com',
  'server.port': 443,
};

const REQUEST = {
  ...IDENTITY,
  'gen_ai.request.temperature': 0.2,
  'openai.api.type': 'chat_completions',
};

const EVALUATIONS = [
  {
    'gen_ai.evaluation.name': 'hallucination_risk',
    'gen_ai.evaluation.score.value': 0,
    'gen_ai.evaluation.score.label': 'low',
  },
  {
    'gen_ai.evaluation.name': 'verifier',
    'gen_ai.evaluation.score.value': 1,
    'gen_ai.evaluation.explanation': 'ok',
  },
  { 'gen_ai.evaluation.name': 'numeric_variance', 'gen_ai.evaluation.score.value': 0 },
];

const JSON_TYPE = { 'content-type': 'application/json' };
const SENTENCE = 'Paris, with two million people.';
const ANSWER = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-4o-mini-2024-07-18',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: SENTENCE },
      finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 40, completion_tokens: 9, total_tokens: 49 },
});

async function instrumentationOf(name: string): Promise<InstanceType<CreateInstrumentation> | undefined> {
  if (name === 'none' || BY_HAND.includes(name)) return undefined;
  if (OURS.includes(name)) {
    const { OpenAIInstrumentation } = await import('../src/instrumentation/index.ts');
    return new OpenAIInstrumentation({ captureContent: [OWNED_CONTENT, THEIRS_CONTENT].includes(name) });
  }
  const module = createRequire(join(PEERS, 'package.json'))(name) as {
    OpenAIInstrumentation: CreateInstrumentation;
  };
  return new module.OpenAIInstrumentation();
}

async function contest(title: string, contenders: readonly string[], chars?: number): Promise<void> {
  const all = ['none', ...contenders];
  await compare({
    title,
    program: fileURLToPath(import.meta.url),
    args: chars === undefined ? [] : [String(chars)],
    contenders: all,
    floors: chars === undefined ? FLOOR_OF : {},
    seldom: chars === undefined ? [FLOOR, TRACES, ...Object.keys(PEER_VERSIONS)] : [],
    spansPerCall: Object.fromEntries(all.map((name) => [name, name === 'none' ? 0 : 1])),
    ...(chars !== undefined && { bursts: 2 }),
  });
}

const [mode, contender, size] = process.argv.slice(2);
if (mode === '--contend') await open(contender ?? 'none', size === undefined ? undefined : Number(size));
else if (mode === '--content')
  await contest('chat completion with content', [CONTENT_FLOOR, OWNED_CONTENT, THEIRS_CONTENT]);
else if (mode === '--metrics') await contest('chat completion with metrics', [METRICS_FLOOR, METRICS]);
else if (mode === '--sizes') {
  for (const chars of SIZES) {
    const title = `chat completion with an answer of ${chars} characters`;
    await contest(title, [FLOOR, OWNED, OWNED_CONTENT], chars);
  }
} else {
  if (mode === '--peers') installPeers();
  const peers = mode === '--peers' ? Object.keys(PEER_VERSIONS) : [];
  await contest('chat completion', [FLOOR, ALL, OWNED, THEIRS, TRACES, ...peers]);
}
