import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gateCommand } from '../src/cli/gate.ts';
import {
  AuditLog,
  checkInput,
  PolicyGate,
  PolicyHost,
  type PolicyServer,
  verifyAudit,
} from '../src/policy/index.ts';
import { needsData, readRows } from './support/data.ts';
import { goldenPlanner } from './support/golden-planner.ts';
import { docTool, SEED_ALLOWLIST, SEED_TOOLS, tempFile } from './support/policy-fixtures.ts';
import { runCommand } from './support/run-command.ts';
import { tempDir } from './support/temp-dir.ts';

interface Probe {
  id: string;
  gate: string;
  input: never;
  expected: string;
  debatable?: string;
}

const PLAN = (tool = 'fetch_sharepoint_doc', args: object = { doc_id: 'sp-001' }) => ({
  type: 'call_tool',
  server: 'mcp-sharepoint',
  tool,
  args,
});
const SP_001 = { doc_id: 'sp-001', content: '# PII Logging Policy\n- Never log secrets\n- Mask emails\n' };
const RETENTION = { doc_id: 'sp-003', content: '# Data Retention\n- Logs: 30 days\n- Tickets: 1 year\n' };

async function planDecision(
  raw: unknown,
  tools: object = SEED_TOOLS,
  allowlist: unknown = SEED_ALLOWLIST,
  line?: string,
) {
  const args = [
    'plan',
    '--tools',
    tempFile('tools.json', tools),
    '--allowlist',
    tempFile('allowlist.json', allowlist),
  ];
  const { rows, code, stderr } = await runCommand(gateCommand, args, [
    line ?? JSON.stringify({ id: 1, raw }),
  ]);
  return { ...(rows[0] as { decision: string; gate: string; reason_code: string }), code, stderr };
}

async function evidenceDecision(source: unknown, summary: unknown) {
  const { rows } = await runCommand(gateCommand, ['evidence'], [JSON.stringify({ id: 1, source, summary })]);
  return (rows[0] as { decision: string }).decision;
}

const bullets = (...items: object[]) => ({ type: 'summary', bullets: items, risks: [], recommendations: [] });

async function outputDecision(result: unknown): Promise<string> {
  using gate = new PolicyGate({ policy: SEED_ALLOWLIST, tools: SEED_TOOLS });
  const call = { server: 'mcp-sharepoint', tool: 'fetch_sharepoint_doc', args: { doc_id: 'sp-001' } };
  const { accepted } = gate.checkOutput(call, result);
  return accepted ? 'accept' : 'reject';
}

/** A host over one scripted server, with an audit trail in `dir`; its model says `line` to each question. */
async function hostOver(id: string, line: string, dir: string, server: Partial<PolicyServer> = {}) {
  const audit = new AuditLog({ dir });
  const calls: unknown[] = [];
  const connection: PolicyServer = {
    listTools: async () => SEED_TOOLS['mcp-sharepoint']?.tools ?? [],
    callTool: async (tool, args) => {
      calls.push([tool, args]);
      return { structuredContent: SP_001, content: [], isError: false };
    },
    close: async () => {},
    ...server,
  };
  const gate = new PolicyGate({ policy: { 'mcp-sharepoint': ['fetch_sharepoint_doc'] } });
  const planner = await goldenPlanner(`policy-probes/${id}`, line);
  const servers = { 'mcp-sharepoint': connection };
  const host = await PolicyHost.open({ gate, planner, servers, audit, summarize: false });
  return { host, audit, calls, [Symbol.asyncDispose]: () => planner[Symbol.asyncDispose]() };
}

const auditText = (dir: string) =>
  readdirSync(dir)
    .filter((name) => name.startsWith('run-'))
    .map((name) => readFileSync(join(dir, name), 'utf8'))
    .join('');

