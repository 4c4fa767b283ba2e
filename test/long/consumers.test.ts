import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../../..');
const HELLO = createHash('sha256').update('Hello').digest('hex');

let work: string;
let tarball: string;

before(async () => {
  work = await mkdtemp(join(tmpdir(), 'observatory-consumers-'));
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', work, '--ignore-scripts'], {
    cwd: ROOT,
  });
  tarball = join(work, stdout.trim().split('\n').at(-1) as string);
});
after(() => rm(work, { recursive: true, force: true }));

/** Installs the tarball beside the packages a user would have; ERESOLVE fails the test. */
async function consumer(name: string, dependencies: readonly string[]): Promise<string> {
  const folder = join(work, name);
  await cp(join(ROOT, 'test/consumers'), folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name, private: true, type: 'module' }));
  await run('npm', ['install', '--strict-peer-deps', '--no-audit', '--no-fund', tarball, ...dependencies], {
    cwd: folder,
  });
  return folder;
}

interface Output {
  readonly node: string;
  readonly rows: readonly Record<string, unknown>[];
}

async function runOn(node: readonly string[], folder: string, args: readonly string[]): Promise<Output> {
  const [command, ...rest] = [...node, ...args];
  const { stdout } = await run(command as string, rest, { cwd: folder });
  return JSON.parse(stdout.trim().split('\n').at(-1) as string) as Output;
}

function assertEnriched({ rows }: Output): void {
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
const NODE_24 = ['npx', '--yes', '--package', 'node@24', 'node'];

test('the packed tarball installs beside SDK 2, and its spans are enriched and stored', async () => {
  const folder = await consumer('sdk2', SDK2);
  assertEnriched(await runOn(['node'], folder, ['sdk2.mjs']));
  const started = await runOn(['node'], folder, ['start.mjs']);
  assert.deepEqual(started.rows, [
    { service: 'consumer', is_root: true },
    { service: 'consumer', is_root: false },
  ]);
});

test('the packed tarball installs beside SDK 3 on Node 24, and its spans are enriched and stored', async () => {
  const folder = await consumer('sdk3', SDK3);
  const output = await runOn(NODE_24, folder, ['sdk3.mjs', 'structured']);
  assert.match(output.node, /^v24\./);
  assertEnriched(output);
  const started = await runOn(NODE_24, folder, ['start.mjs']);
  assert.deepEqual(started.rows, [
    { service: 'consumer', is_root: true },
    { service: 'consumer', is_root: false },
  ]);
});
