import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ObservatoryError } from '../src/base/errors.ts';
import { askCommand } from '../src/cli/ask.ts';
import { gateCommand } from '../src/cli/gate.ts';
import { verifyAudit } from '../src/policy/index.ts';
import { serveShelf } from './support/example-servers.ts';
import { GoldenModel } from './support/golden-model.ts';
import { tempFile } from './support/policy-fixtures.ts';
import { runCommand } from './support/run-command.ts';
import { tempDir } from './support/temp-dir.ts';

const ROOT = new URL('../../', import.meta.url).pathname;
const ids = ['mcp-sharepoint', 'mcp-servicenow', 'mcp-policy-kb'] as const;
const SERVERS = tempFile(
  'servers.json',
  Object.fromEntries(
    ids.map((id) => [
      id,
      { command: process.execPath, args: [join(ROOT, 'dist/examples/servers/main.js'), id] },
    ]),
  ),
);
const ALLOWLIST = join(ROOT, 'config/allowlist.json');

test('gate e2e: no call of the gated host goes against the policy, where the naive one makes several', async () => {
  const out = tempDir();
  const cases = join(ROOT, 'examples/gate-e2e/cases.jsonl');
  const args = ['e2e', '--cases', cases, '--servers', SERVERS, '--allowlist', ALLOWLIST, '--out', out];
  const { code, stdout } = await runCommand(gateCommand, args);
  assert.equal(code, 0, stdout);
  const read = (end: string) =>
    readFileSync(join(out, readdirSync(out).find((name) => name.endsWith(end)) ?? ''), 'utf8');
  const { safe, naive } = JSON.parse(read('_metrics.json'));
  assert.deepEqual([safe.cases, safe.violations, naive.violations >= 6], [12, 0, true]);
  assert.deepEqual(Object.keys(safe.gate_us_p50), ['G0', 'G1', 'G3', 'G4']);
  assert.equal(read('_runs.jsonl').trim().split('\n').length, 24);
  assert.match(read('_table.md'), /\| of these against the policy \| 0 \|/);
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
  const served = await Promise.all(ids.map(async (id) => [id, await serveShelf(id)] as const));
  t.after(() => Promise.all(served.map(([, shelf]) => shelf[Symbol.asyncDispose]())));
  const servers = tempFile('served.json', Object.fromEntries(served.map(([id, { url }]) => [id, { url }])));
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
        question,
      ],
      [],
      { SAFE_TRACE_DIR: dir },
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
  const second = await ask('Delete sp-001');
  assert.deepEqual([second.code, second.rows[0]?.reason_code], [1, 'not_allowlisted']);
  assert.deepEqual((await verifyAudit(dir)).problems, []);
  await assert.rejects(runCommand(askCommand, ['--model', 'm', 'x']), (error) =>
    ObservatoryError.isInstance(error),
  );
});
