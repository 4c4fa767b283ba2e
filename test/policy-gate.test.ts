import assert from 'node:assert/strict';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ObservatoryError } from '../src/base/errors.ts';
import { compileStats } from '../src/json/index.ts';
import {
  type DecisionKind,
  decisionToWire,
  isBlocked,
  PinStore,
  PolicyGate,
  type PolicyGateOptions,
  type ToolDefinition,
} from '../src/policy/index.ts';
import { docTool, SEED_ALLOWLIST, SEED_TOOLS, tempFile } from './support/policy-fixtures.ts';
import { tempDir } from './support/temp-dir.ts';

const FETCH = { server: 'mcp-sharepoint', tool: 'fetch_sharepoint_doc', args: { doc_id: 'sp-001' } };

const SEND: ToolDefinition = {
  name: 'send_email',
  inputSchema: {
    type: 'object',
    properties: { to: { type: 'string' }, body: { type: 'string' }, copies: { type: 'integer' } },
    required: ['to'],
  },
};

function gateWith(rules: object[], rest: object = {}, options: Partial<PolicyGateOptions> = {}): PolicyGate {
  return new PolicyGate({
    policy: { version: 1, rules, ...rest },
    tools: { mail: { tools: [SEND] } },
    ...options,
  });
}

const allow = (rest: object = {}) => ({
  id: 'send',
  effect: 'allow',
  server: 'mail',
  tool: 'send_email',
  ...rest,
});
const send = (args: object, rest: object = {}) => ({
  server: 'mail',
  tool: 'send_email',
  args: args as never,
  ...rest,
});

test('allows what the allowlist names and denies the rest by default', () => {
  using gate = new PolicyGate({ policy: SEED_ALLOWLIST, tools: SEED_TOOLS });
  const decision = gate.evaluate(FETCH);
  assert.equal(decision.decision, 'allow');
  assert.deepEqual(decision.ruleIds, ['allowlist:mcp-sharepoint/fetch_sharepoint_doc']);
  assert.match(decision.policyHash ?? '', /^[0-9a-f]{64}$/);
  assert.match(decision.toolHash ?? '', /^[0-9a-f]{64}$/);
  assert.match(decision.argsDigest ?? '', /^[0-9a-f]{64}$/);
  const denied = gate.evaluate({ ...FETCH, tool: 'delete_sharepoint_doc' });
  assert.deepEqual([denied.decision, denied.reasonCode, denied.gate], ['deny', 'not_allowlisted', 'G3']);
  assert.deepEqual(
    gate.allowedTools().map((tool) => tool.name),
    ['fetch_sharepoint_doc', 'fetch_policy_entry'],
  );
});

test('a misspelled option is refused, since the gate would decide without it', () => {
  assert.throws(() => new PolicyGate({ polcy: SEED_ALLOWLIST } as object), {
    message: /nearest is 'policy'/,
  });
});

test('the wire form has the words of the specification and leaves values alone', () => {
  using gate = new PolicyGate({ policy: SEED_ALLOWLIST, tools: SEED_TOOLS });
  const keys = Object.keys(decisionToWire(gate.evaluate(FETCH)));
  for (const key of [
    'decision',
    'enforcement',
    'would_block',
    'reason_code',
    'rule_ids',
    'policy_hash',
    'tool_hash',
    'args_digest',
    'latency_us',
  ]) {
    assert.ok(keys.includes(key), key);
  }
});

test('a policy that is missing, empty, malformed or allows nothing denies everything and says so', () => {
  const broken: (string | object)[] = [
    join(tempDir(), 'missing.json'),
    tempDir(),
    ...[
      '',
      ' ',
      '{',
      '[]',
      'null',
      '"x"',
      '{}',
      '{"s":[]}',
      '{"s":"t"}',
      '{"s":["t"],"s":["u"]}',
      '{"s":["t",]}',
      '\ufeff{"s":["t"]}',
      '{"s":[1]}',
      '{"s":["t","t"]}',
    ].map((text) => tempFile('policy.json', text)),
    { version: 2, rules: [] },
    { version: 1, rules: [allow({ effekt: 'x' })] },
    { version: 1, rules: [allow({ args: { to: { maxLenght: 3 } } })] },
    { version: 1, rules: [allow({ args: { to: { pattern: '(?=a)' } } })] },
  ];
  for (const policy of broken) {
    using gate = new PolicyGate({ policy, tools: { mail: { tools: [SEND] } } });
    const decision = gate.evaluate(send({ to: 'a' }));
    assert.deepEqual(
      [decision.decision, decision.reasonCode],
      ['deny', 'policy_unavailable'],
      JSON.stringify(policy),
    );
    assert.equal(gate.problem?.code, 'POLICY_INVALID');
    assert.deepEqual(gate.allowedTools(), []);
    assert.throws(
      () => gate.assertReady(),
      (error) => ObservatoryError.isInstance(error) && error.code === 'POLICY_INVALID',
    );
  }
});

