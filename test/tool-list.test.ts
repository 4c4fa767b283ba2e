/** Bounds on `tools/list`, against a server that breaks each of them on the wire. */
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { connectServers, readToolList, ToolListError, type ToolListLimits } from '../src/mcp-client/index.ts';
import { connectPolicyServer, type GateableClient, gateClient, PolicyGate } from '../src/policy/index.ts';
import { hostileStdio } from './support/hostile-server.ts';
import { collectListenerWarnings } from './support/listener-warnings.ts';
import { sized } from './support/size.ts';

const ROGUE = resolve(import.meta.dirname, 'fixtures/rogue-server.js');
const rogue = (flag: string) => ({ command: process.execPath, args: [ROGUE, flag] });

/** Flag of the rogue server, limits, the bound that is exceeded, and what the error says about it. */
const HOSTILE: readonly [string, ToolListLimits, keyof ToolListLimits, RegExp][] = [
  ['endless', {}, 'maxToolPages', /does not end within 64 pages; .* raise `maxToolPages`/],
  ['endless', { maxToolPages: 5 }, 'maxToolPages', /does not end within 5 pages/],
  ['many', {}, 'maxTools', /has more than 10000 tools; .* raise `maxTools`/],
  ['endless', { maxTools: 3 }, 'maxTools', /has more than 3 tools/],
  ['bulky', {}, 'maxToolListBytes', /has more than 16777216 bytes; .* raise `maxToolListBytes`/],
  ['bulky', { maxToolListBytes: 1_000 }, 'maxToolListBytes', /has more than 1000 bytes/],
  [
    'slow',
    { toolListTimeoutMs: 250 },
    'toolListTimeoutMs',
    /was not complete after 250 ms; .* raise `toolListTimeoutMs`/,
  ],
  ['silent', { toolListTimeoutMs: 250 }, 'toolListTimeoutMs', /was not complete after 250 ms/],
];

/** Lets one page hold more tools than a message may hold values by default, so that the bound on tools is met. */
const MANY_VALUES = 10_000_000;

/** All bounds; here those of the options, in full also the defaults. */
const BOUNDS = HOSTILE.filter(([, limits]) => sized(Object.keys(limits).length > 0, true));

/** For the other ways to a list, which are checked by the same code. */
const SOME = HOSTILE.filter(([flag, limits]) => sized(flag === 'endless' && limits.maxTools === 3, true));

function assertRefused(error: unknown, server: string, bound: keyof ToolListLimits, message: RegExp): true {
  assert.ok(error instanceof ToolListError, String(error));
  assert.deepEqual([error.code, error.server, error.bound], ['TOOL_LIST_REFUSED', server, bound]);
  assert.match(error.message, new RegExp(`^Server "${server}": its tool list `));
  assert.match(error.message, message);
  return true;
}

test('a name in the lists of a config that no tool has is told of, for it may leave one in unseen', async () => {
  const told: string[] = [];
  const onWarning = ({ message }: Error): void => void told.push(message);
  process.on('warning', onWarning);
  const lists = { includeTools: ['?', '*t*'], excludeTools: ['listed__t'] };
  const pool = await connectServers({ mcpServers: { listed: { ...hostileStdio('"{}"'), ...lists } } });
  assert.deepEqual(
    pool.servers.map(({ tools }) => tools.map(({ name }) => name)),
    [['t']],
  );
  await pool.close();
  process.off('warning', onWarning);
  assert.match(told.join('\n'), /Server "listed" has no tool "\?" or "listed__t", which its config lists/);
});

test('a page that has nothing new ends a list, and an empty cursor is one', async () => {
  const tool = (name: string) => ({ name, inputSchema: { type: 'object' } });
  const [a, b] = [tool('a'), tool('b')];
  const listed = async (pages: Readonly<Record<string, object>>) => {
    const asked: string[] = [];
    const tools = await readToolList('s', async (cursor = 'first') => {
      asked.push(cursor);
      return pages[cursor] ?? assert.fail('no such page');
    });
    return [asked, tools];
  };
  const behind = await listed({ first: { tools: [a], nextCursor: '' }, '': { tools: [b] } });
  assert.deepEqual(behind, [
    ['first', ''],
    [a, b],
  ]);
  const nothingBehind = await listed({ first: { tools: [a], nextCursor: '' } });
  assert.deepEqual(nothingBehind[1], [a]);
  const circle = { tools: [a, b], nextCursor: '8' };
  assert.deepEqual(await listed({ first: circle, 8: circle }), [
    ['first', '8'],
    [a, b],
  ]);
  const other = { tools: [a, { ...b, description: 'another' }], nextCursor: '8' };
  await assert.rejects(listed({ first: circle, 8: other }), /gave the same cursor twice/);
});

for (const protocol of ['v1', 'v2'] as const) {
  test(`a server whose tool list exceeds a bound fails with the bound and the remedy, client ${protocol}`, async () => {
    const takeWarnings = collectListenerWarnings();
    for (const [flag, limits, bound, message] of protocol === 'v1' ? BOUNDS : SOME) {
      const config = { mcpServers: { rogue: { ...rogue(flag), protocol } } };
      await using pool = await connectServers(config, { maxMessageValues: MANY_VALUES, ...limits });
      assert.equal(pool.server('rogue').state, 'failed', flag);
      assertRefused(pool.server('rogue').error, 'rogue', bound, message);
      assert.deepEqual(pool.tools, []);
    }
    assert.deepEqual(await takeWarnings(), [], 'no listeners pile up on a signal over many pages');
  });
}

