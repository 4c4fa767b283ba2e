/** From recordings to a policy: what it allows, what it denies, what a change of it means, and how it is drilled. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gateCommand } from '../src/cli/gate.ts';
import { hookCommand } from '../src/cli/hook/index.ts';
import {
  AuditLog,
  comparePolicies,
  decideRecorded,
  guardedCall,
  joinChanges,
  learnPolicy,
  PolicyGate,
  type RecordedCall,
  readPolicy,
} from '../src/policy/index.ts';
import { readResults, TASKS, type Task } from './support/agentdojo.ts';
import { needsData, readRows } from './support/data.ts';
import { tempFile } from './support/policy-fixtures.ts';
import { random } from './support/random.ts';
import { runCommand } from './support/run-command.ts';
import { tempDir } from './support/temp-dir.ts';

const SEED = Number(process.env.SEED ?? 1);

/** Values of every kind that tools take, the hostile ones too. */
function valueMaker(next: (below: number) => number) {
  const pick = <T>(from: readonly T[]): T => from[next(from.length)] as T;
  const makers: readonly (() => unknown)[] = [
    () => `user${next(9)}@${pick(['a.example', 'b.example'])}`,
    () => `https://${pick(['a.example', 'b.example:8443'])}/${next(50)}?q=${next(9)}`,
    () => `/data/${pick(['in', 'out/deep'])}/${next(50)}.txt`,
    () => `${pick(['AB', 'XY', 'Q'])}-${1000 + next(9000)}`,
    () => `2026-0${1 + next(9)}-1${next(10)}`,
    () =>
      pick(['', ' ', 'a\nb', '\u202e', 'ends $', '^[x]', 'password=hunter2hunter2', 'é'.repeat(next(40))]),
    () => next(1_000) - 500,
    () => next(100) / 7,
    () => pick([true, false, null]),
    () => Array.from({ length: next(4) }, () => pick(['x', 'y', 3, null])),
    () => ({ name: pick(['n', 'm']), deep: { list: [next(5)], toString: 1 } }),
  ];
  return { any: () => pick(makers)(), pick, makers };
}

test(`a learned policy allows all of its recording and denies what differs in one argument (SEED=${SEED})`, async (t) => {
  t.diagnostic(`seed ${SEED}`);
  const next = random(SEED);
  const { any, pick, makers } = valueMaker(next);
  for (let round = 0; round < 60; round += 1) {
    const names = ['to', 'path', 'constructor', 'a.b', '*', 'n'].slice(0, 1 + next(6));
    const shapes = new Map(names.map((name) => [name, pick([any, pick(makers)])]));
    const calls: RecordedCall[] = Array.from({ length: 1 + next(25) }, () => ({
      server: pick(['s', 's.t']),
      tool: pick(['one', 'two']),
      args: Object.fromEntries(
        names.filter(() => next(5) > 0).map((name) => [name, shapes.get(name)?.() ?? null]),
      ),
    }));
    for (const isWide of [false, true]) {
      const { policy, left } = await learnPolicy(calls, { isWide });
      const what = JSON.stringify({ isWide, calls, policy });
      assert.deepEqual(left, [], what);
      assert.doesNotThrow(() => readPolicy(JSON.parse(JSON.stringify(policy))), what);
      const decided = await decideRecorded(calls, policy);
      assert.ok(
        decided.every(({ decision }) => decision.decision === 'allow'),
        what,
      );
      const mutants = calls.flatMap((call) => mutate(call, calls, isWide));
      for (const { call, decision } of await decideRecorded(mutants, policy))
        assert.equal(decision.decision, 'deny', `${JSON.stringify(call)} ${what}`);
    }
  }
});

