import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as HttpTransportV2,
} from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioTransportV2 } from '@modelcontextprotocol/client/stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { compileSchema, SchemaRefusedError } from '../src/json/index.ts';
import { gateClient, PolicyGate, PolicyHost, type ToolDefinition } from '../src/policy/index.ts';
import { call, script } from './support/example-servers.ts';
import { HOSTILE } from './support/hostile-cases.ts';
import { hostileClient, hostileHttp, hostileStdio } from './support/hostile-server.ts';
import { assertFree } from './support/loop-hold.ts';
import { seededRandom } from './support/random.ts';
import { everyOther, longTest, sized } from './support/size.ts';

/** Cases of the fuzzer. */
const CASES = sized(20, 2_000);

const INFO = { name: 'test', version: '1' };
const object = { type: 'object' };

/** The outcome of one call of the only allowed tool: its result, or the reason of the refusal. */
async function callThrough(tools: readonly object[], result: object, args: object = {}): Promise<string> {
  const client = await hostileClient(tools, result);
  using gate = new PolicyGate({ policy: { s: ['t'] } });
  const gated = gateClient(client, gate, { server: 's' });
  try {
    await gated.callTool({ name: 't', arguments: args as Record<string, unknown> });
    return 'accepted';
  } catch (error) {
    return (error as { reasonCode?: string }).reasonCode ?? (error as Error).message;
  }
}

test('a result made for its schema is refused or accepted without holding the event loop', async () => {
  for (const { name, schema, value } of everyOther(HOSTILE, 0)) {
    const outputSchema = { type: 'object', properties: { v: schema }, required: ['v'] };
    const result = { content: [], structuredContent: { v: value } };
    let outcome = '';
    await assertFree(name, async () => {
      outcome = await callThrough([{ name: 't', inputSchema: object, outputSchema }], result);
    });
    assert.match(outcome, /^(accepted|output_\w+|tool_schema_refused)$/, name);
  }
});

test('arguments made for a schema are refused or accepted without holding the event loop', async () => {
  for (const { name, schema, value } of everyOther(HOSTILE, 1)) {
    const inputSchema = { type: 'object', properties: { v: schema }, required: ['v'] };
    let outcome = '';
    await assertFree(name, async () => {
      outcome = await callThrough([{ name: 't', inputSchema }], { content: [] }, { v: value });
    });
    assert.match(outcome, /^(accepted|args_\w+|tool_schema_refused)$/, name);
  }
});

test('the validator that SDK v1 made of an output schema is not asked: what does not fit is handed on, marked', async () => {
  const outputSchema = { type: 'object', properties: { v: { type: 'string', pattern: '^(a+)+$' } } };
  const result = { content: [], structuredContent: { v: `${'a'.repeat(32)}!` } };
  const client = await hostileClient([{ name: 't', inputSchema: object, outputSchema }], result);
  await client.listTools();
  using gate = new PolicyGate({ policy: { s: ['t'] } });
  const gated = gateClient(client, gate, { server: 's' });
  await assertFree('the pattern', async () => {
    const { _meta: marks } = await gated.callTool({ name: 't', arguments: {} });
    assert.deepEqual(marks, { 'mcp-observatory.dev/untrusted': true });
  });
});

longTest(
  'thousands of tools, and large schemas of tools that no rule names, do not hold the event loop',
  async () => {
    const properties = Object.fromEntries(
      Array.from({ length: 25 }, (_, i) => [`p${i}`, { type: 'string', description: 'x'.repeat(30) }]),
    );
    const many = Array.from({ length: 9_000 }, (_, i) => ({
      name: `t${i}`,
      inputSchema: { ...object, properties },
    }));
    const large = {
      ...object,
      properties: Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`p${i}`, { type: 'string' }])),
    };
    const tools = [
      { name: 't', inputSchema: object },
      { name: 'large', inputSchema: large, outputSchema: large },
      { name: 'larger', inputSchema: large, outputSchema: large },
    ];
    for (const [what, listed] of [
      ['9,000 tools', [...tools.slice(0, 1), ...many]],
      ['large schemas', tools],
    ] as const) {
      const client = await hostileClient(listed, { content: [{ type: 'text', text: 'fine' }] });
      using gate = new PolicyGate({ policy: { s: ['t'] } });
      const gated = gateClient(client, gate, { server: 's' });
      await assertFree(what, async () => {
        assert.equal((await gated.listTools()).tools.length, 1);
        await gated.callTool({ name: 't', arguments: {} });
      });
    }
    const all = many.map(({ name }) => name);
    using gate = new PolicyGate({ policy: { s: all } });
    await assertFree('9,000 tools that are all allowed', () =>
      gate.refreshTools('s', structuredClone(many) as ToolDefinition[], { all: true }),
    );
    assert.equal(gate.find('s', 't8999')?.barred, undefined);
  },
);

