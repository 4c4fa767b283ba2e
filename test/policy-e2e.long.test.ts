import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ObservatoryError } from '../src/base/errors.ts';
import { askCommand } from '../src/cli/ask.ts';
import { gateCommand } from '../src/cli/gate.ts';
import { goldenReplayCommand } from '../src/cli/golden/replay.ts';
import { verifyAudit } from '../src/policy/index.ts';
import { SERVERS, serveShelves } from './support/example-servers.ts';
import { GoldenModel } from './support/golden-model.ts';
import { tempFile } from './support/policy-fixtures.ts';
import { runCommand } from './support/run-command.ts';
import { sized } from './support/size.ts';
import { tempDir } from './support/temp-dir.ts';

const ROOT = new URL('../../', import.meta.url).pathname;
const CONFIG = tempFile('servers.json', SERVERS);
const ALLOWLIST = join(ROOT, 'config/allowlist.json');

test('gate e2e: no call of the gated host goes against the policy, where the naive one makes several', async () => {
  const out = tempDir();
  const cases = join(ROOT, 'examples/gate-e2e/cases.jsonl');
  const args = ['e2e', '--cases', cases, '--servers', CONFIG, '--allowlist', ALLOWLIST, '--out', out];
  const { code, stdout } = await runCommand(gateCommand, args);
  assert.equal(code, 0, stdout);
  const read = (end: string) =>
    readFileSync(join(out, readdirSync(out).find((name) => name.endsWith(end)) ?? ''), 'utf8');
  const { safe, naive } = JSON.parse(read('_metrics.json'));
  assert.deepEqual([safe.cases, safe.violations, naive.violations >= 6], [12, 0, true]);
  assert.deepEqual(Object.keys(safe.gate_us_p50), ['G0', 'G1', 'G3', 'G4']);
  const runs = read('_runs.jsonl')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.equal(runs.length, 24);
  // Also the first naive run is judged by what the servers list: its call is one that the policy allows.
  assert.deepEqual([runs[0].mode, runs[0].calls.length, runs[0].violations], ['naive', 1, []]);
  assert.match(read('_table.md'), /\| of these against the policy \| 0 \|/);
});

test('with SAFE_TRACE_DIR, gate e2e keeps the trace of each gated run, and gate replay repeats every decision', async () => {
  const out = tempDir();
  const traces = tempDir();
  const env = {
    SAFE_TRACE_DIR: traces,
    SAFE_AUDIT_KEY: 'a key',
    OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true',
  };
  const cases = join(tempDir(), 'cases.jsonl');
  const lines = readFileSync(join(ROOT, 'examples/gate-e2e/cases.jsonl'), 'utf8').split('\n');
  writeFileSync(cases, lines.slice(0, sized(4, lines.length)).join('\n'));
  const args = ['e2e', '--cases', cases, '--servers', CONFIG, '--allowlist', ALLOWLIST, '--out', out];
  assert.equal((await runCommand(gateCommand, args, [], env)).code, 0);
  const path = join(out, readdirSync(out).find((name) => name.endsWith('_runs.jsonl')) ?? '');
  const runs = readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { mode: string; run_id: string | null });
  const ids = runs.filter(({ mode }) => mode === 'safe').map(({ run_id }) => run_id);
  assert.ok(runs.every(({ mode, run_id }) => (run_id === null) === (mode === 'naive')));
  assert.deepEqual((await verifyAudit(traces, env.SAFE_AUDIT_KEY)).problems, []);
  const files = ids.map((id) => join(traces, `run-${id}.jsonl`));
  assert.doesNotMatch(readFileSync(files[0] ?? '', 'utf8'), /sp-001/, 'the content is encrypted');
  const replay = await runCommand(gateCommand, ['replay', ...files, '--json'], [], env);
  assert.equal(replay.code, 0, replay.stdout);
  assert.deepEqual(
    replay.rows.filter(({ outcome }) => outcome !== 'same'),
    [],
  );
  assert.deepEqual([...new Set(replay.rows.map(({ event }) => event))].sort(), [
    'call_decided',
    'call_finished',
    'input_checked',
    'plan_checked',
  ]);
  const other = tempFile('other.json', { 'mcp-servicenow': ['get_ticket'] });
  const stricter = await runCommand(gateCommand, ['replay', ...files, '--policy', other], [], env);
  assert.equal(stricter.code, 1);
  assert.match(
    stricter.stdout,
    /first difference, record 3, call_decided mcp-sharepoint\/\S+\n +recorded .*"allow".*\n +now +.*"not_allowlisted"/,
  );
});

test('ask prints the result of one gated step, writes its trail and ends in 1 when blocked', async (t) => {
  const plans = [
    '{"type":"call_tool","server":"mcp-sharepoint","tool":"fetch_sharepoint_doc","args":{"doc_id":"sp-001"}}',
    '{"type":"summary","bullets":[{"claim":"Mask emails","evidence":"Mask emails"}],"risks":[],"recommendations":[]}',
    '{"type":"call_tool","server":"mcp-sharepoint","tool":"delete_sharepoint_doc","args":{"doc_id":"sp-001"}}',
  ];
  await using model = await GoldenModel.open(
    'policy-e2e/ask',
    plans.map((text) => ({ text })),
  );
  const dir = tempDir();
  const golden = join(tempDir(), 'step.json');
  const shelves = await serveShelves();
  t.after(() => shelves[Symbol.asyncDispose]());
  const servers = tempFile('served.json', shelves.servers);
  const ask = (question: string) =>
    runCommand(
      askCommand,
      [
        '--servers',
        servers,
        '--allowlist',
        ALLOWLIST,
        '--model',
        'm',
        '--base-url',
        model.baseUrl('openai'),
        '--json',
        '--prompt-template',
        'ask-v1',
        '--golden',
        golden,
        question,
      ],
      [],
      { SAFE_TRACE_DIR: dir, OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' },
    );
  const first = await ask('Summarize sp-001');
  assert.equal(first.code, 0);
  const {
    type,
    summary,
    run_id: run,
  } = first.rows[0] as { type: string; summary: { bullets: object[] }; run_id: string };
  assert.equal(type, 'tool_result_with_summary');
  assert.deepEqual(summary.bullets, [
    {
      claim: 'Mask emails',
      evidence: 'Mask emails',
      path: ['content'],
      start: 43,
      end: 54,
      match: 'exact',
      is_suspect: false,
    },
  ]);
  assert.ok(readdirSync(dir).includes(`run-${run}.jsonl`));
  const replay = await runCommand(gateCommand, ['replay', join(dir, `run-${run}.jsonl`)]);
  assert.equal(replay.stdout, `${join(dir, `run-${run}.jsonl`)}: 5 same, 0 different, 0 not repeated\n`);
  const replayed = await runCommand(goldenReplayCommand, [golden]);
  assert.equal(replayed.code, 0, replayed.stdout);
  const { test_name, runner, golden_output } = JSON.parse(readFileSync(golden, 'utf8'));
  assert.deepEqual(
    [test_name, runner, golden_output.type, golden_output.run_id],
    ['step', 'policy_host', 'tool_result_with_summary', ''],
  );
  const second = await ask('Delete sp-001');
  assert.deepEqual([second.code, second.rows[0]?.reason_code], [1, 'not_allowlisted']);
  assert.deepEqual((await verifyAudit(dir)).problems, []);
  await assert.rejects(runCommand(askCommand, ['--model', 'm', 'x']), (error) =>
    ObservatoryError.isInstance(error),
  );
});