test('a tool whose name would be a pattern teaches no rule', async () => {
  const calls = ['*', 'read*', 'read'].map((tool) => ({ server: 's', tool, args: { path: '/a' } }));
  const { policy, left } = await learnPolicy(calls);
  assert.deepEqual(
    policy.rules.map(({ tool }) => tool),
    ['read'],
  );
  assert.deepEqual(
    left.map(({ call }) => call.tool),
    ['*', 'read*'],
  );
});

/** The call with one argument that was not seen with its tool: another value, none, or one more. */
function mutate(call: RecordedCall, calls: readonly RecordedCall[], isWide: boolean): RecordedCall[] {
  const alike = calls.filter(({ server, tool }) => server === call.server && tool === call.tool);
  const withArgs = (args: object): RecordedCall => ({ ...call, args: args as RecordedCall['args'] });
  const mutants = [withArgs({ ...call.args, extra: 1 })];
  for (const [name, value] of Object.entries(call.args)) {
    const { [name]: _, ...rest } = call.args;
    if (alike.every(({ args }) => Object.hasOwn(args, name))) mutants.push(withArgs(rest));
    const seen = alike.map(({ args }) => args[name]);
    const isSecret = seen.some((one) => JSON.stringify(one)?.includes('hunter2'));
    const kinds = new Set(seen.map((one) => typeof one));
    // What has one kind only takes nothing of another.
    if (!kinds.has('object')) mutants.push(withArgs({ ...call.args, [name]: { other: [1] } }));
    if (!kinds.has('number') && !kinds.has('object'))
      mutants.push(withArgs({ ...call.args, [name]: 7_777_777 }));
    if (typeof value === 'number') {
      const numbers = seen.filter((one) => typeof one === 'number');
      mutants.push(withArgs({ ...call.args, [name]: Math.max(...numbers) + 1 }));
    }
    if (typeof value !== 'string' || isSecret) continue;
    const longest = Math.max(...seen.map((one) => (typeof one === 'string' ? [...one].length : 0)));
    mutants.push(withArgs({ ...call.args, [name]: 'z '.repeat(longest + 2_100) }));
    if (!isWide) mutants.push(withArgs({ ...call.args, [name]: `${value}!` }));
  }
  return mutants;
}

/** The calls of AgentDojo's tasks, with what they gave. */
function readTasks(): readonly (readonly RecordedCall[])[] {
  const resultOf = readResults();
  const tasks = readRows<Task>(TASKS).filter(({ kind }) => kind === 'user_task');
  return tasks.map((task) =>
    task.ground_truth_calls.map(({ tool, args }, index) => ({
      ...{ server: task.suite, tool, args, run: `${task.suite} ${task.id}`, request: task.prompt },
      result: resultOf(task, index, 'clean'),
    })),
  );
}

test(
  'AgentDojo: what is learned from its tasks allows them, each value of them, and nothing else',
  needsData('policy'),
  async () => {
    const calls = readTasks().flat();
    assert.equal(calls.length, 339);
    const { policy, words, left } = await learnPolicy(calls);
    assert.deepEqual(left, []);
    const banking = words.find(({ ruleId }) => ruleId === 'slack/get_channels')?.text;
    assert.equal(banking, 'slack/get_channels without arguments');
    const mutants = calls.flatMap((call) => mutate(call, calls, false));
    const decided = await decideRecorded(mutants, policy);
    assert.ok(decided.length > 1_000);
    assert.deepEqual([...new Set(decided.map(({ decision }) => decision.decision))], ['deny']);
  },
);