test('deny beats approval, approval beats allow, whatever the order of the rules', () => {
  const rules = [
    allow(),
    {
      id: 'ask',
      effect: 'require_approval',
      server: 'mail',
      tool: 'send_email',
      args: { copies: { minimum: 10 } },
    },
    {
      id: 'stop',
      effect: 'deny',
      server: 'mail',
      tool: 'send_email',
      args: { to: { pattern: '@evil\\.example$' } },
    },
  ];
  for (const order of [rules, [...rules].reverse()]) {
    using gate = gateWith(order);
    const decide = (args: object) => gate.evaluate(send(args)).decision;
    assert.equal(decide({ to: 'a@b.c' }), 'allow');
    assert.equal(decide({ to: 'a@b.c', copies: 10 }), 'require_approval');
    assert.equal(decide({ to: 'a@evil.example', copies: 10 }), 'deny');
  }
});

test('arguments are held to the rule: a named one must fit, a required one must be there, an address is in the domain', () => {
  using gate = gateWith([allow({ args: { to: { emailDomainIn: ['example.com'] } }, required: ['body'] })]);
  const reason = (args: object) => gate.evaluate(send(args)).reasonCode;
  assert.equal(reason({ to: 'a@example.com', body: 'x' }), 'allowed');
  for (const to of [
    'a@example.com.evil.org',
    'a@evilexample.com',
    'a@b@example.com',
    'a@example.com\n',
    'example.com',
    '<a@example.com>',
  ]) {
    assert.equal(reason({ to, body: 'x' }), 'argument_rule_unmet', to);
  }
  assert.equal(reason({ to: 'a@example.com' }), 'argument_rule_unmet');
});

test('an argument the user did not give asks for approval', () => {
  using gate = gateWith([allow({ provenance: ['to'] })]);
  const decide = (userRequest?: string) => gate.evaluate(send({ to: 'bob@x.y' }, { userRequest })).decision;
  assert.equal(decide('Write to bob@x.y please'), 'allow');
  assert.equal(decide('Write to <bob@x.y>.'), 'allow');
  assert.equal(decide('Write to Bob please'), 'require_approval');
  assert.equal(decide('Write to bob@x.y.z please'), 'require_approval');
  assert.equal(decide('Write to not-bob@x.y please'), 'require_approval');
  assert.equal(decide(), 'require_approval');
});

test('texts that are in every request, and keys the tool does not declare, are not given by the user', () => {
  const properties = { to: { type: 'object', properties: { address: { type: 'string' } } } };
  using gate = new PolicyGate({
    policy: { version: 1, rules: [allow({ provenance: ['to'] })] },
    tools: { mail: { tools: [{ name: 'send_email', inputSchema: { type: 'object', properties } }] } },
  });
  const decide = (to: object) =>
    gate.evaluate(send({ to }, { userRequest: 'Write a mail to bob@x.y' })).decision;
  assert.equal(decide({ address: 'bob@x.y' }), 'allow');
  assert.equal(decide({ address: 'a' }), 'require_approval');
  assert.equal(decide({ address: '' }), 'require_approval');
  assert.equal(decide({ 'eve@x.y': true }), 'require_approval');
});

