import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Golden, readGolden } from '../src/golden/index.ts';
import type { SuiteReport } from './support/golden-suite-process.ts';
import { sized } from './support/size.ts';
import { TEST_GOLDENS } from './support/test-golden.ts';

const GOLDENS = fileURLToPath(new URL('../../goldens', import.meta.url));
/** Which of them are replayed, how many these are at least, and how often some are. */
const REPLAYED = sized('openai', '');
const RUNS = sized({ mcp_ghost: 16, policy_host: 0 }, { mcp_ghost: 50, policy_host: 8 });
const REPLAYS = sized('2', '100');
const support = (name: string) => fileURLToPath(new URL(`./support/${name}.js`, import.meta.url));

const files = readdirSync(GOLDENS, { recursive: true })
  .map(String)
  .filter((name) => name.endsWith('.json') && !name.endsWith('tool_schema_definitions.json'));
const goldens: Golden[] = await Promise.all(files.map((name) => readGolden(join(GOLDENS, name))));

test('the orchestrator and policy goldens replay where there is no network, and come to what they hold', async () => {
  const args = [
    '--import',
    support('no-network'),
    support('golden-suite-process'),
    join(GOLDENS, REPLAYED),
    REPLAYS,
  ];
  const names = ['edge_case_parallel_calls', 'policy_summary_with_evidence'];
  // A namespace of its own without any interface, where the machine allows it; the refusals hold everywhere.
  const [command, before] = mayUnshare() ? ['unshare', ['-rn', process.execPath]] : [process.execPath, []];
  const { stdout } = await promisify(execFile)(command, [...before, ...args, ...names], { maxBuffer: 1e8 });
  const report = JSON.parse(stdout) as SuiteReport;
  assert.deepEqual(report.findings, []);
  const asked = files.filter((name) => name.startsWith(REPLAYED));
  assert.equal(report.replayed, asked.length - 1, 'all but the one of the demo');
  assert.deepEqual(report.refusals, { network: 0, processes: 0 }, 'nothing was even tried');
  for (const [runner, atLeast] of Object.entries(RUNS)) {
    assert.ok((report.runners[runner] ?? 0) >= atLeast, runner);
  }
  const varying = Object.entries(report.results).filter(([, results]) => results !== 1);
  assert.deepEqual(varying, [], 'every replay of a golden gives the same');
});

test('the library says of every golden that it is scripted, and covers what it should', () => {
  for (const golden of goldens) assert.equal(golden.source, 'scripted', golden.test_name);
  for (const provider of ['openai', 'anthropic', 'gemini']) {
    const names = files.filter((name) => name.startsWith(provider));
    assert.ok(names.length >= 18, provider);
    const categories = new Set(
      goldens.filter((golden) => golden.input.provider === provider).map((golden) => golden.category),
    );
    assert.deepEqual([...categories].sort(), [
      'edge_case',
      'error_recovery',
      'happy_path',
      'provider_comparison',
    ]);
  }
  const inputs = goldens
    .filter((golden) => golden.category === 'provider_comparison')
    .map(({ input: { provider: _, model: __, ...rest } }) => rest);
  assert.equal(inputs.length, 3);
  assert.deepEqual(inputs[1], inputs[0]);
  assert.deepEqual(inputs[2], inputs[0]);
});

test('the cassettes list the tools that stand in the shared definitions', () => {
  const shared = JSON.parse(
    readFileSync(join(GOLDENS, 'shared/tool_schema_definitions.json'), 'utf8'),
  ) as Record<string, { tools: unknown[] }>;
  for (const golden of goldens) {
    for (const [name, server] of Object.entries(golden.mcp_cassette?.servers ?? {})) {
      const [first] = server.connections;
      assert.ok(first?.outcome === 'ready');
      assert.deepEqual(first.tool_lists[0], shared[name]?.tools, `${golden.test_name}: ${name}`);
    }
  }
});

test('each value that the goldens of the test suites share is shared by one of them', () => {
  const names = readdirSync(TEST_GOLDENS, { recursive: true }).map(String);
  const kept = names.flatMap((name) => /^shared\/(.+)\.json$/.exec(name)?.[1] ?? []);
  const used = names
    .filter((name) => name.endsWith('.json'))
    .flatMap((name) => [
      ...readFileSync(join(TEST_GOLDENS, name), 'utf8').matchAll(/\{"shared": ?"(\w+)"\}/g),
    ]);
  assert.deepEqual(kept.sort(), [...new Set(used.map(([, hash]) => hash))].sort());
});

test('nothing in the library, nor in the goldens of the test suites, is of this machine or secret', () => {
  const secrets =
    /no-key-is-needed|test-key|sk-[A-Za-z0-9]{16}|Bearer |api[_-]key|set-cookie|127\.0\.0\.1:\d|\/home\/|\/root\/|\/work\/|\/tmp\//i;
  const inSuites = readdirSync(TEST_GOLDENS, { recursive: true })
    .map((name) => join(TEST_GOLDENS, String(name)))
    .filter((name) => name.endsWith('.json'));
  assert.ok(inSuites.length > 0);
  for (const name of [...files.map((file) => join(GOLDENS, file)), ...inSuites]) {
    const found = secrets.exec(readFileSync(name, 'utf8'));
    assert.equal(found?.[0], undefined, name);
  }
});

function mayUnshare(): boolean {
  try {
    execFileSync('unshare', ['-rn', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
