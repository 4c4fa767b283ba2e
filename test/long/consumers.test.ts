import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { Consumers, NODE_24 } from '../support/consumer.ts';

const run = promisify(execFile);
const HELLO = createHash('sha256').update('Hello').digest('hex');

let consumers: Consumers;
before(async () => {
  consumers = await Consumers.pack();
});
after(() => consumers[Symbol.asyncDispose]());

interface Output {
  readonly node: string;
  readonly rows: readonly Record<string, unknown>[];
  readonly evaluations?: number;
}

async function runOn(node: readonly string[], folder: string, args: readonly string[]): Promise<Output> {
  const [command, ...rest] = [...node, ...args];
  const { stdout } = await run(command as string, rest, { cwd: folder });
  return JSON.parse(stdout.trim().split('\n').at(-1) as string) as Output;
}

function assertEnriched({ rows, evaluations }: Output): void {
  // Of each call: the risk, the verifier's score and the variance of numbers.
  assert.equal(evaluations, 6);
  assert.equal(rows.length, 2);
  const [own, foreign] = rows as [Record<string, unknown>, Record<string, unknown>];
  assert.equal(own.prompt_hash, HELLO);
  assert.equal(own.risk_tier, 'low');
  assert.equal(foreign.prompt_hash, HELLO);
  assert.equal(foreign.answer_hash, own.answer_hash);
  assert.ok((foreign.cost_usd as number) > 0);
  assert.ok(foreign.hallucination_risk_level);
}

const SDK2 = ['@opentelemetry/api@1.9.1', '@opentelemetry/sdk-trace-node@2.12.0', '@electric-sql/pglite@0.5'];
const SDK3 = [
  '@opentelemetry/api@1.10.0',
  '@opentelemetry/sdk-trace@3.1.1',
  '@opentelemetry/exporter-trace-otlp-http@0.301.0',
  '@opentelemetry/context-async-hooks@3',
  '@electric-sql/pglite@0.5',
];

test('the packed tarball installs beside SDK 2, and its spans are enriched and stored', async () => {
  const folder = await consumers.install('sdk2', SDK2);
  assertEnriched(await runOn(['node'], folder, ['sdk2.mjs']));
  const started = await runOn(['node'], folder, ['start.mjs']);
  assert.deepEqual(started.rows, [
    { service: 'consumer', is_root: true },
    { service: 'consumer', is_root: false },
  ]);
});

test('the packed tarball installs beside SDK 3 on Node 24, and its spans are enriched and stored', async () => {
  const folder = await consumers.install('sdk3', SDK3);
  const output = await runOn(NODE_24, folder, ['sdk3.mjs', 'structured']);
  assert.match(output.node, /^v24\./);
  assertEnriched(output);
  const started = await runOn(NODE_24, folder, ['start.mjs']);
  assert.deepEqual(started.rows, [
    { service: 'consumer', is_root: true },
    { service: 'consumer', is_root: false },
  ]);
});
