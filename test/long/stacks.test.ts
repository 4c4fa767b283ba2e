/**
 * Frameworks and instrumentations, Python's in the versions of test/fixtures/stacks/*.txt and those of npm, export to a
 * collector what they did with a provider that keeps count: each call is stored once, with the provider's tokens and their
 * price. Those of npm alone and beside ours.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { type Collector, startCollector } from '../../src/collector/index.ts';
import { Consumers } from '../support/consumer.ts';
import { type CountingProvider, startCountingProvider } from '../support/counting-provider.ts';
import { noPostgres, type PostgresServer, runSql, startPostgres } from '../support/postgres-server.ts';
import { PATIENT } from '../support/programs.ts';
import { noPyPi, noPython, pythonProgram, pythonWithPackages } from '../support/python.ts';

/** Programs by the list of packages that they need; with `cached` false the framework tells of no cached tokens. */
const PROGRAMS: readonly {
  readonly packages: string;
  readonly program: string;
  readonly tellsCached?: false;
}[] = [
  { packages: 'a', program: 'langfuse_openai' },
  { packages: 'b', program: 'langfuse_openai' },
  { packages: 'c', program: 'langfuse_openai' },
  { packages: 'c', program: 'langfuse_langchain' },
  { packages: 'a', program: 'pydantic_ai_agent' },
  { packages: 'b', program: 'pydantic_ai_agent' },
  { packages: 'a', program: 'strands_agent' },
  { packages: 'b', program: 'logfire_openai' },
  { packages: 'c', program: 'langsmith_langchain' },
  { packages: 'd', program: 'litellm_sdk', tellsCached: false },
  { packages: 'd', program: 'litellm_proxy', tellsCached: false },
  { packages: 'e', program: 'openinference_three' },
  { packages: 'e', program: 'openai_agents_run' },
  { packages: 'f', program: 'openlit_openai' },
  { packages: 'g', program: 'traceloop_openai' },
  { packages: 'h', program: 'google_adk_agent' },
];

const OPENTELEMETRY = [
  '@opentelemetry/api@1.9.1',
  '@opentelemetry/sdk-trace-node@2.12.0',
  '@opentelemetry/exporter-trace-otlp-http@0.223.0',
  '@opentelemetry/instrumentation@0.223.0',
  '@opentelemetry/instrumentation-aws-sdk@0.78',
];
const aiSdk = (major: number) => [
  `ai@${major}`,
  ...['openai', 'anthropic', 'google'].map((name) => `@ai-sdk/${name}@${major - 3}`),
  ...(major < 7 ? [] : ['@ai-sdk/otel@1']),
];

/** Programs by what is installed for them; with `isOurs` nothing but ours tells all of their calls. */
const NPM: readonly {
  readonly calls: string;
  readonly packages: readonly string[];
  readonly isOurs?: true;
  readonly env?: NodeJS.ProcessEnv;
}[] = [
  { calls: 'ai', packages: [...aiSdk(7), 'zod@4'] },
  {
    calls: 'bedrock',
    packages: ['@aws-sdk/client-bedrock-runtime@3', '@smithy/node-http-handler@4'],
    isOurs: true,
  },
  { calls: 'ai', packages: [...aiSdk(6), 'zod@4'] },
  { calls: 'genai', packages: ['@google/genai@2'], isOurs: true },
  { calls: 'ai', packages: [...aiSdk(5), 'zod@4'], env: { WHOLE: 'none' } },
  { calls: 'genai', packages: ['@google/genai@3'], isOurs: true },
];

const PROGRAM_MS = 480_000;

const skip = noPostgres();
const skipPython = skip || noPython() || (await noPyPi());