longTest(
  'a result whose parts are many, large or deep is judged without holding the event loop',
  async () => {
    const typed = { name: 't', inputSchema: object, outputSchema: { type: 'object', properties: { v: {} } } };
    const numbers = Array.from({ length: 60_000 }, (_, i) => i % 10);
    const deep = JSON.parse('['.repeat(400_000) + ']'.repeat(400_000)) as unknown;
    const text = (content: string) => ({ type: 'text', text: content });
    const results: readonly (readonly [string, object])[] = [
      [
        'many numbers and their text',
        { structuredContent: { v: numbers }, content: [text(JSON.stringify({ v: numbers }))] },
      ],
      [
        'many texts',
        { structuredContent: { v: numbers }, content: numbers.slice(0, 20_000).map((n) => text(`[${n}]`)) },
      ],
      ['a text of brackets', { structuredContent: { v: 1 }, content: [text('[],'.repeat(300_000))] }],
      [
        'many empty parts',
        { structuredContent: { v: 1 }, content: Array.from({ length: 300_000 }, () => ({})) },
      ],
      ['a deep structure', { structuredContent: { v: deep }, content: [] }],
      ['a deep part', { structuredContent: { v: 1 }, content: [{ type: 'x', v: deep }] }],
      ['a large error', { isError: true, content: [text('é'.repeat(3_000_000))] }],
      ['an error of many parts', { isError: true, content: numbers.map((n) => text(`password=hunter${n}`)) }],
    ];
    for (const [what, result] of results) {
      for (const tool of [typed, { name: 't', inputSchema: object }]) {
        await assertFree(`${what}, ${tool === typed ? 'typed' : 'untyped'}`, () =>
          callThrough([tool], result),
        );
      }
    }
  },
);

longTest(
  'a message whose text takes long to parse ends the call without holding the event loop',
  async () => {
    const mebibytes10 = 10 * 1024 * 1024 - 1_000;
    const empties = '[],'.repeat(Math.floor(mebibytes10 / 3));
    const below = 49_800;
    const escapes = '\\n'.repeat(5_000_000);
    const halfway = `2.4703282292062327208299${'3'.repeat(750)}e-324`;
    const wide = Array.from({ length: 40_000 }, (_, i) => `"k${i}":1`).join(',');
    const longNames = Array.from({ length: 600 }, (_, i) => `"${'n'.repeat(16_400)}${i}":1`);
    const results: readonly (readonly [string, string, RegExp])[] = [
      ['10 MiB of empty arrays', `{"content":[],"v":[${empties}[]]}`, /more than 100000 JSON values/],
      ['as many as allowed', `{"content":[],"v":[${'[],'.repeat(below)}[]]}`, /^(tool_result|blocked)/],
      ['a wide result', `{"content":[],${wide}}`, /more than 100000 JSON values/],
      ['a wide _meta', `{"content":[],"_meta":{${wide}}}`, /more than 100000 JSON values/],
      ['many escapes', `{"content":[],"v":"${escapes}"}`, /raise `maxMessageValues`/],
      [
        'numbers between doubles',
        `{"content":[],"v":[${`${halfway},`.repeat(5_000)}0]}`,
        /more than 100000 JSON/,
      ],
      ['names of one hash', `{"content":[],"v":{${longNames.join(',')}}}`, /raise `maxMessageValues`/],
      ['letters of several bytes', `{"content":[],"v":"${'☃'.repeat(3_000_000)}"}`, /^(tool_result|blocked)/],
      ['a long text', `{"content":[],"v":"${'[],'.repeat(1_000_000)}"}`, /^(tool_result|blocked)/],
    ];
    for (const type of ['application/json', 'text/event-stream']) {
      for (const [what, result, expected] of results) {
        await using server = await hostileHttp(result, type);
        using gate = new PolicyGate({ policy: { s: ['t'] } });
        let outcome = '';
        await assertFree(`${what}, ${type}`, async () => {
          const planner = script(call('s', 't', {}));
          const options = { gate, planner, servers: { s: { url: server.url } }, audit: false } as const;
          await using host = await PolicyHost.open({ ...options, summarize: false });
          outcome = await host.askOnce('go').then(
            (answer) => (answer.type === 'blocked' ? answer.reasonCode : answer.type),
            (error: Error) => error.message,
          );
        });
        assert.match(outcome, expected, `${what}, ${type}`);
      }
    }
  },
);

