/** Runs of mcpGhost against a server whose results are made to take long, to recurse or to fill the memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { mcpGhost } from '../src/golden/index.ts';
import type { Completion, GhostResult, Provider } from '../src/orchestrator/index.ts';
import { gateClient, gateTools, guardedCall, PolicyGate } from '../src/policy/index.ts';
import { hostileHttp } from './support/hostile-server.ts';
import { assertFree } from './support/loop-hold.ts';
import { seededRandom } from './support/random.ts';
import { sized } from './support/size.ts';

const TOOLS = ['get_a', 'get_b', 'set_c'];

interface Course {
  readonly turns?: number;
  readonly callsPerTurn?: number;
  readonly args?: (turn: number, call: number) => object;
}

/** A model that calls the tools in turn and then answers. */
function model({ turns = 2, callsPerTurn = 2, args = () => ({}) }: Course): Provider {
  let turn = 0;
  return {
    name: 'openai',
    defaultModel: 'gpt-5.4-mini',
    createCompletion: async () => {
      turn += 1;
      const calls = Array.from({ length: callsPerTurn }, (_, i) => ({
        type: 'tool_call',
        id: `c${turn}_${i}`,
        name: `s__${TOOLS[i % TOOLS.length]}`,
        arguments: args(turn, i),
      }));
      const isOver = turn > turns;
      const parts = isOver ? [{ type: 'text', text: 'done' }] : calls;
      const message = { role: 'assistant', parts };
      return {
        message,
        finishReason: isOver ? 'stop' : 'tool_calls',
        failedAttempts: [],
      } as unknown as Completion;
    },
  };
}

/** Runs against the results, asserts that nothing holds the event loop, and returns how the last try ended. */
async function freeRun(what: string, results: readonly string[], course: Course = {}): Promise<GhostResult> {
  await using server = await hostileHttp(results, 'application/json', TOOLS);
  let result: GhostResult | undefined;
  await assertFree(what, async () => {
    result = await mcpGhost({
      serverConfig: { mcpServers: { s: { url: server.url } } },
      systemPrompt: '',
      userPrompt: 'Do the task.',
      provider: model(course),
    });
  });
  assert.ok(result !== undefined);
  return result;
}

const rep = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const structure = (value: unknown): string => JSON.stringify({ content: [], structuredContent: value });
const text = (content: string): string => JSON.stringify({ content: [{ type: 'text', text: content }] });
const members = (count: number, name: (i: number) => string, value: (i: number) => unknown): object =>
  Object.fromEntries([['id', 'C17'], ...rep(count, (i) => [name(i), value(i)])]);
const nested = (open: string, inner: string, close: string, depth: number): string =>
  `${open.repeat(depth)}${inner}${close.repeat(depth)}`;

/** Results that give other values to the same names each time. */
const readings = (results: number) =>
  rep(results, (j) =>
    structure(
      members(
        290,
        (i) => `f${i}`,
        (i) => i + j,
      ),
    ),
  );