describe('frameworks over OTLP', { skip, concurrency: 2 }, () => {
  let server: PostgresServer;
  let consumers: Consumers;
  let collector: Collector;
  let provider: CountingProvider;
  let url: string;

  before(async () => {
    server = await startPostgres();
    url = await server.createMigrated();
    collector = await startCollector({ databaseUrl: url, http: { host: '127.0.0.1', port: 0 }, grpc: false });
    provider = await startCountingProvider();
    consumers = await Consumers.pack();
  });
  after(async () => {
    await provider?.[Symbol.asyncDispose]();
    await collector?.close();
    await server?.[Symbol.asyncDispose]();
    await consumers?.[Symbol.asyncDispose]();
  });

  /** Runs a program and holds the rows of its service against what the provider counted. */
  async function assertCounted(
    name: string,
    [command, ...args]: readonly [string, ...string[]],
    options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv; readonly tellsCached?: boolean },
  ): Promise<void> {
    const { cwd, tellsCached } = options;
    const base = `${provider.url}/${name}`;
    const env = {
      ...process.env,
      FAKE: base,
      OPENAI_BASE_URL: `${base}/v1`,
      ANTHROPIC_BASE_URL: base,
      OPENAI_API_KEY: 'x',
      ANTHROPIC_API_KEY: 'x',
      OTEL_SERVICE_NAME: name,
      OTEL_RESOURCE_ATTRIBUTES: `service.name=${name}`,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.httpUrl,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
      ...options.env,
    };
    await promisify(execFile)(command, args, { cwd, env, timeout: PROGRAM_MS, maxBuffer: 1 << 24 });
    const calls = provider.callsOf(name);
    assert.ok(calls.length > 1);
    const sumOf = (part: 'input' | 'output' | 'cached' | 'costUsd') =>
      calls.reduce((sum, call) => sum + call[part], 0);
    const right = {
      calls: calls.length,
      input: sumOf('input'),
      output: sumOf('output'),
      ...(tellsCached === false ? {} : { cached: sumOf('cached') }),
      cost: sumOf('costUsd').toFixed(9),
    };
    let stored: object = {};
    for (const end = Date.now() + 20_000; Date.now() < end; ) {
      const [row] = await runSql(url, `${SUMS}'${name}'`);
      const { cached, cost, ...sums } = row as { cached: number; cost: number | null };
      stored = { ...sums, ...(tellsCached === false ? {} : { cached }), cost: cost?.toFixed(9) };
      if (JSON.stringify(stored) === JSON.stringify(right)) break;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assert.deepEqual(stored, right, name);
  }

  for (const { packages, program, tellsCached } of PROGRAMS) {
    test(`${program} (${packages}): each call once, with its tokens and its cost`, {
      skip: skipPython,
      timeout: 600_000,
    }, async () => {
      const python = await pythonWithPackages(`stacks/${packages}`);
      const file = pythonProgram(`${program}.py`, 'stacks');
      await assertCounted(
        `${packages}-${program}`,
        [python, file],
        tellsCached === false ? { tellsCached } : {},
      );
    });
  }

  for (const { calls, packages, isOurs, env } of NPM) {
    const [first = ''] = packages;
    test(`${first}, alone and beside ours: each call once, with its tokens and its cost`, {
      timeout: 600_000,
    }, async () => {
      const name = first.replaceAll(/[^a-z\d]+/g, '-').replace(/^-/, '');
      const cwd = await consumers.install(name, [...OPENTELEMETRY, ...packages], false);
      await cp(pythonProgram('calls.mjs', 'frames'), join(cwd, 'calls.mjs'));
      const run = (way: string, flags: readonly string[], more = {}) =>
        assertCounted(`${name}-${way}`, [process.execPath, ...flags, 'calls.mjs'], {
          cwd,
          env: { CALLS: calls, ...PATIENT, ...env, ...more },
        });
      await run('beside', ['--import', 'mcp-observatory/register']);
      if (isOurs !== true) await run('alone', [], { OWN_SDK: '1' });
    });
  }
});

const SUMS = `SELECT count(*) FILTER (WHERE prompt_tokens IS NOT NULL)::int AS calls, sum(prompt_tokens)::int AS input,
  sum(completion_tokens)::int AS output, sum(cached_prompt_tokens)::int AS cached, sum(cost_usd) AS cost
  FROM mcp_traces WHERE service = `;