test(
  'AgentDojo: --wide learned from every other task stops at most 20 of 163 later calls, and lets no mutated one through',
  needsData('policy'),
  async () => {
    const tasks = readTasks();
    const [seen, later] = [0, 1].map((odd) => tasks.filter((_, at) => at % 2 === odd).flat());
    assert.ok(seen && later);
    const { policy, left } = await learnPolicy(seen, { isWide: true });
    assert.deepEqual(left, []);
    const rules = new Map(policy.rules.map((rule) => [rule.id, rule]));
    const ruleOf = ({ server, tool }: RecordedCall) => rules.get(`${server}/${tool}`);
    const decided = await decideRecorded(later.filter(ruleOf), policy);
    const stopped = decided.filter(({ decision }) => decision.decision !== 'allow');
    assert.equal(decided.length, 163);
    assert.ok(stopped.length <= 20, `${stopped.length} of 163`);
    // A value from nowhere where a source is named; else what no call had. Their results are those of the call before.
    const mutants = seen.flatMap((call) => {
      const named = (ruleOf(call)?.sources ?? []).filter(({ arg }) => Object.hasOwn(call.args, arg));
      const others = named.map(({ arg }) => {
        const value = call.args[arg];
        const other = typeof value === 'number' ? value + 77_131 : Array.isArray(value) ? ['qz-71'] : 'qz-71';
        return { ...call, args: { ...call.args, [arg]: other } };
      });
      return [...others, ...mutate(call, seen, true)].map((one) => ({ ...one, result: undefined }));
    });
    const mutated = await decideRecorded(mutants, policy);
    assert.ok(mutated.length > 900, String(mutated.length));
    assert.deepEqual(
      mutated.filter(({ decision }) => decision.decision === 'allow').map(({ call }) => call),
      [],
    );
  },
);

const WIDE: readonly (readonly [what: string, seen: readonly unknown[], schema: object])[] = [
  ['paths', ['/a/b/1', '/a/b/c/2', '/d/3'], { type: 'string', pathWithin: ['/a/b', '/d'] }],
  ['addresses', ['x@a.example', 'y@a.example'], { type: 'string', emailDomainIn: ['a.example'] }],
  ['URLs', ['https://a.example/1', 'https://a.example/2'], { type: 'string', urlHostIn: ['a.example'] }],
  ['ids', ['AB-12', 'CD-3456'], { type: 'string', pattern: '^[A-Z]{2,2}[-][0-9]{2,4}$' }],
  ['numbers', [1, 5, 3], { type: 'integer', minimum: 1, maximum: 5 }],
  ['words used over and over', Array(6).fill(['on', 'off']).flat(), { enum: ['on', 'off'] }],
  ['a secret', ['password=hunter2hunter2', 'x'], { type: 'string', maxLength: 23 }],
];

test('--wide says what values have in common', async () => {
  for (const [what, seen, schema] of WIDE) {
    const calls = seen.map((x) => ({ server: 's', tool: 't', args: { x } }));
    const { policy } = await learnPolicy(calls, { isWide: true });
    assert.deepEqual(policy.rules[0]?.args?.x, schema, what);
  }
});

test('--wide learns where arguments came from', async () => {
  const content = [{ type: 'text', text: JSON.stringify([{ name: 'Ben', email: 'ben@b.example' }]) }];
  const of = (tool: string, args: RecordedCall['args'], result?: object): RecordedCall => ({
    ...{ server: 'mail', tool, args, run: 'r', request: 'Write to anna@a.example and Ben' },
    ...(result && { result }),
  });
  const sent = { content: [{ type: 'text', text: 'sent' }] };
  const { policy, words } = await learnPolicy(
    [
      of('send', { to: 'anna@a.example' }, sent),
      of('find', { query: 'Ben' }, { content }),
      of('send', { to: 'ben@b.example' }, sent),
    ],
    { isWide: true },
  );
  assert.deepEqual(policy.rules[0]?.sources, [{ arg: 'to', from: ['prompt', 'mail.find[].email'] }]);
  assert.match(words[0]?.text ?? '', /to is any text and comes from prompt or mail\.find/);
});

