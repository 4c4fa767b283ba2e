import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ObservatoryError } from '../src/base/errors.ts';
import { gateCommand } from '../src/cli/gate.ts';
import { SEED_ALLOWLIST, SEED_TOOLS, tempFile } from './support/policy-fixtures.ts';
import { runCommand } from './support/run-command.ts';

const TOOLS = tempFile('tools.json', SEED_TOOLS);
const ALLOWLIST = tempFile('allowlist.json', SEED_ALLOWLIST);
const PLAN =
  '{"type":"call_tool","server":"mcp-sharepoint","tool":"fetch_sharepoint_doc","args":{"doc_id":"sp-001"}}';

const plan = (lines: readonly string[], args: readonly string[] = ['--allowlist', ALLOWLIST], env = {}) =>
  runCommand(gateCommand, ['plan', '--tools', TOOLS, ...args], lines, env);

test('gate plan answers each line in order, with its id, and goes on after a bad one', async () => {
  const remove = PLAN.replace('fetch', 'delete');
  const { code, rows } = await plan([
    `{"id":"a","raw":${JSON.stringify(PLAN)}}`,
    `{"id":0,"raw":${PLAN}}`,
    `{"id":"c","raw":${JSON.stringify(remove)}}`,
    '{"id":"d","raw":{"type":"final_answer","answer":"Which?","needs_more_info":true}}',
    'not json',
    '{"id":"f"}',
    '{"id":"g","raw":null}',
  ]);
  assert.equal(code, 1, 'two lines cannot be read');
  assert.deepEqual(
    rows.map((row) => [
      row.id ?? null,
      row.decision,
      row.gate,
      row.reason_code ?? (row.error as { code: string }).code,
    ]),
    [
      ['a', 'allow', 'G3', 'allowed'],
      [0, 'allow', 'G3', 'allowed'],
      ['c', 'deny', 'G3', 'not_allowlisted'],
      ['d', 'final_answer', 'G1', 'final_answer'],
      [null, undefined, undefined, 'INVALID_INPUT'],
      ['f', undefined, undefined, 'INVALID_INPUT'],
      ['g', 'deny', 'G1', 'plan_not_an_object'],
    ],
  );
  assert.deepEqual(Object.keys(rows[0] ?? {}), ['id', 'decision', 'gate', 'reason_code', 'message']);
});

test('a plan given as a JSON value keeps its duplicate keys and unsafe numbers from being lost', async () => {
  const { rows } = await plan([
    `{"id":1,"raw":${PLAN.replace('"args"', '"tool":"delete_sharepoint_doc","args"')}}`,
    `{"id":2,"raw":${PLAN.replace('"sp-001"', '9007199254740993')}}`,
    `{"id":3,"raw":${PLAN.replace('{"doc_id"', '{"__proto__":1,"doc_id"')}}`,
  ]);
  assert.deepEqual(
    rows.map((row) => row.reason_code),
    ['plan_duplicate_key', 'plan_unsafe_number', 'plan_prototype_key'],
  );
});

test('the policy comes from --allowlist, else SAFE_ALLOWLIST_PATH; one that cannot be used denies every line and ends in 2', async () => {
  const line = `{"id":1,"raw":${PLAN}}`;
  const fromEnv = await plan([line], [], { SAFE_ALLOWLIST_PATH: ALLOWLIST });
  assert.deepEqual([fromEnv.code, fromEnv.rows[0]?.decision], [0, 'allow']);
  for (const path of [
    '/nowhere/allowlist.json',
    tempFile('a.json', '{"mcp-sharepoint":["fetch_sharepoint_doc",]}'),
  ]) {
    const broken = await plan([line, line], ['--allowlist', path]);
    assert.deepEqual(
      [broken.code, broken.rows.map((row) => row.reason_code)],
      [2, ['policy_unavailable', 'policy_unavailable']],
    );
    assert.match(broken.stderr, /cannot be (read|used)/);
  }
});