test('a rule that can never apply allows nothing and is reported; the other rules stand, and reload works', () => {
  const deny = { id: 'no', effect: 'deny', server: 'mail', tool: 'send_email', args: { too: {} } };
  const cases: [object[], string, string][] = [
    [[allow({ server: 'maill' })], 'not_allowlisted', "there is no server 'maill'"],
    [[allow({ tool: 'send_mail' })], 'not_allowlisted', "server 'mail' has no tool 'send_mail'"],
    [[allow({ args: { too: {} } })], 'rule_dead', 'it names an argument .*; it allows nothing'],
    [[allow({ provenance: ['too'] })], 'rule_dead', 'it names an argument .*; it allows nothing'],
    [[allow(), deny], 'rule_dead', 'it names an argument .*; the tool is denied'],
    [
      [allow(), { ...deny, effect: 'require_approval' }],
      'rule_dead',
      'it names an argument .*; the tool is denied',
    ],
    [[allow(), { ...deny, tool: 'gone' }], 'allowed', "server 'mail' has no tool 'gone'"],
    [
      [allow(), allow({ id: 'two', args: { too: {} } })],
      'allowed',
      'it names an argument .*; it allows nothing',
    ],
    [[allow(), allow({ id: 'two', server: 'other' })], 'allowed', "there is no server 'other'"],
  ];
  for (const [rules, reason, message] of cases) {
    using gate = gateWith(rules);
    assert.equal(gate.evaluate(send({ to: 'y' })).reasonCode, reason, message);
    assert.equal(gate.allowedTools('mail').length, reason === 'allowed' ? 1 : 0, message);
    assert.deepEqual([gate.findings.length, gate.findings[0]?.kind], [1, 'dead_rule']);
    assert.match(gate.findings[0]?.message ?? '', new RegExp(message));
    assert.deepEqual([gate.problem, gate.reload()], [undefined, true]);
  }
});

test('a server that lacks a tool of the policy costs that tool, and the tool is back when it is listed', () => {
  using gate = new PolicyGate({ policy: { a: ['t', 'gone'], b: ['u'] } });
  gate.setTools('b', [docTool('u')]);
  gate.setTools('a', [docTool('t')]);
  const reasonOf = (server: string, tool: string) =>
    gate.evaluate({ server, tool, args: { doc_id: 'x' } }).reasonCode;
  assert.deepEqual(
    [reasonOf('a', 't'), reasonOf('b', 'u'), reasonOf('a', 'gone')],
    ['allowed', 'allowed', 'tool_unknown'],
  );
  assert.deepEqual(
    gate.findings.map(({ ruleId }) => ruleId),
    ['allowlist:a/gone'],
  );
  const { findings } = gate;
  gate.setTools('a', [docTool('t')]);
  assert.equal(gate.findings, findings, 'nothing changed');
  gate.setTools('a', [docTool('t'), docTool('gone')]);
  assert.deepEqual([reasonOf('a', 'gone'), gate.findings], ['allowed', []]);
});

test('unreachable rules, equal ids and failing tests make the policy unusable', () => {
  const dead: object[][] = [
    [allow(), { id: 'no', effect: 'deny', server: 'mail', tool: 'send_email' }],
    [allow(), allow()],
    [allow({ args: { to: { const: 'x' } }, tests: { allow: [{ to: 'y' }] } })],
    [allow({ tests: { deny: [{ to: 'y' }] } })],
    [{ ...allow({ provenance: ['to'] }), effect: 'deny' }],
  ];
  for (const rules of dead) {
    using gate = gateWith(rules);
    assert.equal(gate.evaluate(send({ to: 'y' })).reasonCode, 'policy_unavailable', JSON.stringify(rules));
  }
  using gate = gateWith([
    allow({ args: { to: { const: 'x' } }, tests: { allow: [{ to: 'x' }], deny: [{ to: 'y' }] } }),
  ]);
  assert.equal(gate.problem, undefined);
});

test('an approval is for one exact call, once, in time', async () => {
  using gate = gateWith([{ id: 'ask', effect: 'require_approval', server: 'mail', tool: 'send_email' }]);
  const reason = async (call: object) => (await gate.authorize(call as never)).reasonCode;
  const call = send({ to: 'a' }, { caller: 'alice' });
  assert.equal(await reason(call), 'approval_required');
  assert.equal(await reason({ ...call, approvalToken: gate.approve(call) }), 'approved');
  const token = gate.approve(call);
  assert.equal(await reason({ ...call, approvalToken: token }), 'approved');
  assert.equal(await reason({ ...call, approvalToken: token }), 'approval_invalid', 'used twice');
  assert.equal(
    await reason({ ...call, args: { to: 'b' }, approvalToken: gate.approve(call) }),
    'approval_invalid',
  );
  assert.equal(
    await reason({ ...call, caller: 'bob', approvalToken: gate.approve(call) }),
    'approval_invalid',
  );
  assert.equal(await reason({ ...call, approvalToken: 'x' }), 'approval_invalid');
  const changed = { ...SEND, description: 'Now with a description' };
  const late = gate.approve(call);
  gate.setTools('mail', [changed]);
  assert.equal(await reason({ ...call, approvalToken: late }), 'tool_changed');
  assert.throws(() => gate.approve({ ...call, tool: 'nothing' }), ObservatoryError);

  const expires = { approval: { expires_seconds: 0.001 } };
  using quick = gateWith(
    [{ id: 'ask', effect: 'require_approval', server: 'mail', tool: 'send_email' }],
    expires,
  );
  const old = quick.approve(call);
  await new Promise((resolve) => setTimeout(resolve, 10));
  assert.equal((await quick.authorize({ ...call, approvalToken: old })).reasonCode, 'approval_invalid');
});