const RULE = { id: 'r', effect: 'allow', server: 's', tool: ['a', 'b'], args: { x: { enum: [1, 2] } } };
const ASK = { id: 'q', effect: 'require_approval', server: 's', tool: 'a', args: { x: { const: 1 } } };
const DENY = { id: 'd', effect: 'deny', server: 's', tool: 'a', args: { x: { maximum: 3 } } };
const TOTAL = { id: 't', tools: ['s.a'], per: 'day', at_most: 5 };
const DIFFS: readonly (readonly [what: string, change: string, after: readonly object[], more?: object])[] = [
  ['nothing', 'same', [RULE, DENY]],
  ['another order, name and text', 'same', [DENY, { ...RULE, id: 'z', description: 'new' }]],
  ['a value less', 'narrower', [{ ...RULE, args: { x: { const: 2 } } }, DENY]],
  ['a value more', 'wider', [{ ...RULE, args: { x: { enum: [1, 2, 3] } } }, DENY]],
  ['other values', 'unknown', [{ ...RULE, args: { x: { enum: [2, 3] } } }, DENY]],
  ['a tool more', 'wider', [{ ...RULE, tool: ['a', 'b', 'c'] }, DENY]],
  ['a star', 'unknown', [{ ...RULE, tool: '*' }, DENY]],
  ['an argument required', 'narrower', [{ ...RULE, required: ['x'] }, DENY]],
  ['a source wanted', 'narrower', [{ ...RULE, sources: [{ arg: 'x', from: ['prompt'] }] }, DENY]],
  ['no limit', 'wider', [{ id: 'r', effect: 'allow', server: 's', tool: ['a', 'b'] }, DENY]],
  ['a denial gone', 'wider', [RULE]],
  ['a denial of more', 'narrower', [RULE, { ...DENY, args: { x: { maximum: 4 } } }]],
  ['a denial of less', 'wider', [RULE, { ...DENY, args: { x: { maximum: 2 } } }]],
  ['a rule gone', 'narrower', [DENY]],
  ['both ways', 'unknown', [{ ...RULE, tool: 'a' }]],
  ['a question', 'unknown', [RULE, DENY, ASK]],
  ['a pattern', 'unknown', [{ ...RULE, args: { x: { enum: [1, 2], pattern: '^a' } } }, DENY]],
  ['shadow mode', 'wider', [RULE, DENY], { mode: 'shadow' }],
  ['a budget', 'narrower', [RULE, DENY], { budgets: { calls_per_run: 3 } }],
  ['an effect that is done once', 'narrower', [{ ...RULE, once: 'x:{x}' }, DENY]],
  ['a total', 'narrower', [RULE, DENY], { budgets: { totals: [TOTAL] } }],
];

test('diff tells narrowing from widening, and what it cannot tell', () => {
  const before = readPolicy({ version: 1, rules: [RULE, DENY] }).document;
  for (const [what, change, rules, more] of DIFFS) {
    const after = readPolicy({ version: 1, rules, ...more }).document;
    assert.equal(joinChanges(comparePolicies(before, after).map((one) => one.change)), change, what);
  }
  const [two, three, none] = [5, 9, undefined].map((most) => {
    const budgets = most === undefined ? {} : { totals: [{ ...TOTAL, at_most: most }] };
    const once = most === undefined ? {} : { once: `x${most}:{x}` };
    return readPolicy({ version: 1, rules: [{ ...RULE, ...once }], budgets }).document;
  });
  assert.ok(two && three && none);
  const read = (...[from, to]: Parameters<typeof comparePolicies>) =>
    comparePolicies(from, to).map(({ change }) => change);
  assert.deepEqual(read(two, three), ['unknown', 'unknown']);
  assert.deepEqual(read(two, none), ['wider', 'wider']);
});

