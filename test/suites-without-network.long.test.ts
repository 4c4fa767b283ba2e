/** The orchestrator and policy suites need no network, and their goldens match their scripts. */
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { needsData } from './support/data.ts';
import { exchangesOf } from './support/golden-source.ts';
import { runsWithoutNetwork } from './support/run-groups.ts';
import type { SuitesReport } from './support/suites-process.ts';
import { readTestGolden, TEST_GOLDENS } from './support/test-golden.ts';

const SUITES = readdirSync(import.meta.dirname)
  .filter((name) => runsWithoutNetwork(name) || name === 'policy-e2e.long.test.js')
  .map((name) => join(import.meta.dirname, name));
/** Those whose models answer from goldens. */
const ON_GOLDENS = SUITES.filter((file) =>
  /\/support\/(?:ghost|golden-model|golden-planner)\.js'/.test(readFileSync(file, 'utf8')),
);
const GUARD = new URL('./support/loopback-only.js', import.meta.url).href;
/** What the goldens are differences to. */
const OPENINGS = 'openings.json';
/** The first argument is a program, run where loopback is the only network. */
const IN_NAMESPACE = ['-rn', 'sh', '-c', 'ip link set lo up && exec "$0" "$@"'];

const folder = mkdtempSync(join(tmpdir(), 'suites-'));
after(() => rmSync(folder, { recursive: true }));

/** An environment in which sockets to anything but loopback are refused, and those that were tried. */
function guarded(name: string) {
  const file = join(folder, name);
  const tried = () => (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []);
  return { env: { NODE_OPTIONS: `--import=${GUARD}`, REFUSED_SOCKETS: file }, tried };
}

async function runSuites(
  suites: readonly string[],
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
  [command, before]: readonly [string, readonly string[]] = [process.execPath, []],
): Promise<SuitesReport> {
  const program = fileURLToPath(new URL('./support/suites-process.js', import.meta.url));
  // Without what tells a process that it is a test itself.
  const { NODE_TEST_CONTEXT: _, ...inherited } = process.env;
  const { stdout } = await promisify(execFile)(command, [...before, program, ...suites], {
    env: { ...inherited, OBSERVATORY_TEST_SIZE: 'full', ...env },
    maxBuffer: 1e8,
    signal,
  });
  return JSON.parse(stdout) as SuitesReport;
}

test('the orchestrator and policy suites run on goldens, without a network', {
  timeout: 300_000,
}, async (t) => {
  const { env, tried } = guarded('suites');
  // A namespace of its own, where the machine allows it; the refusals hold everywhere.
  const inNamespace = mayUnshare();
  t.diagnostic(inNamespace ? 'in a network namespace with loopback alone' : 'with sockets refused');
  const how = inNamespace ? (['unshare', [...IN_NAMESPACE, process.execPath]] as const) : undefined;
  const startedAt = performance.now();
  const report = await runSuites(SUITES, { ...env, UPDATE_GOLDENS: '' }, t.signal, how);
  // Aimed at: less than a minute on two processors that do nothing else. Told, for a busy machine may take longer.
  t.diagnostic(`${report.passed} tests took ${Math.round((performance.now() - startedAt) / 1000)} s`);
  assert.deepEqual(report.failed, []);
  assert.ok(report.passed >= 150, `${report.passed} tests`);
  const unexpected = report.skipped.filter((one) => !/: (?:no test data|root writes everywhere)/.test(one));
  assert.deepEqual(unexpected, []);
  assert.deepEqual(tried(), [], 'nothing was even tried');
});

test('the refusals hold in the processes of processes, whatever environment they are given', async () => {
  const { env, tried } = guarded('control');
  const connect = "require('net').connect(9, '192.0.2.1')";
  const start = `require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(connect)}], { env: {} })`;
  await promisify(execFile)(process.execPath, ['-e', start], { env: { ...process.env, ...env } });
  assert.equal(tried().length, 1);
  assert.match(tried()[0] ?? '', /^a connection to 192\.0\.2\.1 from/);
});

test('each golden of the suites is what the script of its test makes, and none is left over', {
  timeout: 300_000,
}, async (t) => {
  const made = join(folder, 'made');
  const report = await runSuites(ON_GOLDENS, { UPDATE_GOLDENS: made }, t.signal);
  assert.deepEqual(report.failed, []);
  // These stand behind tests that are skipped where there is no data.
  const isMade = (name: string) => needsData('policy').skip === false || !name.startsWith('policy-probes');
  const files = goldensIn(TEST_GOLDENS).filter(isMade);
  assert.deepEqual(goldensIn(made), files);
  for (const file of files) {
    const name = file.replace(/\.json$/, '');
    const [kept, fresh] = await Promise.all([TEST_GOLDENS, made].map((at) => readTestGolden(name, at)));
    assert.ok(kept !== undefined && fresh !== undefined);
    assert.deepEqual(exchangesOf(kept), exchangesOf(fresh), `${file}: run the tests with UPDATE_GOLDENS=1`);
  }
});

function goldensIn(where: string): string[] {
  return readdirSync(where, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith('.json') && !name.startsWith('shared/') && name !== OPENINGS)
    .sort();
}

function mayUnshare(): boolean {
  try {
    execFileSync('unshare', [...IN_NAMESPACE, 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