test('an approval ends when its time is over by one of the two clocks, whichever is set back or stands still', async (t) => {
  using gate = new PolicyGate({
    policy: {
      version: 1,
      approval: { expires_seconds: 60 },
      rules: [{ id: 'a', effect: 'require_approval', server: 's', tool: 't' }],
    },
  });
  gate.setTools('s', [{ name: 't', inputSchema: { type: 'object' } }]);
  const call = { server: 's', tool: 't', args: {} };
  const clocks = { wall: Date.now(), steady: performance.now() };
  t.mock.method(Date, 'now', () => clocks.wall);
  t.mock.method(performance, 'now', () => clocks.steady);
  const after = async (wallMs: number, steadyMs: number) => {
    const approvalToken = gate.approve(call);
    const { wall, steady } = clocks;
    Object.assign(clocks, { wall: wall + wallMs, steady: steady + steadyMs });
    const { reasonCode } = await gate.authorize({ ...call, approvalToken });
    Object.assign(clocks, { wall, steady });
    return reasonCode;
  };
  assert.equal(await after(59_000, 59_000), 'approved');
  assert.notEqual(await after(-86_400_000, 3_600_000), 'approved', 'set back a day, an hour later');
  assert.notEqual(await after(28_800_000, 1), 'approved', 'a machine that slept');
});

test('budgets count calls per run, per minute and per tool', async () => {
  using gate = gateWith([allow()], { budgets: { calls_per_run: 2, calls_per_minute: 3 } });
  const reason = async (runId: string) => (await gate.authorize(send({ to: 'a' }, { runId }))).reasonCode;
  assert.deepEqual(
    [await reason('1'), await reason('1'), await reason('1')],
    ['allowed', 'allowed', 'budget_exceeded'],
  );
  assert.deepEqual([await reason('2'), await reason('2')], ['allowed', 'rate_limited']);
  using none = gateWith([allow()], { budgets: { calls_per_minute_per_tool: 0 } });
  assert.equal((await none.authorize(send({ to: 'a' }))).reasonCode, 'rate_limited');
});

test('shadow mode records the decision it would have made, and opens nothing that is not described', () => {
  using gate = gateWith([allow({ args: { to: { const: 'x' } } })], { mode: 'shadow' });
  const unmet = gate.evaluate(send({ to: 'y' }));
  assert.deepEqual(
    [unmet.decision, unmet.enforcement, unmet.wouldBlock, isBlocked(unmet)],
    ['deny', 'shadow', true, false],
  );
  const unknown = gate.evaluate({ ...send({}), tool: 'nothing' });
  assert.deepEqual([unknown.enforcement, isBlocked(unknown)], ['enforced', true]);
});

test('a decision point can only make a decision stricter; silence and failure deny', async () => {
  const answers: [unknown, string][] = [
    [{ decision: 'allow' }, 'allowed'],
    [{ decision: 'deny', message: 'no' }, 'decision_point_denied'],
    [{ decision: 'require_approval' }, 'approval_required'],
    [{ decision: 'yes' }, 'decision_point_failed'],
    [undefined, 'decision_point_failed'],
  ];
  for (const [answer, reason] of answers) {
    using gate = gateWith(
      [allow()],
      {},
      { decisionPoint: { decide: async () => answer as { decision: DecisionKind } } },
    );
    assert.equal((await gate.authorize(send({ to: 'a' }))).reasonCode, reason);
  }
  const never = { decide: () => new Promise<never>(() => {}) };
  using silent = gateWith([allow()], {}, { decisionPoint: never });
  assert.equal((await silent.authorize(send({ to: 'a' }))).reasonCode, 'decision_point_failed');
  using lax = gateWith(
    [allow({ args: { to: { const: 'x' } } })],
    {},
    { decisionPoint: { decide: async () => ({ decision: 'allow' }) } },
  );
  assert.equal((await lax.authorize(send({ to: 'y' }))).reasonCode, 'argument_rule_unmet');
});

