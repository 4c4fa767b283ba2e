import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  AuditLog,
  type AuditOptions,
  guardedCall,
  PolicyGate,
  PolicyHost,
  type PolicyServer,
  replayTrace,
} from '../src/policy/index.ts';
import { script } from './support/example-servers.ts';
import { tempDir } from './support/temp-dir.ts';

const SECRET = `ghp_${'a'.repeat(36)}`;
const RULES = [
  { id: 'get', effect: 'allow', server: 's', tool: 'get' },
  { id: 'send', effect: 'require_approval', server: 's', tool: 'send' },
];
const TOOLS = [
  {
    name: 'get',
    inputSchema: { type: 'object', properties: { id: { type: 'string' } } },
    outputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  },
  { name: 'send', inputSchema: { type: 'object', properties: { to: { type: 'string' } } } },
  { name: 'hidden', inputSchema: { type: 'object' } },
];

function server(result: object): PolicyServer {
  return { listTools: async () => TOOLS, callTool: async () => result, close: async () => {} };
}

const plan = (tool: string, args: object) => JSON.stringify({ type: 'call_tool', server: 's', tool, args });

/** Asks one question and gives the path of its trace. */
async function trace(
  query: string,
  answers: readonly string[],
  options: Omit<AuditOptions, 'dir'> = {},
  result: object = { structuredContent: { text: 'Never log secrets.' } },
): Promise<string> {
  const dir = tempDir();
  using audit = new AuditLog({ dir, captureContent: true, ...options });
  using gate = new PolicyGate({
    policy: { version: 1, rules: RULES, input: { block_phrases: ['drop it'] } },
  });
  await using host = await PolicyHost.open({
    gate,
    planner: script(...answers),
    servers: { s: server(result) },
    audit,
  });
  await host.askOnce(query);
  return join(dir, readdirSync(dir).find((name) => name.startsWith('run-')) ?? '');
}

/** `event outcome reason` of each decision. */
async function told(path: string, options: Parameters<typeof replayTrace>[1] = {}): Promise<string[]> {
  const { decisions } = await replayTrace(path, options);
  return decisions.map(({ event, outcome, recorded }) => {
    const reason = recorded.reason_code ?? recorded.type ?? recorded.allowed;
    return `${event} ${outcome} ${String(reason)}`;
  });
}

test('every decision of a step is repeated from its trace alone, whichever gate ended it', async () => {
  const summary = JSON.stringify({
    type: 'summary',
    bullets: [{ claim: 'Never log secrets', evidence: 'Never log secrets' }],
    risks: [],
    recommendations: [],
  });
  const call = ['input_checked same true', 'plan_checked same call_tool'];
  const made = [...call, 'call_decided same allowed', 'call_finished same output_accepted'];
  assert.deepEqual(await told(await trace('Summarize 1', [plan('get', { id: '1' }), summary])), [
    ...made,
    'summary_checked same accepted',
  ]);
  assert.deepEqual(await told(await trace('Summarize 1', [plan('get', { id: '1' }), 'All is well.'])), [
    ...made,
    'summary_checked same summary_invalid',
  ]);
  assert.deepEqual(await told(await trace('Please drop it', [])), ['input_checked same false']);
  assert.deepEqual(await told(await trace('Go', ['Sure!'])), [
    'input_checked same true',
    'plan_checked same plan_not_json',
  ]);
  for (const [tool, args, reason] of [
    ['get', { id: 5 }, 'args_invalid'],
    ['get', { id: '1', more: true }, 'args_unknown_key'],
    ['hidden', {}, 'not_allowlisted'],
    ['nothing', {}, 'tool_unknown'],
    ['send', { to: 'a' }, 'approval_required'],
  ] as const) {
    assert.deepEqual(await told(await trace('Go', [plan(tool, args)])), [
      ...call,
      `call_decided same ${reason}`,
    ]);
  }
  const wrong = await trace('Go', [plan('get', {})], {}, { structuredContent: { text: 5 } });
  assert.deepEqual(await told(wrong), [
    ...call,
    'call_decided same allowed',
    'call_finished same output_invalid',
  ]);
});

