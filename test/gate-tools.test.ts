/** Tools of frameworks behind the gate: what they are shown as, what their calls give, and that no way leads around. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AIMessage } from '@langchain/core/messages';
import { DynamicTool, tool } from '@langchain/core/tools';
import { Annotation, Command, interrupt, MemorySaver, START, StateGraph } from '@langchain/langgraph';
import { ToolNode } from '@langchain/langgraph/prebuilt';
import { z } from 'zod';
import { AuditLog, gateTools, PolicyDeniedError, PolicyGate, toolApproval } from '../src/policy/index.ts';
import { auditRecords } from './support/audit-records.ts';
import { TelemetryBench } from './support/telemetry-bench.ts';
import { tempDir } from './support/temp-dir.ts';

const SECRET = 'password=hunter2hunter2';
const HIDDEN = 'password=[redacted: secret]';

function gateWith(...rules: object[]): PolicyGate {
  return new PolicyGate({ policy: { version: 1, rules } });
}

const rule = (name: string, effect = 'allow', more = {}) => ({
  id: `${effect} ${name}`,
  effect,
  server: 'tools',
  tool: name,
  ...more,
});

const denied = (reason: string) => (error: unknown) =>
  error instanceof PolicyDeniedError && error.reasonCode === reason;

test('a tool gives what it gave before, without its secrets', async () => {
  using gate = gateWith(rule('give'));
  const values: [given: unknown, read: unknown][] = [
    ['a text', 'a text'],
    [`a ${SECRET} text`, `a ${HIDDEN} text`],
    [
      { note: SECRET, n: 1 },
      { note: HIDDEN, n: 1 },
    ],
    [
      [1, 'two'],
      [1, 'two'],
    ],
    [0, 0],
    [null, null],
    [undefined, undefined],
    [{ content: [{ type: 'text', text: 'of MCP' }] }, undefined],
    [10n, 10n],
    [new Uint8Array([1, 2, 3]), new Uint8Array([1, 2, 3])],
    [new Map([[1, 2]]), new Map([[1, 2]])],
  ];
  for (const [given, read] of values) {
    const gated = gateTools({ give: () => given }, gate);
    const got = await gated.give();
    if (read !== undefined || given === undefined) assert.deepEqual(got, read);
    else assert.deepEqual((got as { content: unknown }).content, (given as { content: unknown }).content);
  }
  const own = { shape: 'of a class' };
  const kept = gateTools({ give: () => own }, gate);
  assert.equal(await kept.give(), own, 'the tool’s own object');
  const round: Record<string, unknown> = {};
  round.self = round;
  assert.match(String(await gateTools({ give: () => round }, gate).give()), /left out/);
  const large = await gateTools({ give: () => ({ text: 'x'.repeat(1_100_000) }) }, gate).give();
  assert.match(String(large), /more characters are left out/);
});

test('a call leaves the audit records and the span of a gated call', async () => {
  await using bench = new TelemetryBench();
  const dir = tempDir();
  {
    using audit = new AuditLog({ dir });
    const run = audit.startRun();
    using gate = gateWith(rule('read'), rule('wipe', 'deny'));
    const read = { description: 'Reads', inputSchema: z.object({ id: z.string() }), execute: () => 'text' };
    const tools = gateTools({ read, wipe: () => 'gone' }, gate, {
      audit: run,
      context: () => ({ caller: 'alice' }),
    });
    assert.equal(await Reflect.apply(tools.read.execute, undefined, [{ id: 'a' }]), 'text');
    await assert.rejects(async () => tools.wipe(), denied('rule_denied'));
    await assert.rejects(
      async () => Reflect.apply(tools.read.execute, undefined, [{ id: 1 }]),
      denied('args_invalid'),
    );
    run.finish();
  }
  const calls = auditRecords(dir).filter(({ event }) => String(event).startsWith('call_'));
  assert.deepEqual(
    calls.map(({ event, tool: name, caller, reason_code, outcome }) => [
      event,
      name,
      caller,
      reason_code ?? outcome,
    ]),
    [
      ['call_decided', 'read', 'alice', 'allowed'],
      ['call_started', 'read', undefined, undefined],
      ['call_finished', 'read', undefined, 'output_accepted'],
      ['call_decided', 'wipe', 'alice', 'rule_denied'],
      ['call_decided', 'read', 'alice', 'args_invalid'],
    ],
  );
  assert.deepEqual(
    bench.spans.map(({ name }) => name),
    ['policy_gate read', 'policy_gate wipe', 'policy_gate read'],
  );
});

test('every way to a tool of LangChain leads through the gate', async () => {
  const ran: string[] = [];
  const own = tool(
    ({ path }: { path: string }) => {
      ran.push(path);
      return `text of ${path}`;
    },
    { name: 'read', description: 'Reads', schema: z.object({ path: z.string() }) },
  );
  using gate = gateWith(rule('read', 'allow', { args: { path: { const: 'a' } } }), rule('say'));
  const say = new DynamicTool({ name: 'say', description: 'Says', func: async (text) => `said ${text}` });
  const [read, said] = gateTools([own, say], gate);
  assert.equal(await read?.invoke({ path: 'a' } as never), 'text of a');
  assert.equal(await said?.invoke('hello' as never), 'said hello');
  const message = await read?.invoke({
    name: 'read',
    args: { path: 'a' },
    id: '1',
    type: 'tool_call',
  } as never);
  assert.equal((message as { content?: unknown } | undefined)?.content, 'text of a');
  ran.length = 0;
  const gated = read as unknown as Record<string, (...params: unknown[]) => Promise<unknown>>;
  const input = { path: 'b' };
  for (const ways of [
    () => gated.invoke?.(input),
    () => gated.call?.(input),
    () => gated._call?.(input),
    () => gated.func?.(input),
    () => gated.batch?.([input]),
    async () => {
      for await (const _ of ((await gated.stream?.(input)) ?? []) as AsyncIterable<unknown>);
    },
    () =>
      own.pipe === undefined
        ? undefined
        : Reflect.apply(own.pipe, gated, [(text: unknown) => text]).invoke(input),
    () => gated._call?.({ path: 'a', extra: 1 }),
    () => gated._call?.(JSON.parse('{"path":"a","__proto__":{"path":"b"}}')),
  ]) {
    await assert.rejects(async () => await ways(), PolicyDeniedError);
  }
  assert.deepEqual(ran, []);
  const node = new ToolNode([read as never]);
  const asked = new AIMessage({
    content: '',
    tool_calls: [{ name: 'read', args: input, id: '1', type: 'tool_call' }],
  });
  const { messages } = await node.invoke({ messages: [asked] });
  assert.match(String(messages[0].content), /refused \(argument_rule_unmet\)/);
});

test('a LangGraph run is interrupted for a person and goes on with the answer', async () => {
  for (const answer of [true, false]) {
    let paid = 0;
    const pay = tool(() => `paid ${++paid}`, {
      name: 'pay',
      description: 'Pays',
      schema: z.object({ to: z.string() }),
    });
    using gate = gateWith(rule('pay', 'require_approval'));
    const [gated] = gateTools([pay], gate, { ask: ({ tool: name, args }) => interrupt({ name, args }) });
    const asked = new AIMessage({
      content: '',
      tool_calls: [{ name: 'pay', args: { to: 'bob' }, id: '1', type: 'tool_call' }],
    });
    const State = Annotation.Root({ messages: Annotation<unknown[]>() });
    const graph = new StateGraph(State)
      .addNode('tools', new ToolNode([gated as never]) as never)
      .addEdge(START, 'tools')
      .compile({ checkpointer: new MemorySaver() });
    const thread = { configurable: { thread_id: '1' } };
    const held = (await graph.invoke({ messages: [asked] }, thread)) as {
      __interrupt__?: { value: unknown }[];
    };
    assert.deepEqual(held.__interrupt__?.[0]?.value, { name: 'pay', args: { to: 'bob' } });
    assert.equal(paid, 0);
    const { messages } = (await graph.invoke(new Command({ resume: answer }), thread)) as {
      messages: { content: string }[];
    };
    assert.match(messages.at(-1)?.content ?? '', answer ? /^paid 1$/ : /refused \(approval_rejected\)/);
    assert.equal(paid, answer ? 1 : 0);
  }
});

test('what is decided is what is called, whatever happens to tool and arguments meanwhile', async () => {
  using gate = gateWith(
    rule('read', 'allow', { args: { path: { const: 'a' } } }),
    rule('held', 'require_approval'),
  );
  const seen: unknown[] = [];
  const own: Record<string, unknown> = {
    description: 'Reads',
    inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
    execute: (input: object) => seen.push(input),
  };
  const { read } = gateTools({ read: own }, gate);
  const run = (tools: unknown, ...params: unknown[]): Promise<unknown> =>
    Reflect.apply((tools as { execute: () => Promise<unknown> }).execute, tools, params);
  own.execute = () => seen.push('another function');
  let reads = 0;
  const shifty = Object.defineProperty({}, 'path', {
    enumerable: true,
    get: () => (++reads > 1 ? 'b' : 'a'),
  });
  const given = { path: 'a' };
  const pending = run(read, given);
  given.path = 'b';
  await pending;
  // A getter that says another thing each time: one of its answers is decided, and no other is called.
  await run(read, shifty).catch((error) => assert.ok(denied('argument_rule_unmet')(error)));
  // Too large to be copied, then small and allowed, then another one.
  const huge = Array.from({ length: 60_000 }, () => 0);
  for (let turn = 1; turn < 20; turn += 1) {
    let [sizes, paths] = [0, 0];
    const live = {
      get path() {
        return ++paths > turn ? 'b' : 'a';
      },
      get more() {
        return ++sizes > 1 ? [] : huge;
      },
    };
    using other = gateWith(rule('plain', 'allow', { args: { path: { const: 'a' } } }));
    const { plain } = gateTools({ plain: (input: object) => seen.push({ ...input }) }, other);
    await Promise.resolve(plain(live)).catch(() => undefined);
  }
  assert.ok(seen.length >= 1 && seen.every((input) => (input as { path: string }).path === 'a'));
  assert.throws(() => Object.assign(read as object, { execute: () => 'mine' }), TypeError);
  Object.assign(read as object, { description: 'Reads, and sends a copy' });
  await assert.rejects(run(read, { path: 'a' }), denied('tool_changed'));

  let isHeld = true;
  const controller = new AbortController();
  const ask = async () => {
    controller.abort(new Error('stopped'));
    return true;
  };
  const { held } = gateTools({ held: { execute: () => (isHeld = false) } }, gate, { ask });
  await assert.rejects(run(held, {}, { abortSignal: controller.signal }), /stopped/);
  for (const answer of [false, undefined, 'yes', 1]) {
    const other = gateTools({ held: { execute: () => (isHeld = false) } }, gate, {
      ask: () => answer as never,
    });
    await run(other.held, {}).catch((error) => assert.ok(denied('approval_rejected')(error)));
  }
  const broken = gateTools({ held: { execute: () => (isHeld = false) } }, gate, {
    ask: () => {
      throw new Error('nobody there');
    },
  });
  await assert.rejects(run(broken.held, {}), /nobody there/);
  await assert.rejects(
    run(gateTools({ held: { execute: () => (isHeld = false) } }, gate).held, {}),
    denied('approval_required'),
  );
  assert.ok(isHeld);
});

test('an approval is for the tool that a person was asked about, and for one call', async () => {
  using gate = gateWith(rule('pay', 'require_approval'), rule('wipe', 'require_approval'));
  const made: string[] = [];
  const toolOf = (name: string) => ({ execute: async () => made.push(name) });
  const tools = gateTools({ pay: toolOf('pay'), wipe: toolOf('wipe') }, gate);
  type Approvable = {
    needsApproval(...params: unknown[]): Promise<boolean>;
    execute: typeof tools.pay.execute;
  };
  const { pay, wipe } = tools as unknown as Record<'pay' | 'wipe', Approvable>;
  const [input, toolCallId, approvalId] = [{ to: 'x' }, crypto.randomUUID(), crypto.randomUUID()];
  assert.equal(await pay.needsApproval(input, { toolCallId, messages: [] }), true);
  const answered = (toolName: string) => {
    const call = { type: 'tool-call', toolCallId, toolName, input };
    const request = { type: 'tool-approval-request', approvalId, toolCallId };
    const response = { type: 'tool-approval-response', approvalId, approved: true };
    return { toolCallId, messages: [{ content: [call, request] }, { content: [response] }] };
  };
  const run = (tool: Approvable, name: string) => Reflect.apply(tool.execute, tool, [input, answered(name)]);
  // Who keeps the messages until the answer comes made it another tool.
  await assert.rejects(run(wipe, 'wipe'), denied('approval_required'));
  const many = await Promise.allSettled(Array.from({ length: 64 }, () => run(pay, 'pay')));
  assert.equal(many.filter(({ status }) => status === 'fulfilled').length, 1);
  assert.deepEqual(made, ['pay']);
});

test('many calls at once come to the budget exactly, and each to its own result', async () => {
  const policy = { version: 1, rules: [rule('add')], budgets: { calls_per_run: 10 } };
  using gate = new PolicyGate({ policy });
  let ran = 0;
  const { add } = gateTools(
    {
      add: async (input: { n?: number } = {}) => {
        await new Promise((resolve) => setImmediate(resolve));
        ran += 1;
        return { n: input.n };
      },
    },
    gate,
  );
  const results = await Promise.allSettled(Array.from({ length: 40 }, (_, n) => add({ n })));
  assert.equal(ran, 10);
  for (const [n, result] of results.entries())
    if (result.status === 'fulfilled') assert.deepEqual(result.value, { n });
});

test('a tool that yields, throws or throws nothing is judged by its end', async () => {
  using gate = gateWith(rule('stream'), rule('throws'));
  const tools = gateTools(
    {
      stream: {
        async *execute() {
          yield SECRET;
          yield `the end ${SECRET}`;
        },
      },
      throws: { execute: (error: unknown) => Promise.reject(error === undefined ? 1 : undefined) },
    },
    gate,
  );
  assert.equal(await Reflect.apply(tools.stream.execute, undefined, []), `the end ${HIDDEN}`);
  await assert.rejects(
    async () => Reflect.apply(tools.throws.execute, undefined, []),
    (error) => error === undefined,
  );
});

test('what is no tool that runs here is refused when it is gated', () => {
  using gate = gateWith(rule('any'));
  const hosted: unknown[] = [
    { type: 'hosted_tool', name: 'web_search' },
    { type: 'provider', id: 'openai.web_search', args: {} },
    { name: 'client', inputSchema: { type: 'object' } },
    { name: 'runnable', schema: { type: 'object' }, invoke: () => 1 },
    gateTools({ any: { execute: () => 1 } }, gate).any,
    { execute: () => 1 },
    'a name',
    null,
  ];
  for (const given of hosted)
    assert.throws(() => gateTools([given], gate), { code: 'INVALID_INPUT' }, JSON.stringify(given));
  const zod3 = { _def: { typeName: 'ZodObject' }, parse: () => ({}) };
  assert.throws(() => gateTools({ any: { inputSchema: zod3, execute: () => 1 } }, gate), /jsonSchemaOf/);
  gateTools({ any: { inputSchema: zod3, execute: () => 1 } }, gate, {
    jsonSchemaOf: () => ({ type: 'object' }),
  });
  assert.throws(() => gateTools([], gate, { sever: 'x' } as never), { code: 'INVALID_OPTION' });
});

test('toolApproval() denies, asks and lets through, and leaves gated tools to themselves', async () => {
  using gate = gateWith(rule('read'), rule('pay', 'require_approval'), rule('own'));
  const dir = tempDir();
  using audit = new AuditLog({ dir });
  const run = audit.startRun();
  const approve = toolApproval(gate, { audit: run });
  const schema = { '~standard': { jsonSchema: { input: () => ({ type: 'object', properties: {} }) } } };
  const made = { inputSchema: schema, execute: () => 1 };
  const tools = {
    read: made,
    pay: { ...made },
    own: { ...made, needsApproval: () => true },
    other: { ...made },
  };
  const ask = (toolName: string, messages: readonly unknown[] = [], all: object = tools) =>
    approve({ toolCall: { toolName, toolCallId: `id ${toolName}`, input: {} }, tools: all, messages });
  assert.deepEqual(await ask('read'), { type: 'not-applicable' });
  assert.equal((await ask('pay')).type, 'user-approval');
  assert.equal((await ask('own')).type, 'user-approval', 'the tool itself asks');
  assert.deepEqual(await ask('other'), { type: 'denied', reason: 'No rule allows tools/other' });
  assert.equal((await ask('toString')).type, 'denied');
  const recorded = auditRecords(dir).filter(({ event }) => event === 'call_decided').length;
  const gated = gateTools({ read: made }, gate);
  assert.deepEqual(await ask('read', [], gated), { type: 'not-applicable' });
  assert.equal(auditRecords(dir).filter(({ event }) => event === 'call_decided').length, recorded);
});