/** Pairs of results of two tools about the same thing, made to take long to compare, search, hash or show. */
const CASES: readonly (readonly [string, () => readonly string[], Course?])[] = [
  [
    'words that a text nearly repeats',
    () => [
      JSON.stringify({
        content: [{ type: 'text', text: `${'☃'.repeat(3_000)}"`.repeat(300) }],
        structuredContent: rep(4, (i) => '☃'.repeat(4_000 + i)),
      }),
    ],
    { turns: 4, args: () => ({ a: rep(20, (i) => '☃'.repeat(400 + i)) }) },
  ],
  [
    'long names',
    () =>
      rep(2, (j) =>
        structure(
          members(
            290,
            (i) => '_-'.repeat(7_000) + i,
            () => j,
          ),
        ),
      ),
  ],
  ['JSON of many names in a text', () => [text(`{${rep(600_000, (i) => `"k${i}":1`).join(',')}}`)]],
  ['JSON of many lists in a text', () => [text(`[${'[],'.repeat(3_000_000)}[]]`)]],
  [
    'long values',
    () =>
      rep(2, (j) =>
        structure(
          members(
            290,
            (i) => `f${i}`,
            () => `${j}`.repeat(30_000),
          ),
        ),
      ),
    { callsPerTurn: 4 },
  ],
  [
    'letters with a long lower case',
    () => rep(2, (j) => structure({ id: 'C17', v: 'İ'.repeat(4_500_000) + j })),
  ],
  [
    'many names of one thing',
    () =>
      rep(2, (j) =>
        structure(
          members(
            290,
            (i) => `k${i}Id`,
            (i) => `${i}`.repeat(200) + j,
          ),
        ),
      ),
  ],
  ['many readings', () => readings(20), { turns: 8, callsPerTurn: 20 }],
  ['texts of pairs', () => [text('a -'.repeat(3_000) + ':'.repeat(10_000))], { turns: 4, callsPerTurn: 20 }],
  [
    'many texts of pairs',
    () => [JSON.stringify({ content: rep(100, () => ({ type: 'text', text: 'a -:'.repeat(5_000) })) })],
  ],
  [
    'arguments that hold values',
    () =>
      rep(2, (j) =>
        structure(
          members(
            290,
            (i) => `f${i}`,
            (i) => `w${i + j}`,
          ),
        ),
      ),
    { turns: 6, callsPerTurn: 6, args: () => ({ q: rep(400, (i) => `w${i}`).join(' ') }) },
  ],
  [
    'changes between readings',
    () => readings(30),
    { turns: 8, callsPerTurn: 12, args: () => ({ v: 'C1'.repeat(20_000) }) },
  ],
  [
    'numbers between doubles',
    () => [text(`[${rep(7_000, () => `2.4703282292062327208299${'3'.repeat(750)}e-324`).join(',')}]`)],
  ],
  ['a text as long as a message', () => [text(':'.repeat(9_000_000))]],
  [
    'images',
    () => [
      JSON.stringify({ content: [{ type: 'image', mimeType: 'image/png', data: 'A'.repeat(6_000_000) }] }),
    ],
    { turns: 3, callsPerTurn: 3 },
  ],
];

test('results made to be slow to compare, to search or to show do not hold the event loop of a run', async () => {
  for (const [what, results, course] of sized(CASES.slice(0, 1), CASES)) {
    const { executionMetadata, toolChain } = await freeRun(what, results(), course);
    assert.match(executionMetadata.stopReason, /^(completed|loop)$/, what);
    assert.ok(toolChain.length > 0 && toolChain.every(({ success }) => success), what);
  }
});

const SOURCED = {
  version: 1,
  rules: [
    {
      ...{ id: 'set', effect: 'allow', server: 's', tool: 'set_c' },
      sources: [{ arg: 'to', from: ['prompt'], else: 'deny' }],
    },
  ],
};

test('prompts of 262,144 characters whose words are sources hold the event loop at no door', async () => {
  await using server = await hostileHttp(text('done'), 'application/json', TOOLS);
  const args = { to: 'zoe@example.org' };
  for (const word of ['word%20word%21 and 120 EUR by June 13. ', '请在六月十三日之前付款']) {
    const prompt = `Pay zoe@example.org. ${word.repeat(262_100 / word.length)}`;
    const inputSchema = { type: 'object', properties: { to: { type: 'string' } } };
    using gate = new PolicyGate({
      policy: SOURCED,
      tools: { s: { tools: [{ name: 'set_c', inputSchema }] } },
    });
    let runs = 0;
    const fresh = () => ({ runId: `r${++runs}`, userRequest: `${prompt} ${runs}` });
    await assertFree(`${word}: guardedCall`, async () => {
      const call = { ...fresh(), server: 's', tool: 'set_c', args };
      await guardedCall(call, async () => ({ content: [] }), { gate });
    });
    await assertFree(`${word}: remember`, async () => {
      const { runId } = fresh();
      gate.remember(runId, { prompt, operator: prompt });
      const call = { runId, server: 's', tool: 'set_c', args };
      await guardedCall(call, async () => ({ content: [] }), { gate });
    });
    await assertFree(`${word}: gateTools`, async () => {
      const own = { set_c: { inputSchema, execute: async (_: object) => 'done' } };
      await gateTools(own, gate, { server: 's', context: fresh }).set_c.execute(args);
    });
    await assertFree(`${word}: gateClient`, async () => {
      const client = new Client({ name: 'test', version: '1' });
      const guarded = gateClient(client, new PolicyGate({ policy: SOURCED }), {
        server: 's',
        context: fresh,
      });
      await guarded.connect(new StreamableHTTPClientTransport(new URL(server.url)) as Transport);
      await guarded.callTool({ name: 'set_c', arguments: args });
      await guarded.close();
    });
    await assertFree(`${word}: mcpGhost`, async () => {
      const { toolChain } = await mcpGhost({
        serverConfig: { mcpServers: { s: { url: server.url } } },
        systemPrompt: `${prompt}.`,
        userPrompt: prompt,
        provider: model({ turns: 3, callsPerTurn: 3, args: () => args }),
        gate: new PolicyGate({ policy: SOURCED }),
        audit: false,
      });
      assert.ok(toolChain.some(({ toolName, success }) => toolName === 's.set_c' && success));
    });
  }
});