test('a gate without a policy reads the file that SAFE_ALLOWLIST_PATH names', (t) => {
  const before = process.env.SAFE_ALLOWLIST_PATH;
  t.after(() => {
    if (before === undefined) delete process.env.SAFE_ALLOWLIST_PATH;
    else process.env.SAFE_ALLOWLIST_PATH = before;
  });
  process.env.SAFE_ALLOWLIST_PATH = tempFile('allowlist.json', SEED_ALLOWLIST);
  using gate = new PolicyGate({ tools: SEED_TOOLS });
  assert.equal(gate.evaluate(FETCH).decision, 'allow');
  process.env.SAFE_ALLOWLIST_PATH = '/nonexistent/allowlist.json';
  using closed = new PolicyGate({ tools: SEED_TOOLS });
  assert.equal(closed.evaluate(FETCH).decision, 'deny');
});

test('a name used twice is quarantined, in one server or in two that rules allow it to, and reported', () => {
  using gate = new PolicyGate({ policy: { a: ['t'], b: ['t', 'u'] } });
  const reason = () => gate.evaluate({ server: 'a', tool: 't', args: { doc_id: 'x' } }).reasonCode;
  const shared = () =>
    gate.findings.filter(({ kind }) => kind === 'duplicate_tool').map(({ message }) => message);
  gate.setTools('a', [docTool('t')]);
  assert.deepEqual([reason(), shared()], ['allowed', []]);
  gate.setTools('b', [docTool('t')]);
  assert.equal(reason(), 'tool_duplicate');
  assert.match(shared()[0] ?? '', /listed by 'a' and b, so it cannot be called/);
  gate.setTools('b', []);
  assert.deepEqual([reason(), shared()], ['allowed', []]);
  gate.setTools('a', [docTool('t'), docTool('t')]);
  assert.equal(reason(), 'tool_duplicate');
  assert.match(shared()[0] ?? '', /twice by 'a'/);
});

test('a server that no rule allows a name to takes no tool away by listing it, and the name is reported', () => {
  using gate = new PolicyGate({ policy: { a: ['t'], b: ['u'] } });
  gate.setTools('a', [docTool('t')]);
  gate.setTools('b', [docTool('t'), docTool('u')]);
  gate.setTools('c', [docTool('t')]);
  const reason = (server: string) => gate.evaluate({ server, tool: 't', args: { doc_id: 'x' } }).reasonCode;
  assert.deepEqual(
    [reason('a'), reason('b'), reason('c')],
    ['allowed', 'not_allowlisted', 'not_allowlisted'],
  );
  assert.deepEqual(
    gate.allowedTools().map(({ server, name }) => `${server}/${name}`),
    ['a/t', 'b/u'],
  );
  assert.deepEqual(
    gate.findings.map(({ kind, server, message }) => [kind, server, message]),
    [['duplicate_tool', 'a', "'t' of 'a' is also listed by b, c, for which no rule allows it"]],
  );
});

test('pins: only approved definitions pass, a change never updates its pin, a bad pin file fails closed', () => {
  using first = new PolicyGate({ policy: { a: ['t'] }, tools: { a: { tools: [docTool('t')] } } });
  const pins = new PinStore();
  pins.approve('a', 't', first.find('a', 't')?.hash ?? '');
  const path = join(tempDir(), 'pins.json');
  pins.save(path);
  using gate = new PolicyGate({ policy: { a: ['t'] }, pins: PinStore.fromFile(path) });
  const reason = () => gate.evaluate({ server: 'a', tool: 't', args: { doc_id: 'x' } }).reasonCode;
  gate.setTools('a', [docTool('t')]);
  assert.equal(reason(), 'allowed');
  const changed = { ...docTool('t'), description: 'other' };
  gate.setTools('a', [changed]);
  assert.equal(reason(), 'tool_changed');
  gate.setTools('a', [changed]);
  assert.equal(reason(), 'tool_changed', 'seen twice is not approved');
  gate.setTools('a', [docTool('t'), docTool('u')]);
  assert.equal(reason(), 'allowed');
  assert.deepEqual(
    gate.barred().map((tool) => [tool.name, tool.barred?.reasonCode]),
    [['u', 'tool_unapproved']],
  );
  for (const content of ['', '{}', '{"version":1,"pins":{"a":{"t":"nothex"}}}', '{"version":1,"pins":[]}']) {
    assert.throws(() => PinStore.fromFile(tempFile('pins.json', content)), ObservatoryError);
  }
});