test('another policy shows the first difference; what depends on more than the trace is not repeated', async () => {
  const path = await trace('Go', [plan('get', { id: '1' })]);
  const policy = { version: 1, rules: [{ ...RULES[0], effect: 'require_approval' }] };
  const { firstDifference } = await replayTrace(path, { policy });
  assert.deepEqual(
    [
      firstDifference?.seq,
      firstDifference?.call,
      firstDifference?.recorded.decision,
      firstDifference?.repeated?.decision,
    ],
    [3, 's/get', 'allow', 'require_approval'],
  );
  await assert.rejects(replayTrace(path, { policy: { version: 1 } }), { code: 'POLICY_INVALID' });

  const dir = tempDir();
  using audit = new AuditLog({ dir, captureContent: true });
  using gate = new PolicyGate({
    policy: { version: 1, rules: RULES, budgets: { calls_per_run: 1 } },
    tools: { s: { tools: TOOLS } },
  });
  const run = audit.startRun();
  const call = { server: 's', tool: 'get', args: { id: '1' }, runId: run.id };
  const approvable = { ...call, tool: 'send', args: { to: 'a' }, runId: 'other' };
  const invoke = async () => ({ structuredContent: { text: 'x' } });
  await Promise.all([
    guardedCall(call, invoke, { gate, audit: run }),
    guardedCall({ ...call, args: { id: '2' } }, invoke, { gate, audit: run }).catch(() => {}),
    guardedCall({ ...approvable, approvalToken: gate.approve(approvable) }, invoke, { gate, audit: run }),
  ]);
  run.finish();
  const file = join(dir, `run-${run.id}.jsonl`);
  assert.deepEqual((await told(file)).sort(), [
    'call_decided not_repeated approved',
    'call_decided not_repeated budget_exceeded',
    'call_decided same allowed',
    'call_finished same output_accepted',
    'call_finished same output_accepted',
  ]);
});

test('with a key the content is encrypted and whole; without one its secrets are gone, and the rest is repeated', async () => {
  const answers = [plan('get', { id: SECRET })];
  const sealed = await trace('Go', answers, { key: 'a key' });
  assert.doesNotMatch(readFileSync(sealed, 'utf8'), /ghp_|Never log/);
  assert.deepEqual(await told(sealed, { key: 'a key' }), [
    'input_checked same true',
    'plan_checked same call_tool',
    'call_decided same allowed',
    'call_finished same output_accepted',
  ]);
  for (const key of [undefined, 'another'])
    await assert.rejects(replayTrace(sealed, { key }), {
      code: 'INVALID_INPUT',
      message: /SAFE_AUDIT_KEY|key/,
    });

  const plain = await trace('Go', answers);
  assert.doesNotMatch(readFileSync(plain, 'utf8'), /ghp_aaa/);
  assert.match(readFileSync(plain, 'utf8'), /Never log/);
  assert.deepEqual(await told(plain), [
    'input_checked same true',
    'plan_checked not_repeated call_tool',
    'call_decided not_repeated allowed',
    'call_finished same output_accepted',
  ]);
});

test('content is kept only where it is asked for, and never more than a line of the trail holds', async () => {
  const without = await trace('Go', [plan('get', { id: 'private' })], { captureContent: false });
  assert.doesNotMatch(readFileSync(without, 'utf8'), /private|content/);
  await assert.rejects(replayTrace(without), { code: 'INVALID_INPUT', message: /holds no content/ });

  const large = { structuredContent: { text: 'x"'.repeat(1_500_000) } };
  const path = await trace('Go', [plan('get', {})], {}, large);
  assert.match(readFileSync(path, 'utf8'), /"content_omitted":true/);
  assert.equal((await told(path)).at(-1), 'call_finished not_repeated output_too_large');
});

test('a trace that was changed, cut in a record or is none is refused', async () => {
  const path = await trace('Go', [plan('get', { id: '1' })]);
  const text = readFileSync(path, 'utf8');
  const refused = async (content: string | Buffer, message: RegExp) => {
    const file = join(tempDir(), 'run-x.jsonl');
    writeFileSync(file, content);
    await assert.rejects(replayTrace(file), { code: 'INVALID_INPUT', message });
  };
  await refused(text.replace('allowed', 'aloud'), /record \d was changed/);
  await refused(text.split('\n').slice(1).join('\n'), /record 0 was changed/);
  await refused(text.slice(0, -40), /is not a record/);
  await refused('', /holds no content/);
  await refused(Buffer.from([0xff, 0x0a]), /is not a record/);
  await assert.rejects(replayTrace(tempDir()), { code: 'INVALID_INPUT', message: /not a file/ });
});