test('results nested deeper than the stack do not end a run', async () => {
  const depth = 40_000;
  const deep = nested('[', '', ']', depth);
  const results = [
    `{"content":[],"structuredContent":${deep}}`,
    `{"content":[],"structuredContent":${nested('{"a":', '1', '}', depth / 2)}}`,
    `{"content":[${deep}]}`,
    text(nested('[', '', ']', sized(200_000, 2_000_000))),
  ];
  for (const result of sized(results.slice(2), results)) {
    const { success, toolChain } = await freeRun(result.slice(0, 60), [result]);
    assert.ok(success && toolChain.length === 4 && toolChain.every((entry) => entry.success));
  }
});

test('images that are too large or too many are left out and named; the model sees the rest', async () => {
  const image = (size: number) => ({ type: 'image', mimeType: 'image/png', data: 'A'.repeat(size) });
  await using server = await hostileHttp(
    [JSON.stringify({ content: [image(100), image(8_000_000), ...rep(150, () => image(4))] })],
    'application/json',
    TOOLS,
  );
  const seen: string[] = [];
  const inner = model({ turns: 1, callsPerTurn: 1 });
  const provider: Provider = {
    ...inner,
    createCompletion: async (messages, tools, options) => {
      const last = messages.at(-1);
      if (last?.role === 'tool')
        seen.push(
          ...(last.parts[0]?.content ?? []).map((part) => (part.type === 'text' ? part.text : part.type)),
        );
      return await inner.createCompletion(messages, tools, options);
    },
  };
  const serverConfig = { mcpServers: { s: { url: server.url } } };
  await mcpGhost({ serverConfig, systemPrompt: '', userPrompt: 'Do it.', provider });
  assert.equal(seen.filter((part) => part === 'image').length, 100);
  assert.match(seen[0] ?? '', /images left out, too large or too many: 52/);
});

/** A value put together at random: names and values repeat, so that results agree and disagree about the same things. */
function fuzzed(random: () => number): unknown {
  let left = 3_000;
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const name = (): string =>
    pick([
      'id',
      'key',
      'orderId',
      'name',
      'status',
      'İd',
      `f${Math.floor(random() * 50)}`,
      'x'.repeat(Math.floor(random() * 3_000)),
    ]);
  const leaf = (): unknown =>
    pick([
      0,
      true,
      null,
      '',
      'C17',
      'C18',
      random(),
      'a: b\n'.repeat(Math.floor(random() * 500)),
      '{"id":"C17","a":[1]}',
      '☃'.repeat(Math.floor(random() * 5_000)),
      '['.repeat(1_000),
    ]);
  const value = (depth: number): unknown => {
    left -= 1;
    if (left < 0 || depth > 9 || random() < 0.3) return leaf();
    const length = Math.floor(random() * (depth < 2 ? 200 : 6));
    if (random() < 0.4) return rep(length, () => value(depth + 1));
    return Object.fromEntries(rep(length, () => [name(), value(depth + 1)]));
  };
  return value(0);
}

test('runs on results put together at random end, none of them holding the event loop', async () => {
  const random = seededRandom(20261122);
  for (let i = 0; i < sized(1, 100); i += 1) {
    const results = rep(6, () => {
      const value = fuzzed(random);
      const block = random() < 0.5 ? { type: 'text', text: JSON.stringify(value) } : { type: 'odd', value };
      return JSON.stringify({
        content: [block],
        ...(random() < 0.7 ? { structuredContent: value } : {}),
        isError: random() < 0.1,
      });
    });
    const { executionMetadata } = await freeRun(`case ${i}`, results, {
      turns: 4,
      callsPerTurn: 6,
      args: (_, call) => ({ id: `C${16 + call}` }),
    });
    assert.match(executionMetadata.stopReason, /^(completed|loop)$/);
  }
});