test(`what diff calls narrower lets no call through that was stopped, and wider stops none (SEED=${SEED})`, () => {
  const next = random(SEED);
  const pick = <T>(from: readonly T[]): T => from[next(from.length)] as T;
  const schema = () =>
    pick([
      () => ({ enum: [1, 2, 3, 'a'].slice(next(3)) }),
      () => ({ maximum: next(4) }),
      () => ({ minimum: next(4), maximum: 2 + next(3) }),
      () => ({ type: pick(['integer', 'number', 'string']) }),
      () => ({ maxLength: next(4) }),
      () => ({ const: pick([1, 'a']) }),
      () => true,
    ])();
  const rule = (id: number) => {
    const effect = pick(['allow', 'allow', 'deny', 'require_approval']);
    const more = effect !== 'allow' ? {} : pick([{}, { required: ['x'] }, { only_args: true }]);
    const args = pick([{ x: schema() }, { y: schema() }, { x: schema(), y: schema() }]);
    return { id: `r${id}`, effect, server: 's', tool: pick(['t', 'u', 't*', ['t', 'u']]), args, ...more };
  };
  const inputSchema = { type: 'object', properties: { x: {}, y: {} } };
  const tools = { s: { tools: ['t', 'u'].map((name) => ({ name, inputSchema })) } };
  const values = [undefined, 0, 1, 2, 2.5, 3, 4, 'a', 'aaaa', null];
  const counts: Record<string, number> = {};
  for (let i = 0; i < 3_000; i += 1) {
    const rules = Array.from({ length: 1 + next(3) }, (_, at) => rule(at));
    const changed = rules.map((one, at) =>
      next(2) === 0 ? { ...rule(at), tool: one.tool, effect: one.effect } : one,
    );
    const clean = changed.map((one) =>
      one.effect === 'allow' ? one : { ...one, required: undefined, only_args: undefined },
    );
    const after = JSON.parse(JSON.stringify(pick([clean, clean.slice(1), [...rules, rule(9)]])));
    if (after.length === 0) continue;
    const policies = [rules, after].map((all) => readPolicy({ version: 1, rules: all }).document);
    const change = joinChanges(
      comparePolicies(policies[0] as never, policies[1] as never).map((one) => one.change),
    );
    counts[change] = (counts[change] ?? 0) + 1;
    using a = new PolicyGate({ policy: policies[0] as object, tools });
    using b = new PolicyGate({ policy: policies[1] as object, tools });
    for (const tool of ['t', 'u'])
      for (const x of values)
        for (const y of values) {
          const args = { ...(x !== undefined && { x }), ...(y !== undefined && { y }) };
          const [was, now] = [a, b].map(
            (gate) => gate.evaluate({ server: 's', tool, args }).decision === 'allow',
          );
          const isWrong = (change !== 'wider' && now && !was) || (change !== 'narrower' && was && !now);
          assert.ok(change === 'unknown' || !isWrong, JSON.stringify({ change, tool, args, rules, after }));
        }
  }
  assert.ok((counts.narrower ?? 0) > 0 && (counts.wider ?? 0) > 0, JSON.stringify(counts));
});