test('a rule that asks for approval gives needs_approval', async () => {
  const policy = tempFile('policy.json', {
    version: 1,
    rules: [
      { id: 'ask', effect: 'require_approval', server: 'mcp-sharepoint', tool: 'delete_sharepoint_doc' },
    ],
  });
  const { rows } = await plan([`{"id":1,"raw":${PLAN.replace('fetch', 'delete')}}`], ['--allowlist', policy]);
  assert.deepEqual([rows[0]?.decision, rows[0]?.reason_code], ['needs_approval', 'approval_required']);
});

test('bad usage is a typed error', async () => {
  const cases: string[][] = [
    [],
    ['nothing'],
    ['plan'],
    ['plan', '--tools'],
    ['plan', '--tools', '/nowhere'],
    ['plan', '--tools', TOOLS, '--what'],
    ['evidence', 'x'],
    ['eval', '--cases', 'many'],
  ];
  for (const args of cases) {
    await assert.rejects(
      runCommand(gateCommand, args),
      (error) => ObservatoryError.isInstance(error) && error.code === 'INVALID_OPTION',
      args.join(' '),
    );
  }
});

test('gate evidence gives the place of each quote, or the reason there is none', async () => {
  const source = { id: 'x', pages: ['Intro', 'Never log secrets.\nMask  emails.'] };
  const summary = (claim: string, evidence: string) => ({
    type: 'summary',
    bullets: [{ claim, evidence }],
    risks: [],
    recommendations: [],
  });
  const lines = [
    summary('Never log secrets', 'Never log secrets.'),
    summary('Mask emails', 'Mask emails'),
    summary('x', 'absent text that is long'),
    'prose',
  ];
  const { code, rows } = await runCommand(
    gateCommand,
    ['evidence'],
    lines.map((item, id) => JSON.stringify({ id, source, summary: item })),
  );
  assert.equal(code, 0);
  assert.deepEqual(rows, [
    {
      id: 0,
      decision: 'accept',
      reason_code: 'accepted',
      bullets: [{ path: ['pages', 1], start: 0, end: 18, match: 'exact' }],
    },
    {
      id: 1,
      decision: 'accept',
      reason_code: 'accepted',
      bullets: [{ path: ['pages', 1], start: 19, end: 31, match: 'normalised' }],
    },
    { id: 2, decision: 'reject', reason_code: 'evidence_not_found', bullets: [] },
    { id: 3, decision: 'reject', reason_code: 'summary_invalid', bullets: [] },
  ]);
  assert.equal((await runCommand(gateCommand, ['evidence'], [JSON.stringify({ source })])).code, 1);
});

test('gate evidence takes what the caller said as no evidence', async () => {
  const said = 'the board approved the merger';
  const summary = {
    type: 'summary',
    bullets: [{ claim: said, evidence: said }],
    risks: [],
    recommendations: [],
  };
  const judge = async (extra: object) => {
    const line = JSON.stringify({ source: { note: said }, summary, ...extra });
    return (await runCommand(gateCommand, ['evidence'], [line])).rows[0]?.reason_code;
  };
  assert.equal(await judge({}), 'accepted');
  assert.equal(await judge({ args: { text: said } }), 'evidence_echo');
  assert.equal(await judge({ query: said }), 'evidence_echo');
});

test("gate plan takes the user's request, for rules about where arguments come from", async () => {
  const rule = {
    id: 'r',
    effect: 'allow',
    server: 'mcp-sharepoint',
    tool: 'fetch_sharepoint_doc',
    provenance: ['doc_id'],
  };
  const policy = tempFile('policy.json', { version: 1, rules: [rule] });
  const lines = ['Open sp-001', 'Open it'].map((query) => `{"query":"${query}","raw":${PLAN}}`);
  const { rows } = await plan(lines, ['--allowlist', policy]);
  assert.deepEqual(
    rows.map((row) => row.decision),
    ['allow', 'needs_approval'],
  );
});
