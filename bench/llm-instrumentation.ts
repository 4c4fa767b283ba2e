/**
 * What an instrumentation adds to one chat completion that is not streamed. How it is measured: `contest.ts`.
 *
 * The official SDK, with a `fetch` that responds from memory, so that the network does not hide the difference. The floor
 * is one CLIENT span made by hand around the call, with the attributes that our instrumentation sets.
 *
 *   npm run build && node dist/bench/llm-instrumentation.js            # --peers adds other instrumentations
 *
 * The peers are installed on demand in `bench/peers`, which is not part of the repository.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { context, SpanKind, type TracerProvider, trace } from '@opentelemetry/api';
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
const OWNED = 'ours, startObservatory';
const THEIRS = 'ours in another SDK';
const TRACES = 'ours in another SDK, not enriched';
const OURS = [OWNED, THEIRS, TRACES];

type CreateInstrumentation = new () => { setTracerProvider(provider: unknown): void };

function installPeers(): void {
  if (existsSync(join(PEERS, 'node_modules'))) return;
  mkdirSync(PEERS, { recursive: true });
  writeFileSync(join(PEERS, 'package.json'), JSON.stringify({ private: true, dependencies: PEER_VERSIONS }));
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--silent'], { cwd: PEERS, stdio: 'inherit' });
}

async function open(name: string): Promise<void> {
  const instrumentation = await instrumentationOf(name);
  const { provider, flush } = await startSdk(name);
  instrumentation?.setTracerProvider(provider);
  const { OpenAI } = createRequire(import.meta.url)('openai') as typeof import('openai');
  const client = new OpenAI({ apiKey: 'x', fetch: async () => new Response(ANSWER, { headers: JSON_TYPE }) });
  const ask = () =>
    client.chat.completions.create({
      model: 'gpt-4o-mini',
      temperature: 0.2,
      messages: [
        { role: 'system', content: 'You are a careful assistant.' },
        { role: 'user', content: 'What is the capital of France, and how many people live there?' },
      ],
    });
  contend(name === FLOOR ? () => inBareSpan(ask) : ask, flush);
}

async function startSdk(name: string): Promise<{ provider: TracerProvider; flush: () => Promise<void> }> {
  if (name === OWNED) {
    const observatory = await startObservatory({ otlp: true });
    return { provider: observatory.tracerProvider, flush: () => observatory.forceFlush() };
  }
  const provider = startSomeSdk(name === THEIRS ? [new ObservatorySpanProcessor()] : []);
  return { provider, flush: () => provider.forceFlush() };
}

/** What any instrumentation must do at least. */
async function inBareSpan(ask: () => PromiseLike<ChatCompletion>): Promise<ChatCompletion> {
  const span = trace
    .getTracer('bench')
    .startSpan('chat gpt-4o-mini', { kind: SpanKind.CLIENT, attributes: REQUEST });
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
    return answer;
  } finally {
    span.end();
  }
}

const REQUEST = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'openai',
  'gen_ai.request.model': 'gpt-4o-mini',
  'gen_ai.request.temperature': 0.2,
  'openai.api.type': 'chat_completions',
  'server.address': 'api.openai.com',
  'server.port': 443,
};

const JSON_TYPE = { 'content-type': 'application/json' };
const ANSWER = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-4o-mini-2024-07-18',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'Paris, with two million people.' },
      finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 40, completion_tokens: 9, total_tokens: 49 },
});

async function instrumentationOf(name: string): Promise<InstanceType<CreateInstrumentation> | undefined> {
  if (name === 'none' || name === FLOOR) return undefined;
  if (OURS.includes(name)) {
    const { OpenAIInstrumentation } = await import('../src/instrumentation/index.ts');
    return new OpenAIInstrumentation();
  }
  const module = createRequire(join(PEERS, 'package.json'))(name) as {
    OpenAIInstrumentation: CreateInstrumentation;
  };
  return new module.OpenAIInstrumentation();
}

const [mode, contender] = process.argv.slice(2);
if (mode === '--contend') await open(contender ?? 'none');
else {
  if (mode === '--peers') installPeers();
  const contenders = ['none', FLOOR, ...OURS, ...(mode === '--peers' ? Object.keys(PEER_VERSIONS) : [])];
  await compare({
    title: 'chat completion',
    program: fileURLToPath(import.meta.url),
    contenders,
    spansPerCall: Object.fromEntries(contenders.map((name) => [name, name === 'none' ? 0 : 1])),
  });
}
