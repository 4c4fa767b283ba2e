/**
 * Programs as they are in the wild, that set up OpenTelemetry before us, after us, late or never: with us they end, print
 * and export what they do without us, and their spans have rows, or one line on stderr says why not.
 */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { cp, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { Consumers, ROOT } from '../support/consumer.ts';
import { answer } from '../support/model-answers.ts';
import { type CollectedSpan, OtlpCollector } from '../support/otlp-collector.ts';
import { noPostgres, type PostgresServer, runSql, startPostgres } from '../support/postgres-server.ts';
import { exportingTo, outcomeOf, PATIENT, type ProgramOutcome } from '../support/programs.ts';
import { ProviderServer } from '../support/provider-server.ts';
import { placesOf, sentSpans } from '../support/span-places.ts';

interface Program {
  /** Of `fixtures/wild/sdks.cjs`. */
  readonly sdk: string;
  /** When it is set up: by the first line of the application, late, or by a file that is loaded before. */
  readonly when: 'first' | 'late' | 'before us' | 'after us';
  readonly app: 'app.cjs' | 'app.mjs' | 'worker.cjs' | 'cluster.cjs';
  /** How it ends: by itself, by `process.exit()` with a code, by a signal, or its handler, or an error. */
  readonly ending: 'end' | 'exit0' | 'exit3' | 'handler' | 'throw' | 'SIGTERM' | 'SIGKILL';
  /** Between its requests, in milliseconds. */
  readonly gapMs?: number;
  /** Whether `-r` loads what comes before. @defaultValue `--import` */
  readonly isRequired?: boolean;
  /** Whether its SDK takes no processors: only what we trace has rows, and it is told. */
  readonly hasOwnRowsOnly?: boolean;
  /** The database has no tables yet. */
  readonly isFirstRun?: boolean;
  /** The application has its own copy of the API, of another version. */
  readonly hasOwnApi?: boolean;
}

const PROGRAMS: readonly Program[] = [
  { sdk: 'node-sdk', when: 'before us', app: 'app.mjs', ending: 'end' },
  { sdk: 'node-sdk', when: 'before us', app: 'app.cjs', ending: 'exit3', isRequired: true },
  { sdk: 'provider', when: 'before us', app: 'app.cjs', ending: 'handler', isRequired: true },
  { sdk: 'sentry', when: 'before us', app: 'app.mjs', ending: 'end', hasOwnRowsOnly: true },
  { sdk: 'dd-trace', when: 'before us', app: 'app.cjs', ending: 'end', isRequired: true },
  { sdk: 'openinference', when: 'before us', app: 'app.mjs', ending: 'end' },
  { sdk: 'node-sdk', when: 'after us', app: 'app.mjs', ending: 'end' },
  { sdk: 'sentry', when: 'after us', app: 'app.cjs', ending: 'exit0', hasOwnRowsOnly: true },
  { sdk: 'openinference', when: 'after us', app: 'app.cjs', ending: 'SIGTERM' },
  { sdk: 'node-sdk', when: 'first', app: 'app.cjs', ending: 'end' },
  { sdk: 'node-sdk', when: 'first', app: 'app.mjs', ending: 'SIGTERM', gapMs: 500 },
  { sdk: 'provider', when: 'first', app: 'app.cjs', ending: 'exit0', isFirstRun: true },
  { sdk: 'provider', when: 'first', app: 'app.mjs', ending: 'throw' },
  { sdk: 'provider', when: 'first', app: 'app.mjs', ending: 'SIGKILL', gapMs: 300 },
  { sdk: 'wrapped', when: 'first', app: 'app.cjs', ending: 'end', hasOwnRowsOnly: true },
  { sdk: 'sentry', when: 'first', app: 'app.cjs', ending: 'handler', hasOwnRowsOnly: true },
  { sdk: 'dd-provider', when: 'first', app: 'app.cjs', ending: 'end', hasOwnRowsOnly: true },
  { sdk: 'provider', when: 'first', app: 'app.cjs', ending: 'end', hasOwnApi: true },
  { sdk: 'provider', when: 'late', app: 'app.cjs', ending: 'end' },
  { sdk: 'node-sdk', when: 'late', app: 'app.mjs', ending: 'handler' },
  { sdk: 'provider', when: 'late', app: 'app.mjs', ending: 'SIGKILL' },
  { sdk: 'none', when: 'first', app: 'app.cjs', ending: 'end', isFirstRun: true },
  { sdk: 'none', when: 'first', app: 'app.mjs', ending: 'exit3' },
  { sdk: 'none', when: 'first', app: 'app.mjs', ending: 'SIGTERM' },
  { sdk: 'restarted', when: 'first', app: 'app.cjs', ending: 'end' },
  { sdk: 'provider', when: 'first', app: 'worker.cjs', ending: 'end' },
  { sdk: 'node-sdk', when: 'first', app: 'cluster.cjs', ending: 'exit3' },
];

const PACKAGES = [
  '--legacy-peer-deps',
  '@opentelemetry/api@1.9.1',
  '@opentelemetry/context-async-hooks@2.12.0',
  '@opentelemetry/sdk-trace-node@2.12.0',
  '@opentelemetry/sdk-node@0.223.0',
  '@opentelemetry/exporter-trace-otlp-http@0.223.0',
  '@opentelemetry/instrumentation@0.223.0',
  '@opentelemetry/instrumentation-http@0.223.0',
  '@opentelemetry/auto-instrumentations-node@0.81',
  '@arizeai/openinference-instrumentation-openai@4',
  '@sentry/node@11',
  'dd-trace@6',
  'openai@6',
  'pg@8.23.1',
];

const OWN_API = [
  '@opentelemetry/api@1.9.0',
  '@opentelemetry/sdk-trace-node@2.12.0',
  '@opentelemetry/exporter-trace-otlp-http@0.223.0',
  '@opentelemetry/instrumentation@0.223.0',
  '@opentelemetry/instrumentation-http@0.223.0',
];

const MODEL_CALL = 'chat gpt-4o';
const REGISTER = ['--import', 'mcp-observatory/register'];
const skip = noPostgres();
let consumers: Consumers;
let folder = '';
let provider: ProviderServer;
let postgres: PostgresServer;

before(async () => {
  if (skip !== false) return;
  [consumers, provider, postgres] = await Promise.all([
    Consumers.pack(),
    ProviderServer.start(answer),
    startPostgres(),
  ]);
  folder = await consumers.install('wild', PACKAGES, false);
  const own = join(folder, 'own');
  for (const to of [folder, own]) await cp(join(ROOT, 'test/fixtures/wild'), to, { recursive: true });
  await writeFile(join(own, 'package.json'), '{"private":true}');
  const install = ['install', '--legacy-peer-deps', '--no-audit', '--no-fund', ...OWN_API];
  await promisify(execFile)('npm', install, { cwd: own });
});
after(async () => {
  await provider?.[Symbol.asyncDispose]();
  await postgres?.stop();
  await consumers?.[Symbol.asyncDispose]();
});

PROGRAMS.forEach((program, index) => {
  const { sdk, when, app, ending, hasOwnRowsOnly = false } = program;
  const title = `${sdk}, ${when}, in ${app}, that ends by ${ending}`;
  test(`${index + 1} ${title}, loses nothing${hasOwnRowsOnly ? ', and is told which rows there are' : ''}`, {
    skip,
  }, async () => {
    const database = await (program.isFirstRun ? postgres.createDatabase() : postgres.createMigrated());
    const [bare, ours] = await Promise.all([run(program, index), run(program, index, database)]);
    assert.deepEqual(
      [ours.stdout, ours.code, ours.signal],
      [bare.stdout, bare.code, bare.signal],
      ours.stderr,
    );
    const places = placesOf(ours.spans);
    for (const [place, count] of placesOf(bare.spans)) {
      const seen = () => `${place}: not ${count} in ${JSON.stringify([...places])}\n${ours.stderr}`;
      if ((places.get(place) ?? 0) < count) assert.fail(seen());
    }
    assert.deepEqual(
      [...places.keys()].filter((place) => place.startsWith('?')),
      [],
    );
    assert.ok(ours.traces >= bare.traces, `${ours.traces} of ${bare.traces} traces`);
    if (when === 'late')
      for (const name of ['early', 'early done']) assert.ok(ours.spans.some((span) => span.name === name));
    const said = ours.stderr.split('\n').filter((line) => /mcp-observatory|\[otel/.test(line));
    const rows = await runSql(
      database,
      'SELECT right(span_id::text, 17) AS id, span_name AS name FROM mcp_traces',
    );
    const stored = new Set(rows.map(({ id }) => String(id).replaceAll('-', '')));
    if (hasOwnRowsOnly) {
      assert.equal(
        said.filter((line) => line.includes('Rows have the calls that we trace')).length,
        1,
        ours.stderr,
      );
      const calls = rows.map(({ name }) => name);
      assert.deepEqual(calls, [MODEL_CALL], ours.stderr);
      const sent = ours.spans.filter(({ name }) => name === MODEL_CALL).map(({ spanId }) => spanId);
      if (sent.length > 0) for (const id of stored) assert.ok(sent.includes(id), `${id} is not theirs`);
      const others = ours.spans.filter(({ name }) => /pg|SELECT|v1\/traces/.test(name));
      assert.deepEqual(
        others.map(({ name }) => name),
        [],
        'what we do ourselves is traced',
      );
      return;
    }
    const missing = ours.spans.filter(({ spanId }) => !stored.has(spanId)).map(({ name }) => name);
    assert.deepEqual(missing, [], ours.stderr);
    assert.ok(ours.spans.some(({ scope }) => scope === 'mcp-observatory/openai'));
    assert.deepEqual(
      said.filter((line) => !line.includes('loaded before')),
      [],
    );
  });
});

interface Run extends ProgramOutcome {
  readonly spans: readonly CollectedSpan[];
  /** Traces that the agent of dd-trace got. */
  readonly traces: number;
}

/** @param database with us, and rows there. */
async function run(program: Program, index: number, database?: string): Promise<Run> {
  const { sdk, when, app, ending, gapMs = 20, isRequired = false, hasOwnApi = false } = program;
  await using collector = await OtlpCollector.start();
  await using agent = await startAgent();
  const file = join(folder, `spans-${index}-${database === undefined ? 'bare' : 'ours'}`);
  await writeFile(file, '');
  const preload = isRequired ? ['-r', './preload.cjs'] : ['--import', './preload.mjs'];
  const us = database === undefined ? [] : REGISTER;
  const isPreloaded = when === 'before us' || when === 'after us';
  const flags = isPreloaded ? (when === 'before us' ? [...preload, ...us] : [...us, ...preload]) : us;
  const path = hasOwnApi ? join('own', app) : app;
  const child = spawn(
    process.execPath,
    [...flags, path, isPreloaded ? 'none' : sdk, when, ending, String(gapMs)],
    {
      cwd: folder,
      timeout: 60_000,
      killSignal: 'SIGKILL',
      env: {
        PATH: process.env.PATH ?? '',
        HOME: folder,
        WILD_SPANS: file,
        WILD_PRELOAD: sdk,
        OPENAI_API_KEY: 'sk-none',
        OPENAI_BASE_URL: `${provider.url}/v1`,
        ...exportingTo(collector.url),
        DD_TRACE_AGENT_URL: agent.url,
        DD_INSTRUMENTATION_TELEMETRY_ENABLED: 'false',
        DD_REMOTE_CONFIGURATION_ENABLED: 'false',
        ...(database === undefined ? {} : { MCP_OBSERVATORY_DATABASE_URL: database, ...PATIENT }),
      },
    },
  );
  child.stdin.end();
  const outcome = await outcomeOf(child);
  const spans = [...new Map(collector.spans.map((span) => [span.spanId, span])).values()];
  return { ...outcome, spans: [...spans, ...(await sentSpans(file))], traces: agent.traces() };
}

/** An agent of dd-trace, which counts. */
async function startAgent() {
  let traces = 0;
  const server = createServer((request, response) => {
    traces += Number(request.headers['x-datadog-trace-count'] ?? 0);
    request.resume().on('end', () => response.end('{}'));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    traces: () => traces,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
