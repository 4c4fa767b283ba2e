/**
 * The newest versions, on Node 24: OpenTelemetry SDK 3 with API 1.10, `openai` 7, `@google/genai` 3,
 * `@anthropic-ai/sdk`, both major versions of the MCP SDK, and the packed tarball. Runs the same matrices and suites as
 * with this repository's versions, from a user's folder.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { promisify } from 'node:util';
import { Consumers, NODE_24, ROOT } from '../support/consumer.ts';
import { describeMcpMatrix } from '../support/mcp-matrix.ts';
import { answer } from '../support/model-answers.ts';
import { describeModelMatrix } from '../support/model-matrix.ts';
import { OtlpCollector } from '../support/otlp-collector.ts';
import { outcomeOf, type ProgramHost, startProgram } from '../support/programs.ts';
import { ProviderServer } from '../support/provider-server.ts';

const run = promisify(execFile);

const NEWEST = [
  '@opentelemetry/api@1.10',
  '@opentelemetry/sdk-trace@3',
  '@opentelemetry/sdk-metrics@3',
  '@opentelemetry/context-async-hooks@3',
  '@opentelemetry/exporter-trace-otlp-http@0.301',
  '@opentelemetry/exporter-metrics-otlp-http@0.301',
  'openai@7',
  '@google/genai@3',
  '@anthropic-ai/sdk@1',
  '@modelcontextprotocol/sdk@1',
  '@modelcontextprotocol/client@2',
  '@modelcontextprotocol/server@2',
  'zod@4',
];

/** Suites that run in one process, as they stand; the eight stream cases are the first of them. */
const SUITES = [
  'model-streams',
  'openai-instrumentation',
  'anthropic-native',
  'outer-call',
  'wire-recordings.long',
  'mcp-spans',
  'mcp-propagation',
  'mcp-metrics',
];

/** The folder with the suites beside the newest packages. */
async function copySuites(): Promise<string> {
  const place = join(folder, 'suite');
  for (const part of ['dist', 'schema', 'vocabularies', 'package.json']) {
    await cp(join(ROOT, part), join(place, part), { recursive: true });
  }
  const shim = join(place, 'node_modules/@opentelemetry/sdk-trace-node');
  await cp(join(ROOT, 'test/consumers/sdk-trace-node'), shim, { recursive: true });
  return place;
}

let copied: Promise<string> | undefined;
let consumers: Consumers;
let folder: string;
let node: string;
let collector: OtlpCollector;
let provider: ProviderServer;

before(async () => {
  consumers = await Consumers.pack();
  folder = await consumers.install('newest', NEWEST);
  const [npx, ...rest] = NODE_24;
  const { stdout } = await run(npx, [...rest, '-p', 'process.execPath'], { cwd: folder });
  node = stdout.trim();
  await cp(join(ROOT, 'test/fixtures'), join(folder, 'fixtures'), { recursive: true });
  [collector, provider] = await Promise.all([OtlpCollector.start(), ProviderServer.start(answer)]);
});
beforeEach(() => {
  collector.spans.length = 0;
  collector.points.length = 0;
});
after(async () => {
  await collector?.[Symbol.asyncDispose]();
  await provider?.[Symbol.asyncDispose]();
  await consumers?.[Symbol.asyncDispose]();
});

const host = (programs: string): ProgramHost => ({
  node,
  programs: join(folder, 'fixtures', programs),
  register: 'mcp-observatory/register',
  cwd: folder,
});

const runModelProgram = (app: string, args: readonly string[], env: Record<string, string> = {}) =>
  outcomeOf(
    startProgram(host('llm'), [app, ...args], {
      PROVIDER_URL: provider.url,
      OTEL_SERVICE_NAME: 'fixture',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      ANTHROPIC_OPEN_TELEMETRY: 'false',
      ...env,
    }),
  );

test('the Node of these tests is 24, and doctor finds every SDK in a version it hooks', async () => {
  const { stdout: version } = await run(node, ['--version']);
  assert.match(version, /^v24\./);
  const doctor = join(folder, 'node_modules/mcp-observatory/dist/lib/cli.js');
  const { stdout } = await run(node, [doctor, 'doctor', '--json'], {
    cwd: folder,
    env: { ...process.env, OTEL_TRACES_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none' },
  });
  const { modules, problems } = JSON.parse(stdout) as Record<string, { name: string; version: string }[]>;
  assert.deepEqual(problems, []);
  const major = (name: string) => modules?.find((module) => module.name === name)?.version.split('.')[0];
  assert.deepEqual([major('openai'), major('@google/genai')], ['7', '3']);
});

describeModelMatrix(() => ({ run: runModelProgram, collector, provider }));
describeMcpMatrix(() => host('mcp'));

test('metrics are exported by SDK 3', async () => {
  assert.equal((await runModelProgram('app.mjs', ['openai', 'plain'])).stderr, '');
  assert.ok(collector.points.some((point) => point.metric === 'gen_ai.client.operation.duration'));
});

test('an application that requires the API and starts its own SDK 3 keeps it', async () => {
  const { code, stderr } = await runModelProgram('own-sdk.cjs', ['plain'], { SDK_LINE: '3' });
  assert.equal(code, 0, stderr);
  await collector.until((spans) => spans.length > 0);
  assert.equal(collector.spans.length, 1);
  assert.equal(collector.spans[0]?.attributes['own.sdk'], true);
});

for (const suite of SUITES) {
  test(`the suite ${suite} passes`, async () => {
    copied ??= copySuites();
    const place = await copied;
    const OBSERVATORY_DATA = process.env.OBSERVATORY_DATA ?? resolve(ROOT, '../shared/data');
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const file = join(place, 'dist/test', `${suite}.test.js`);
    const done = run(node, ['--test', '--test-reporter=tap', file], {
      cwd: place,
      env: { ...env, OBSERVATORY_DATA },
      maxBuffer: 2 ** 26,
    });
    const { stdout } = await done.catch((error: { stdout: string }) => assert.fail(error.stdout));
    // Where the recordings are not there, their suite says that it is skipped.
    assert.match(stdout, /^# (?:pass|skipped) [1-9]\d*$/m);
  });
}
