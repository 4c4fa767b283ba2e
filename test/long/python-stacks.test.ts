/**
 * Python's frameworks and instrumentations, in the versions of test/fixtures/stacks/*.txt, export to a collector what they
 * did with a provider that keeps count: each call is stored once, with the provider's tokens and their price. Every second
 * list of packages; `OBSERVATORY_TEST_SIZE=million` takes all.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { type Collector, startCollector } from '../../src/collector/index.ts';
import { type CountingProvider, startCountingProvider } from '../support/counting-provider.ts';
import { noPostgres, type PostgresServer, runSql, startPostgres } from '../support/postgres-server.ts';
import { noPyPi, noPython, pythonProgram, pythonWithPackages } from '../support/python.ts';
import { everyOther } from '../support/size.ts';

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

/** Lists that are installed in every long run. */
const LISTS = everyOther(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'], 0);

const PROGRAM_MS = 480_000;

const skip = noPostgres() || noPython() || (await noPyPi());

describe("Python's frameworks over OTLP", { skip, concurrency: 2 }, () => {
  let server: PostgresServer;
  let collector: Collector;
  let provider: CountingProvider;
  let url: string;

  before(async () => {
    server = await startPostgres();
    url = await server.createMigrated();
    collector = await startCollector({ databaseUrl: url, http: { host: '127.0.0.1', port: 0 }, grpc: false });
    provider = await startCountingProvider();
  });
  after(async () => {
    await provider?.[Symbol.asyncDispose]();
    await collector?.close();
    await server?.[Symbol.asyncDispose]();
  });

  for (const { packages, program, tellsCached } of PROGRAMS) {
    if (!LISTS.includes(packages)) continue;
    test(`${program} (${packages}): each call once, with its tokens and its cost`, {
      timeout: 600_000,
    }, async () => {
      const name = `${packages}-${program}`;
      const python = await pythonWithPackages(`stacks/${packages}`);
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
      };
      const file = pythonProgram(`${program}.py`, 'stacks');
      await promisify(execFile)(python, [file], { env, timeout: PROGRAM_MS, maxBuffer: 1 << 24 });
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
      assert.deepEqual(stored, right);
    });
  }
});

const SUMS = `SELECT count(*) FILTER (WHERE prompt_tokens IS NOT NULL)::int AS calls, sum(prompt_tokens)::int AS input,
  sum(completion_tokens)::int AS output, sum(cached_prompt_tokens)::int AS cached, sum(cost_usd) AS cost
  FROM mcp_traces WHERE service = `;