test('learn, what-if, diff and drill read an audit trail and JSON lines, and init writes policies that load', async () => {
  const dir = tempDir();
  const run = (...args: string[]) => runCommand(gateCommand, args);
  {
    using log = new AuditLog({ dir, captureContent: true });
    using gate = new PolicyGate({ policy: { mail: ['send'] } });
    const properties = { to: { type: 'string' }, n: { type: 'integer' } };
    gate.setTools('mail', [{ name: 'send', inputSchema: { type: 'object', properties } }]);
    const audit = log.startRun();
    for (const to of ['a@a.example', 'b@a.example'])
      await guardedCall({ server: 'mail', tool: 'send', args: { to } }, async () => ({ content: [] }), {
        gate,
        audit,
      });
    await assert.rejects(
      guardedCall({ server: 'mail', tool: 'wipe', args: {} }, async () => ({}), { gate, audit }),
    );
    audit.finish();
  }
  const [tight, wide] = [join(dir, 'tight.txt'), join(dir, 'wide.txt')];
  const learned = await run('learn', dir, '--out', tight);
  assert.equal(learned.code, 0);
  assert.match(
    learned.stdout,
    /^mail\/send where to is "a@a.example" or "b@a.example"; and nothing else is given\n$/,
  );
  await assert.rejects(run('learn', dir, '--out', tight), { code: 'INVALID_OPTION' });
  assert.equal((await run('learn', dir, '--wide', '--out', wide)).code, 0);
  const whatIf = await run('what-if', tight, dir);
  assert.equal(whatIf.code, 0);
  assert.match(whatIf.stdout, /^3 calls: 2 allowed, 0 asked about, 1 denied\n$/);
  const lines = tempFile('calls.jsonl', '{"server":"mail","tool":"send","args":{"to":"c@a.example"}}\n');
  assert.deepEqual(
    [(await run('what-if', tight, lines)).code, (await run('what-if', wide, lines)).code],
    [1, 0],
  );
  const diff = await run('diff', tight, wide, lines);
  assert.match(
    diff.stdout,
    /unknown by the rules alone; of 1 recorded calls B lets through 1 more and 0 fewer\n$/,
  );
  const asking = tempFile('policy.json', {
    version: 1,
    rules: [{ id: 'ask', effect: 'require_approval', server: 'mail', tool: 'send' }],
  });
  // What the hook recorded of an agent, and a golden.
  const log = tempDir();
  const event = {
    hook_event_name: 'PreToolUse',
    tool_name: 'Bash',
    tool_input: { command: 'git status | wc -l' },
  };
  const env = { SAFE_TRACE_DIR: log, OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' };
  await runCommand(
    hookCommand,
    ['claude-code', '--policy', asking],
    [JSON.stringify({ cwd: dir, ...event })],
    env,
  );
  const sources = [
    [
      log,
      /^shell\/run where program is "git"; subcommand is "status"; words is \["status"\];.*\nshell\/run .*"wc"/,
    ],
    ['goldens/anthropic/chain_of_five_calls.json', /^scenario\/find_customer where /],
  ] as const;
  for (const [source, says] of sources) {
    const out = join(tempDir(), 'learned.txt');
    const said = await run('learn', source, '--out', out);
    assert.match(said.stdout, says);
    assert.equal((await run('what-if', out, source)).code, 0);
  }
  const drill = await run('drill', asking, dir, lines);
  assert.equal(drill.code, 0, drill.stdout);
  assert.equal(drill.stdout.match(/^holds/gm)?.length, 5, drill.stdout);
  const twins = tempFile('policy.json', {
    version: 1,
    duplicate_names: 'allow',
    rules: [
      { id: 'a', effect: 'allow', server: 'mail', tool: 'send' },
      { id: 'b', effect: 'allow', server: 'mail too', tool: 'send' },
    ],
  });
  const failed = await run('drill', twins, lines);
  assert.equal(failed.code, 1);
  assert.match(failed.stdout, /^fails +another server lists the same tool/m);
  for (const flag of ['--observe', '--strict']) {
    const out = join(dir, `${flag}.txt`);
    const tools = tempFile('tools.json', {
      mail: {
        tools: [
          { name: 'list', annotations: { readOnlyHint: true }, inputSchema: { type: 'object' } },
          { name: 'send', inputSchema: { type: 'object' } },
        ],
      },
    });
    assert.equal((await run('init', flag, '--out', out, '--tools', tools)).code, 0);
    using gate = new PolicyGate({ policy: out, tools: JSON.parse(readFileSync(tools, 'utf8')) });
    assert.deepEqual(gate.findings, []);
    const decided = ['list', 'send'].map((tool) => gate.evaluate({ server: 'mail', tool, args: {} }));
    assert.deepEqual(
      decided.map(({ decision, enforcement }) => `${decision} ${enforcement}`),
      flag === '--strict'
        ? ['allow enforced', 'require_approval enforced']
        : ['allow shadow', 'require_approval shadow'],
    );
  }
  assert.equal((await run('init', '--strict', '--out', join(dir, 'agents.txt'))).code, 0);
});
