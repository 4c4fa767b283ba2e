/**
 * Time an instrumentation adds to one non-streaming chat completion, side by side in one run.
 *
 * Each contender runs in its own process: the official SDK, a `fetch` that responds from memory, so that the network
 * does not hide the difference, and a tracer provider without exporter. All calls are made inside an active span, as in
 * a traced server, so that the cost of async context is not attributed to a contender. Rounds of all contenders are
 * interleaved. The result is the lowest CPU time per call of all rounds, which other programs disturb least.
 *
 *   npm run build && node dist/bench/llm-instrumentation.js
 *
 * `one bare SDK span` is the lower bound: a CLIENT span with the usual attributes, created by hand around the call.
 *
 * The other instrumentations are installed on demand in `bench/peers`, which is not part of the repository.
 */
import { execFileSync, fork } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { context, SpanKind, trace } from '@opentelemetry/api';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import type { ChatCompletion } from 'openai/resources/chat/completions';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PEERS = join(ROOT, 'bench/peers');
const PEER_VERSIONS = {
  '@arizeai/openinference-instrumentation-openai': 'latest',
  '@opentelemetry/instrumentation-openai': '0.21.0',
};
const FLOOR = 'one bare SDK span';
const CONTENDERS = ['none', FLOOR, 'ours', ...Object.keys(PEER_VERSIONS)];
const ROUNDS = 7;
const CALLS = 3000;
const WARM_UP = 3000;

type CreateInstrumentation = new () => { setTracerProvider(provider: unknown): void };

async function main(): Promise<void> {
  installPeers();
  const times = new Map<string, number[]>(CONTENDERS.map((name) => [name, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const name of CONTENDERS) times.get(name)?.push(await runContender(name));
  }
  const base = Math.min(...(times.get('none') ?? []));
  const rows = [...times].map(([contender, list]) => {
    const perCall = Math.min(...list);
    return {
      contender,
      'CPU us per call': perCall.toFixed(1),
      'added us': (perCall - base).toFixed(1),
      'ratio to none': (perCall / base).toFixed(2),
    };
  });
  console.table(rows);
  const peers = rows.filter(({ contender }) => contender === FLOOR || contender.startsWith('@'));
  const ours = rows.find(({ contender }) => contender === 'ours');
  for (const peer of peers) {
    const ratio = Number(ours?.['added us']) / Number(peer['added us']);
    console.log(`ours adds ${ratio.toFixed(2)} x what ${peer.contender} adds`);
  }
}

function installPeers(): void {
  if (existsSync(join(PEERS, 'node_modules'))) return;
  mkdirSync(PEERS, { recursive: true });
  writeFileSync(join(PEERS, 'package.json'), JSON.stringify({ private: true, dependencies: PEER_VERSIONS }));
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--silent'], { cwd: PEERS, stdio: 'inherit' });
}

function runContender(name: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(import.meta.url), [name]);
    child.once('message', (microseconds) => resolve(Number(microseconds)));
    child.once('error', reject);
    child.once('exit', (code) => code !== 0 && reject(new Error(`${name} ended with exit code ${code}`)));
  });
}

async function contend(name: string): Promise<void> {
  let spans = 0;
  const instrumentation = await instrumentationOf(name);
  const provider = new NodeTracerProvider({
    spanProcessors: [
      {
        onStart: () => void spans++,
        onEnd() {},
        forceFlush: async () => {},
        shutdown: async () => {},
      },
    ],
  });
  provider.register();
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
  const call = name === FLOOR ? () => inBareSpan(ask) : ask;
  const outer = trace.getTracer('bench').startSpan('outer');
  const microseconds = await context.with(trace.setSpan(context.active(), outer), async () => {
    for (let index = 0; index < WARM_UP; index++) await call();
    const started = process.cpuUsage();
    for (let index = 0; index < CALLS; index++) await call();
    const { user, system } = process.cpuUsage(started);
    return (user + system) / CALLS;
  });
  const expected = (name === 'none' ? 0 : WARM_UP + CALLS) + 1;
  if (spans !== expected) throw new Error(`${name} made ${spans} spans, expected ${expected}`);
  process.send?.(microseconds);
}

/** What any instrumentation must do at least. */
async function inBareSpan(ask: () => PromiseLike<ChatCompletion>): Promise<ChatCompletion> {
  const span = trace
    .getTracer('bench')
    .startSpan('chat gpt-4o-mini', { kind: SpanKind.CLIENT, attributes: REQUEST });
  try {
    const answer = await context.with(trace.setSpan(context.active(), span), ask);
    span.setAttributes({
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
  if (name === 'ours') {
    const { OpenAIInstrumentation } = await import('../src/instrumentation/index.ts');
    return new OpenAIInstrumentation();
  }
  const module = createRequire(join(PEERS, 'package.json'))(name) as {
    OpenAIInstrumentation: CreateInstrumentation;
  };
  return new module.OpenAIInstrumentation();
}

if (process.send === undefined) await main();
else await contend(process.argv[2] ?? 'none');