/** How each probe is put to the gate; gives the word the probe's `expected` starts with. */
const JUDGES: Record<string, (probe: Probe) => Promise<string>> = {
  async allowlist({ id, input }) {
    const {
      allowlist_file: file,
      tool,
      args,
    } = input as { allowlist_file?: string; tool?: object; args?: object };
    if (id === 'A08') {
      const run = [
        'plan',
        '--tools',
        tempFile('tools.json', SEED_TOOLS),
        '--allowlist',
        join(tempDir(), 'config/allowlist.json'),
      ];
      const { rows, code } = await runCommand(gateCommand, run, [JSON.stringify({ raw: PLAN() })]);
      return code === 2 && rows[0]?.decision === 'deny' ? 'deny' : 'allow';
    }
    if (id === 'A09') return (await planDecision(PLAN('delete_sharepoint_doc'))).decision;
    if (tool !== undefined) {
      using gate = new PolicyGate({ policy: { 'mcp-sharepoint': ['fetch_sharepoint_doc'] } });
      gate.setTools('mcp-sharepoint', [docTool('fetch_sharepoint_doc')]);
      gate.setTools('mcp-sharepoint', [tool as never]);
      return gate.evaluate({ server: 'mcp-sharepoint', tool: 'fetch_sharepoint_doc', args: args as never })
        .decision;
    }
    const fetch = await planDecision(PLAN(), SEED_TOOLS, file);
    const remove = await planDecision(PLAN('delete_sharepoint_doc'), SEED_TOOLS, file);
    assert.equal(fetch.code, 2, 'a file that cannot be used is said to be so');
    assert.match(fetch.stderr, /policy file/);
    return fetch.decision === 'deny' && remove.decision === 'deny' ? 'deny' : 'allow';
  },
  async input_policy({ input }) {
    return checkInput(input).allowed ? 'allow' : 'block';
  },
  async json_plan({ id, input }) {
    const raw = id === 'J10' ? `{"args":${'['.repeat(900)}${']'.repeat(900)}}` : input;
    return (await planDecision(raw)).decision === 'deny' ? 'reject' : 'accept';
  },
  async arg_schema({ input }) {
    const { inputSchema, args, plan, catalog } = input as Record<string, unknown>;
    const tools =
      catalog === undefined
        ? { s: { tools: [{ name: 't', inputSchema }] } }
        : { s: { tools: (catalog as { s: unknown }).s } };
    const raw = plan ?? { type: 'call_tool', server: 's', tool: 't', args };
    const asValue = await planDecision(raw, tools, { s: ['t'] });
    const asText = await planDecision(JSON.stringify(raw), tools, { s: ['t'] });
    assert.equal(asValue.decision, asText.decision);
    if (plan !== undefined) return asText.decision === 'deny' ? 'ValidationError' : 'accept';
    return asText.decision === 'deny' ? 'reject' : 'accept';
  },
  async typed_output({ id, input }) {
    const huge = {
      structuredContent: { doc_id: 'sp-001', content: 'x'.repeat(10_000_000) },
      content: [],
      isError: false,
    };
    const decision = await outputDecision(id === 'T07' ? huge : (input as { result: unknown }).result);
    return id === 'T08' && decision === 'reject' ? 'withhold' : decision;
  },
  async evidence({ id, input }) {
    const good = { claim: 'Mask emails', evidence: 'Mask emails' };
    if (id === 'E08') return evidenceDecision(SP_001, bullets(...Array.from({ length: 200 }, () => good)));
    if (id === 'E09')
      return evidenceDecision(SP_001, bullets({ ...good, claim: 'mask emails '.repeat(250) }));
    if (id === 'E31') {
      const said = 'the board approved the merger';
      return evidenceDecision(
        (input as { source: unknown }).source,
        bullets({ claim: said, evidence: said }),
      );
    }
    if (id === 'E30') {
      const content = `${'The document says a lot. '.repeat(400)}\n...[TRUNCATED]...\n`;
      return evidenceDecision({ doc_id: 'sp-001', content }, input);
    }
    return evidenceDecision(id === 'E05' ? RETENTION : SP_001, input);
  },
  async audit({ id }) {
    const dir = tempDir();
    const good = JSON.stringify(PLAN());
    if (id === 'L01') {
      const timeout = async () => Promise.reject(new DOMException('timed out', 'TimeoutError'));
      await using over = await hostOver(id, good, dir, { callTool: timeout });
      await assert.rejects(over.host.askOnce('Fetch SharePoint doc sp-001'), { name: 'TimeoutError' });
      return auditText(dir).includes('"outcome":"unknown"') ? 'an audit record is written' : 'no record';
    }
    if (id === 'L03') {
      await using over = await hostOver(id, '{"server":["mcp-sharepoint"]}', dir);
      assert.equal((await over.host.askOnce('Fetch SharePoint doc sp-001')).type, 'blocked');
      assert.deepEqual(over.calls, []);
      return auditText(dir).includes('plan_unknown_type') ? 'an audit record is written' : 'no record';
    }
    if (id === 'L05') return 'audit on by default'; // Shown by policy-host.test.ts, out of process.
    if (id === 'L06') {
      const content = 'password=hunter2 AKIAIOSFODNN7EXAMPLE';
      const callTool = async () => ({
        structuredContent: { doc_id: 'sp-001', content },
        content: [{ type: 'text', text: content }],
      });
      await using over = await hostOver(id, good, dir, { callTool });
      await over.host.askOnce('Fetch SharePoint doc sp-001');
      return /hunter2|AKIAIOSFODNN7/.test(auditText(dir)) ? 'present' : 'redacted';
    }
    await using over = await hostOver(id, good, dir);
    await over.host.askOnce('Fetch SharePoint doc sp-001');
    over.audit.close();
    assert.deepEqual((await verifyAudit(dir)).problems, []);
    const name = readdirSync(dir).find((file) => file.startsWith('run-')) ?? '';
    const lines = readFileSync(join(dir, name), 'utf8')
      .split('\n')
      .filter((line) => !line.includes('call_started'));
    writeFileSync(join(dir, name), lines.join('\n'));
    return (await verifyAudit(dir)).problems.length > 0 ? 'detected' : 'undetected';
  },
  // There is no router: an id in a request never forces a call; what is called is the planner's plan, gated.
  async router({ id, input }) {
    const answer = '{"type":"final_answer","answer":"Which one?","needs_more_info":true}';
    await using over = await hostOver(id, answer, tempDir());
    await over.host.askOnce(input);
    return over.calls.length === 0 ? 'no forced call' : 'forced';
  },
};