test('a server that repeats a cursor or answers without a list fails, and the others go on', async () => {
  const names = ['circular', 'absent', 'chatty'];
  await using pool = await connectServers({
    mcpServers: Object.fromEntries(names.map((each) => [each, rogue(each)])),
  });
  assert.deepEqual(
    pool.servers.map(({ state, error }) => [state, error?.code, error?.message]),
    [
      [
        'failed',
        'TOOL_LIST_REFUSED',
        'Server "circular" gave the same cursor twice, so its tool list does not end; repair the server.',
      ],
      [
        'failed',
        'TOOL_LIST_REFUSED',
        'Server "absent" answered tools/list without a list of tools; update or repair the server.',
      ],
      ['ready', undefined, undefined],
    ],
  );
});

test('connectPolicyServer refuses such a server with the same errors', async () => {
  for (const [flag, limits, bound, message] of SOME) {
    await assert.rejects(
      connectPolicyServer(rogue(flag), { maxMessageValues: MANY_VALUES, ...limits }),
      (error) => assertRefused(error, 'server', bound, message),
    );
  }
});

/** A client of the official SDK of either generation over stdio. */
async function sdkClient(
  sdk: 'v1' | 'v2',
  flag: string,
): Promise<GateableClient & { close(): Promise<void> }> {
  const info = { name: 'test', version: '1' };
  if (sdk === 'v2') {
    const client = new ClientV2(info);
    await client.connect(new StdioV2(rogue(flag)));
    return client as unknown as GateableClient & { close(): Promise<void> };
  }
  const client = new Client(info);
  await client.connect(new StdioClientTransport(rogue(flag)));
  return client;
}

for (const sdk of ['v1', 'v2'] as const) {
  test(`gateClient refuses the list of such a server with the same errors, client ${sdk}`, async () => {
    for (const [flag, limits, bound, message] of SOME) {
      const client = await sdkClient(sdk, flag);
      try {
        using gate = new PolicyGate({ policy: { files: ['echo'] } });
        const gated = gateClient(client, gate, { server: 'files', maxMessageValues: MANY_VALUES, ...limits });
        await assert.rejects(gated.listTools(), (error) => assertRefused(error, 'files', bound, message));
        await assert.rejects(gated.callTool({ name: 'echo', arguments: {} }), (error) =>
          assertRefused(error, 'files', bound, message),
        );
      } finally {
        await client.close();
      }
    }
  });

  test(`gateClient lists and calls although single tools are no tools, client ${sdk}`, async () => {
    const client = await sdkClient(sdk, 'odd');
    try {
      using gate = new PolicyGate({ policy: { files: ['echo', 'honest', 'trap'] } });
      const gated = gateClient(client, gate, { server: 'files' });
      const { tools } = (await gated.listTools()) as { tools: readonly { name: string }[] };
      // `echo` is listed twice, so it is kept away.
      assert.deepEqual(
        tools.map(({ name }) => name),
        ['honest', 'trap'],
      );
      const answer = await gated.callTool({ name: 'honest', arguments: {} });
      assert.deepEqual((answer as { structuredContent: unknown }).structuredContent, { n: 1 });
      const started = performance.now();
      const { _meta: marks } = (await gated.callTool({ name: 'trap', arguments: {} })) as { _meta: object };
      assert.deepEqual(marks, { 'mcp-observatory.dev/untrusted': true }, 'it does not fit its type');
      assert.ok(performance.now() - started < 30_000, 'the SDK would compile the pattern of the server');
    } finally {
      await client.close();
    }
  });
}

test('a definition that is listed again is the same tool, whatever its `_meta`', async () => {
  const tool = { name: 't', description: 'one', inputSchema: { type: 'object' } };
  const pages: Record<string, unknown>[] = [
    { tools: [{ ...tool, _meta: { page: 1 } }, tool], nextCursor: '2' },
    {
      tools: [
        { ...tool, _meta: { page: 2 } },
        { ...tool, name: 'u' },
        { ...tool, name: 'v' },
      ],
      nextCursor: '3',
    },
    { tools: [{ ...tool, name: 'v', description: 'another' }] },
  ];
  const client = {
    listTools: async (params?: { cursor?: string }) => pages[Number(params?.cursor ?? 1) - 1] as object,
    callTool: async () => ({ content: [] }),
  };
  using gate = new PolicyGate({ policy: { files: ['t', 'u', 'v'] } });
  const { tools } = (await gateClient(client, gate, { server: 'files' }).listTools()) as {
    tools: readonly { name: string }[];
  };
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['t', 'u'],
  );
});

test('a client that is not of an SDK is listed through its listTools, page by page', async () => {
  const cursors: unknown[] = [];
  const client = {
    listTools: async (params?: { cursor?: string }) => {
      cursors.push(params?.cursor);
      const tool = { name: `t${cursors.length}`, inputSchema: { type: 'object' } };
      return { tools: [tool], ...(cursors.length < 3 && { nextCursor: `c${cursors.length}` }) };
    },
    callTool: async () => ({ content: [] }),
  };
  using gate = new PolicyGate({ policy: { files: ['t1', 't3'] } });
  const { tools } = (await gateClient(client, gate, { server: 'files' }).listTools()) as {
    tools: readonly { name: string }[];
  };
  assert.deepEqual(
    [tools.map(({ name }) => name), cursors],
    [
      ['t1', 't3'],
      [undefined, 'c1', 'c2'],
    ],
  );
});