longTest('messages over a transport of the application are bounded too', async () => {
  const values = `'{"content":[],"v":[' + '[],'.repeat(2e5) + '[]]}'`;
  const fine = '\'{"content":[{"type":"text","text":"fine"}]}\'';
  const notes = `'{"jsonrpc":"2.0","method":"x"}\\n'.repeat(20_000)`;
  const late = `(process.stdout.write(${notes}), '{"content":[{"type":"text","text":"late"}]}')`;
  const flood = `'{"content":[]}}' + '\\n{"jsonrpc":"2.0","method":"x"}'.repeat(50_000) + '\\n{"":{}'`;
  const v1 = ['v1', () => new Client(INFO), StdioClientTransport, StreamableHTTPClientTransport] as const;
  const v2 = ['v2', () => new ClientV2(INFO), StdioTransportV2, HttpTransportV2] as const;
  for (const [sdk, makeClient, Stdio, Http] of sized([v2], [v1, v2])) {
    const attempt = async (what: string, open: () => object, expected: RegExp): Promise<void> => {
      using gate = new PolicyGate({ policy: { s: ['t'] } });
      await assertFree(`${what}, ${sdk}`, async () => {
        const client = gateClient(makeClient() as Client, gate, { server: 's' });
        const transport = open() as Transport;
        const said: string[] = [];
        await client.connect(transport);
        transport.onerror = ({ message }) => said.push(message);
        await client.callTool({ name: 't', arguments: {} }).then(
          (result) => said.push(JSON.stringify(result)),
          (error: Error) => said.push(error.message),
        );
        await client.close();
        assert.match(said.join(), expected, `${what}, ${sdk}`);
      });
    };
    await attempt('values over stdio', () => new Stdio(hostileStdio(values)), /raise `maxMessageValues`/);
    await attempt('a flood over stdio', () => new Stdio(hostileStdio(flood)), /untrusted/);
    await attempt('a flood, then the answer', () => new Stdio(hostileStdio(late)), /"text":"late"/);
    await attempt('a fine result over stdio', () => new Stdio(hostileStdio(fine)), /"text":"fine"/);
    for (const type of ['application/json', 'text/event-stream']) {
      await using server = await hostileHttp(`{"content":[],"v":[${'[],'.repeat(2e5)}[]]}`, type);
      await attempt(type, () => new Http(new URL(server.url)), /raise `maxMessageValues`/);
    }
  }
});

const KEYWORDS: readonly ((random: () => number, sub: () => unknown) => object)[] = [
  () => ({ uniqueItems: true }),
  (_, sub) => ({ items: sub() }),
  (_, sub) => ({ additionalProperties: sub(), unevaluatedProperties: false }),
  (_, sub) => ({ allOf: [sub(), sub(), sub()] }),
  (_, sub) => ({ anyOf: [sub(), sub()], unevaluatedItems: sub() }),
  (_, sub) => ({ oneOf: [sub(), sub()] }),
  (_, sub) => ({ not: sub() }),
  (_, sub) => ({ contains: sub(), minContains: 2 }),
  (_, sub) => ({ patternProperties: { '^(a+)+$': sub(), 'k[0-9]+': sub() } }),
  (_, sub) => ({ propertyNames: sub() }),
  (random) => ({ pattern: ['^(a+)+$', '(a|b)*c$', '(?:a?){50}a{50}', '^a*b$'][Math.floor(random() * 4)] }),
  (random) => ({
    format: ['url', 'uri', 'email', 'duration', 'regex', 'date-time'][Math.floor(random() * 6)],
  }),
  () => ({ enum: [[], {}, 'a', 1, { a: [1, 2] }] }),
  () => ({ $ref: '#' }),
  () => ({ $dynamicRef: '#x' }),
  () => ({ type: ['array', 'object', 'string'] }),
];

/** Schemas and values that are put together at random, with more breadth than any real ones. */
function fuzzedCase(random: () => number): { schema: object; value: unknown } {
  let left = 200;
  const sub = (): unknown => {
    left -= 1;
    if (left < 0) return random() < 0.8;
    const count = 1 + Math.floor(random() * 3);
    const parts = Array.from({ length: count }, () =>
      KEYWORDS[Math.floor(random() * KEYWORDS.length)]?.(random, sub),
    );
    return Object.assign({}, ...parts);
  };
  let size = 20_000;
  const value = (depth: number): unknown => {
    size -= 1;
    const kind = random();
    if (size < 0 || depth > 6 || kind < 0.2)
      return ['', 1, 'a'.repeat(Math.floor(random() * 2_000)), null, `k${depth}`][Math.floor(random() * 5)];
    const length = Math.floor(random() * (depth < 2 ? 300 : 8));
    if (kind < 0.6) return Array.from({ length }, () => value(depth + 1));
    return Object.fromEntries(Array.from({ length }, (_, i) => [`k${i}`, value(depth + 1)]));
  };
  return { schema: { $dynamicAnchor: 'x', ...(sub() as object) }, value: value(0) };
}

test('schemas and values put together at random are checked or refused, each within its budget', async () => {
  const random = seededRandom(20261122);
  const outcomes = { valid: 0, invalid: 0, failed: 0, refused: 0 };
  for (let i = 0; i < CASES; i += 1) {
    const { schema, value } = fuzzedCase(random);
    await assertFree(`case ${i}: ${JSON.stringify(schema).slice(0, 2_000)}`, async () => {
      try {
        const verdict = compileSchema(schema).check(value);
        outcomes[verdict.valid ? 'valid' : verdict.failed ? 'failed' : 'invalid'] += 1;
      } catch (error) {
        assert.ok(error instanceof SchemaRefusedError, String(error));
        outcomes.refused += 1;
      }
    });
  }
  assert.ok(outcomes.valid > 0 && outcomes.invalid > 0 && outcomes.failed > 0, JSON.stringify(outcomes));
});