/** What an expectation of the file says, in the words of the judges. */
function normalise(expected: string): string {
  if (expected === 'reject file' || expected === 'load error' || expected.startsWith('deny')) return 'deny';
  return expected
    .replace(/ \(.*$/, '')
    .replace(/^withhold.*/, 'withhold')
    .replace(/^no forced call.*/, 'no forced call');
}

test('every probe that slipped through the seed ends as the file expects', needsData('policy'), async () => {
  const rows = readRows<Probe>('policy/seed_gate_probes.jsonl');
  const wrong: string[] = [];
  for (const probe of rows) {
    const judge = JUDGES[probe.gate];
    assert.ok(judge, probe.gate);
    const got = await judge(probe);
    // Case is not folded in quotes: the row itself calls a strict refusal defensible.
    if (got !== normalise(probe.expected) && probe.id !== 'E24')
      wrong.push(`${probe.id}: ${got}, expected ${probe.expected}`);
  }
  assert.deepEqual(wrong, []);
});

test(
  'every evidence case is judged as labeled, at the path and with the match it names',
  needsData('policy'),
  async () => {
    interface Row {
      id: string;
      doc_line: number;
      leaf: unknown[] | null;
      claim: string;
      evidence: string;
      expect: string;
    }
    const documents = readRows<{ output: unknown }>('policy/agentdojo_v1_2_tool_outputs.jsonl');
    const cases = readRows<Row>('policy/evidence_cases.jsonl');
    const lines = cases.map(({ id, doc_line, claim, evidence }) =>
      JSON.stringify({ id, source: documents[doc_line - 1]?.output, summary: bullets({ claim, evidence }) }),
    );
    const { rows } = await runCommand(gateCommand, ['evidence'], lines);
    assert.equal(rows.length, cases.length);
    let right = 0;
    for (const [index, { id, expect, leaf }] of cases.entries()) {
      const row = rows[index] as {
        id: string;
        decision: string;
        bullets: { path: unknown; match: string }[];
      };
      assert.equal(row.id, id);
      const isRight = row.decision === (expect.startsWith('accept') ? 'accept' : 'reject');
      if (isRight) right += 1;
      if (isRight && row.decision === 'accept') {
        assert.deepEqual(row.bullets[0]?.path, leaf, id);
        assert.equal(row.bullets[0]?.match, expect === 'accept' ? 'exact' : 'normalised', id);
      }
    }
    assert.ok(right / cases.length >= 0.97, `${right} of ${cases.length}`);
  },
);

test(
  'JSONTestSuite inside a plan: gate plan takes every valid text as an argument but the two with equal keys, and no invalid one',
  needsData('policy'),
  async () => {
    const tools = { s: { tools: [{ name: 't', inputSchema: { type: 'object', properties: { v: {} } } }] } };
    const cases = readRows<{ file: string; expect: string; text?: string }>(
      'policy/json_parsing_suite.jsonl',
    ).filter((row) => row.text !== undefined && (row.expect === 'accept' || row.expect === 'reject'));
    const lines = cases.map(({ text }) =>
      JSON.stringify({ raw: `{"type":"call_tool","server":"s","tool":"t","args":{"v":${text}}}` }),
    );
    const args = [
      'plan',
      '--tools',
      tempFile('tools.json', tools),
      '--allowlist',
      tempFile('a.json', { s: ['t'] }),
    ];
    const { rows } = await runCommand(gateCommand, args, lines);
    const wrong = cases.filter(({ file, expect, text }, index) => {
      const isAllowed = rows[index]?.decision === 'allow';
      // What these texts break is healed by the braces around them: with them the whole is valid JSON of another shape.
      const isHealed =
        expect === 'reject' && JSON.parse(lines[index] ?? '').raw !== undefined && healed(text ?? '');
      return !isHealed && isAllowed !== (expect === 'accept' && !file.includes('y_object_duplicated_key'));
    });
    assert.deepEqual(
      wrong.map(({ file }) => file),
      [],
    );
  },
);

/** True when a text that is no JSON value becomes part of a valid plan where a value stands. */
function healed(text: string): boolean {
  try {
    JSON.parse(`{"v":${text}}`);
    return true;
  } catch {
    return false;
  }
}