test('a changed policy file is swapped in whole; one that cannot be used leaves the old in force', async () => {
  const path = tempFile('policy.json', { a: ['t'] });
  const heard: string[] = [];
  using gate = new PolicyGate({
    policy: path,
    tools: { a: { tools: [docTool('t'), docTool('u')] } },
    reloadIntervalMs: 5,
    onReload: (outcome) => heard.push('policy' in outcome ? 'policy' : 'problem'),
  });
  const decide = (tool: string) => gate.evaluate({ server: 'a', tool, args: { doc_id: 'x' } }).decision;
  const replace = async (text: string) => {
    const count = heard.length;
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
    while (heard.length === count) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  assert.deepEqual([decide('t'), decide('u')], ['allow', 'deny']);
  await replace('{"a":["u"]}');
  assert.deepEqual([decide('t'), decide('u')], ['deny', 'allow']);
  await replace('{"a":["u"');
  assert.deepEqual([decide('t'), decide('u'), gate.problem?.code], ['deny', 'allow', 'POLICY_INVALID']);
  await replace('{"a":["gone"]}');
  assert.deepEqual(
    [decide('u'), gate.problem?.code],
    ['deny', undefined],
    'a policy with a dead rule is swapped in',
  );
  assert.equal(gate.findings[0]?.ruleId, 'allowlist:a/gone');
  await replace('{"a":["t","u"]}');
  assert.deepEqual([decide('t'), decide('u'), gate.problem], ['allow', 'allow', undefined]);
  assert.deepEqual(heard, ['policy', 'problem', 'policy', 'policy']);
});

test('one validator is compiled per definition, not per call nor per listing', () => {
  const tool = { ...docTool('compiled_once'), description: `${Math.random()}` };
  (tool as { inputSchema: object }).inputSchema = {
    type: 'object',
    properties: { doc_id: { const: `${Math.random()}` } },
  };
  using gate = new PolicyGate({ policy: { a: ['compiled_once'] }, tools: { a: { tools: [tool] } } });
  const before = compileStats.compiled;
  for (let i = 0; i < 100; i += 1) {
    gate.evaluate({ server: 'a', tool: 'compiled_once', args: { doc_id: 'x' } });
    gate.setTools('a', [structuredClone(tool)]);
  }
  assert.equal(compileStats.compiled, before);
});

test('arguments a schema does not declare are refused; open ones pass where the rich form leaves them to the schema', () => {
  const schemas: [object, object, boolean, boolean?][] = [
    [{ type: 'object', properties: { a: {} } }, { a: 1, b: 2 }, false],
    [{ type: 'object' }, { a: 1 }, false],
    [{ type: 'object', properties: {}, additionalProperties: true }, { a: 1 }, false, true],
    [{ type: 'object', additionalProperties: { type: 'integer' } }, { a: 1 }, false, true],
    [{ type: 'object', additionalProperties: { type: 'integer' } }, { a: 'one' }, false],
    [{ type: 'object', anyOf: [{ unevaluatedProperties: true }] }, { a: 1 }, false, true],
    [{ type: 'object', patternProperties: { '^x-': {} } }, { 'x-a': 1 }, true],
    [{ type: 'object', patternProperties: { '^x-': {} } }, { y: 1 }, false],
    [{ type: 'object', allOf: [{ properties: { a: {} } }] }, { a: 1 }, true],
    [{ type: 'object', $defs: { d: { properties: { a: {} } } }, $ref: '#/$defs/d' }, { a: 1 }, true],
    [{ type: 'object', properties: { a: {} } }, { toString: 1 }, false],
  ];
  const rule = { id: 'r', effect: 'allow', server: 'a', tool: 't' };
  for (const [inputSchema, args, isDeclared, isTaken = isDeclared] of schemas) {
    const passes = (policy: object) => {
      using gate = new PolicyGate({ policy, tools: { a: { tools: [{ name: 't', inputSchema }] } } });
      return gate.evaluate({ server: 'a', tool: 't', args: args as never }).decision === 'allow';
    };
    const shown = JSON.stringify([inputSchema, args]);
    assert.equal(passes({ a: ['t'] }), isDeclared, `the allowlist, ${shown}`);
    assert.equal(passes({ version: 1, rules: [rule] }), isTaken, `the rich form, ${shown}`);
    const closed = { version: 1, unknown_arguments: 'reject_always', rules: [rule] };
    assert.equal(passes(closed), isDeclared, `the rich form, closed, ${shown}`);
  }
});
