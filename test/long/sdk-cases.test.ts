/**
 * The real model SDKs under `register` into PostgreSQL: calls in the forms that applications use, and answers of providers
 * from public reports. Every case of the data folder is a test, held against the right value. A case of `PENDING` may still be wrong.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Consumers, ROOT } from '../support/consumer.ts';
import { dataPath, needsData } from '../support/data.ts';
import { noPostgres, type PostgresServer, runSql, startPostgres } from '../support/postgres-server.ts';
import { PATIENT } from '../support/programs.ts';

const run = promisify(execFile);
const CASES = 'field/telemetry';
const FILES = ['sdk-cases.mjs', 'run-sdk-cases.mjs', 'check-sdk.mjs'];

const PACKAGES = [
  '@opentelemetry/api@1.9.1',
  '@opentelemetry/sdk-trace-node@2.12.0',
  'openai@6',
  '@anthropic-ai/sdk@1',
  '@google/genai@2',
  '@anthropic-ai/bedrock-sdk@1',
  '@anthropic-ai/vertex-sdk@1',
  '@aws-sdk/client-bedrock-runtime@3',
  '@smithy/node-http-handler@4',
  'pg@8.23.1',
];

/** What the reader of usage and the table of prices do not tell yet. */
const PENDING: ReadonlySet<string> = new Set([]);

const skip = noPostgres() || needsData(CASES).skip;
const names = skip === false ? await namesOfCases() : [];

let consumers: Consumers;
let postgres: PostgresServer;
let folder: string;
before(async () => {
  if (noPostgres() !== false) return;
  [consumers, postgres] = await Promise.all([Consumers.pack(), startPostgres()]);
  folder = await consumers.install('model-sdks', PACKAGES, false);
});
after(async () => {
  await postgres?.stop();
  await consumers?.[Symbol.asyncDispose]();
});

async function namesOfCases(): Promise<string[]> {
  const { cases } = await import(pathToFileURL(dataPath(join(CASES, 'sdk-cases.mjs'))).href);
  return (cases as { name: string }[]).map(({ name }) => name);
}

async function node(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
  const environment = { PATH: process.env.PATH, HOME: folder, ...PATIENT, ...env };
  return (await run(process.execPath, args, { cwd: folder, env: environment, timeout: 120_000 })).stdout;
}

test('each form of a call is one row with its provider and tokens', { skip: noPostgres() }, async () => {
  await cp(join(ROOT, 'test/fixtures/frames/model-sdks.mjs'), join(folder, 'model-sdks.mjs'));
  const url = await postgres.createMigrated();
  const printed = await node(['--import', 'mcp-observatory/register', 'model-sdks.mjs'], {
    MCP_OBSERVATORY_DATABASE_URL: url,
    OTEL_TRACES_EXPORTER: 'none',
    OTEL_METRICS_EXPORTER: 'none',
  });
  const rows = await runSql(
    url,
    'SELECT model, provider, prompt_tokens AS input, completion_tokens AS output FROM mcp_traces ORDER BY model COLLATE "C"',
  );
  const expected = JSON.parse(printed) as { readonly model: string }[];
  assert.deepEqual(
    rows,
    expected.sort((a, b) => (a.model < b.model ? -1 : 1)),
  );
});

describe('answers of public reports', { skip }, () => {
  /** What is wrong, by case. */
  const wrong = new Map<string, string>();
  before(async () => {
    for (const file of FILES) await cp(dataPath(join(CASES, file)), join(folder, file));
    const url = await postgres.createMigrated();
    const ran = await node(['--import', 'mcp-observatory/register', 'run-sdk-cases.mjs'], {
      MCP_OBSERVATORY_DATABASE_URL: url,
      OTEL_TRACES_EXPORTER: 'none',
      OTEL_METRICS_EXPORTER: 'none',
      // The program's own end exports what waits.
      WAIT: '1',
    });
    const checked = await node(['check-sdk.mjs', url]);
    for (const line of `${ran}\n${checked}`.split('\n')) {
      const [, name, why] = /^(?:WRONG|not run) (\S+) (.*)$/.exec(line) ?? [];
      if (name !== undefined) wrong.set(name, `${wrong.get(name) ?? ''}${why}; `);
    }
    assert.match(checked, /^right \d+, wrong \d+$/m);
  });

  for (const name of names) {
    test(name, { todo: PENDING.has(name) }, () => {
      assert.equal(wrong.get(name), undefined);
    });
  }
});
