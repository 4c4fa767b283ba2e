/** Bounds on `tools/list`, against a server that breaks each of them on the wire. */
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { connectServers, ToolListError, type ToolListLimits } from '../src/mcp-client/index.ts';

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

function assertRefused(error: unknown, server: string, bound: keyof ToolListLimits, message: RegExp): true {
  assert.ok(error instanceof ToolListError, String(error));
  assert.deepEqual([error.code, error.server, error.bound], ['TOOL_LIST_REFUSED', server, bound]);
  assert.match(error.message, new RegExp(`^Server "${server}": its tool list `));
  assert.match(error.message, message);
  return true;
}

for (const protocol of ['v1', 'v2'] as const) {
  test(`a server whose tool list exceeds a bound fails with the bound and the remedy, client ${protocol}`, async () => {
    const warnings: string[] = [];
    const onWarning = (warning: Error) => warnings.push(warning.message);
    process.on('warning', onWarning);
    for (const [flag, limits, bound, message] of HOSTILE) {
      const config = { mcpServers: { rogue: { ...rogue(flag), protocol } } };
      await using pool = await connectServers(config, limits);
      assert.equal(pool.server('rogue').state, 'failed', flag);
      assertRefused(pool.server('rogue').error, 'rogue', bound, message);
      assert.deepEqual(pool.tools, []);
    }
    await new Promise((done) => setImmediate(done));
    process.off('warning', onWarning);
    assert.deepEqual(warnings, [], 'no listeners pile up on a signal over many pages');
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
