import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { beforeEach, test } from 'node:test';
import { connectServers } from '../src/mcp-client/index.ts';
import { runServer } from './support/http-server.ts';
import { activeTimers, children, openSockets, processesWith } from './support/processes.ts';
import { waitUntil } from './support/wait-until.ts';

const ROGUE = resolve(import.meta.dirname, 'fixtures/rogue-server.js');
const HOST = resolve(import.meta.dirname, 'fixtures/pool-host.js');
const EVERYTHING = resolve(
  import.meta.dirname,
  '../../node_modules/@modelcontextprotocol/server-everything/dist/index.js',
);

const skip = process.platform !== 'linux' && 'processes are counted in /proc';

let mark = '';
let runs = 0;
let before = { children: 0, sockets: 0, timers: 0 };

beforeEach(() => {
  mark = `LEAK_TEST=${process.pid}-${++runs}`;
  before = { children: children().length, sockets: openSockets(), timers: activeTimers() };
});

/** The servers of a pool carry a mark of the test in their environment, and so does whatever they start. */
const marked = (command: string, ...args: string[]) => ({
  command,
  args,
  env: { LEAK_TEST: mark.split('=')[1] ?? '' },
});
const rogue = (...flags: string[]) => marked(process.execPath, ROGUE, ...flags);
const wrapped = (...flags: string[]) =>
  marked('sh', '-c', `"$0" "$@"; true`, process.execPath, ROGUE, ...flags);

async function assertNothingLeft(): Promise<void> {
  // Closed handles leave the books of the event loop a turn or two later.
  await waitUntil(
    () =>
      processesWith(mark).length === 0 &&
      children().length <= before.children &&
      openSockets() <= before.sockets &&
      activeTimers() <= before.timers,
    1_000,
  ).catch((error) => {
    const now = {
      processes: processesWith(mark),
      children: children(),
      sockets: openSockets(),
      timers: activeTimers(),
    };
    throw new Error(`${String(error)}: ${JSON.stringify({ before, now })}`);
  });
}

const KINDS: Record<string, () => { command: string; args: string[] }> = {
  'a plain server': () => rogue(),
  'a server under sh -c': () => wrapped(),
  'a server that ignores SIGTERM and the end of stdin': () => rogue('stubborn'),
  'the same under sh -c': () => wrapped('stubborn'),
  'a server with children, one of them detached': () => rogue('brood'),
  'the same, stubborn and under sh -c': () => wrapped('brood', 'stubborn'),
  'a server of the official SDK under npx': () => marked('npx', '--no-install', 'mcp-server-everything'),
};

for (const [what, server] of Object.entries(KINDS)) {
  test(`close leaves nothing of ${what}`, { skip }, async () => {
    const pool = await connectServers({ mcpServers: { one: server(), two: server() } });
    assert.deepEqual(
      pool.servers.map((each) => [each.state, each.error?.message]),
      [
        ['ready', undefined],
        ['ready', undefined],
      ],
    );
    assert.ok(processesWith(mark).length >= 2);
    const started = performance.now();
    await pool.close();
    const took = performance.now() - started;
    assert.deepEqual(processesWith(mark), [], 'at the moment close() resolves');
    assert.ok(took < 20_000, `close took ${took} ms`);
    await assertNothingLeft();
    await pool.close();
  });

  test(`a SIGKILL of the server leaves nothing of ${what}`, { skip }, async () => {
    await using pool = await connectServers({ mcpServers: { one: server() } });
    const { pid } = pool.server('one');
    assert.ok(pid);
    process.kill(pid, 'SIGKILL');
    await waitUntil(() => pool.server('one').state === 'dead');
    await pool.close();
    await assertNothingLeft();
  });
}

test('a pool that is left by a throw leaves nothing', { skip }, async () => {
  await assert.rejects(async () => {
    await using pool = await connectServers({ mcpServers: { one: wrapped() } });
    const hanging = pool.callTool('one', 'hang', {});
    await Promise.race([
      hanging,
      new Promise((_, reject) => setTimeout(() => reject(new Error('thrown')), 50)),
    ]);
  }, /thrown/);
  await assertNothingLeft();
});

test('an abort while the servers start leaves nothing', { skip }, async () => {
  const config = {
    mcpServers: {
      mute: wrapped('mute'),
      slow: rogue('mute', 'stubborn'),
      gone: { command: 'no-such-command' },
    },
  };
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error('never mind')), 300);
  await assert.rejects(connectServers(config, { signal: controller.signal }), /never mind/);
  await assertNothingLeft();
});

test('servers that do not come up are ended and named, and the others work', { skip }, async () => {
  const config = {
    mcpServers: {
      mute: wrapped('mute'),
      good: rogue(),
      gone: { command: 'no-such-command' },
      nowhere: { command: 'sh', cwd: '/no/such/folder' },
      broken: marked('sh', '-c', 'echo out of order >&2; exit 3'),
      unreachable: { url: 'http://127.0.0.1:9/mcp' },
    },
  };
  const pool = await connectServers(config, { connectTimeoutMs: 1_000 });
  const messages = Object.fromEntries(
    pool.servers.map((each) => [each.name, each.error?.message ?? each.state]),
  );
  assert.match(messages.mute ?? '', /did not become ready within 1000 ms/);
  assert.match(messages.gone ?? '', /"no-such-command" was not found; install it/);
  assert.match(messages.nowhere ?? '', /"\/no\/such\/folder".*does not exist/);
  assert.match(messages.broken ?? '', /exited with code 3.*out of order/s);
  assert.match(messages.unreachable ?? '', /unreachable/);
  assert.equal(messages.good, 'ready');
  assert.equal((await pool.callTool('good', 'echo', {})).kind, 'ok');
  assert.equal((await pool.callTool('gone', 'echo', {})).kind, 'transport_error');
  await pool.close();
  await assertNothingLeft();
});

for (const end of ['SIGKILL', 'exit', 'throw'] as const) {
  test(`a host that ends by ${end} takes its servers with it`, { skip }, async () => {
    const host = spawn(
      process.execPath,
      [HOST, JSON.stringify({ mcpServers: { a: wrapped('brood', 'stubborn'), b: rogue('stubborn') } }), end],
      {
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    );
    await ready(host);
    assert.ok(processesWith(mark).length >= 5);
    const exit = once(host, 'exit');
    if (end === 'SIGKILL') host.kill('SIGKILL');
    await exit;
    await waitUntil(() => processesWith(mark).length === 0);
    await assertNothingLeft();
  });
}

test('an HTTP server leaves no socket or timer behind, whatever end it comes to', { skip }, async () => {
  await using server = await runServer(() => [EVERYTHING, 'streamableHttp']);
  const url = `http://127.0.0.1:${server.port}/mcp`;
  before = { children: children().length, sockets: openSockets(), timers: activeTimers() };
  const pool = await connectServers({ mcpServers: { v1: { url }, v2: { url, protocol: 'v2' } } });
  for (const name of ['v1', 'v2']) {
    assert.equal(pool.server(name).error, undefined);
    assert.equal((await pool.callTool(name, 'echo', { message: 'x' })).kind, 'ok');
    const long = { duration: 30, steps: 2 };
    assert.equal(
      (await pool.callTool(name, 'trigger-long-running-operation', long, { timeoutMs: 100 })).kind,
      'timeout',
    );
  }
  await pool.close();
  await assertNothingLeft();

  const second = await connectServers({ mcpServers: { v1: { url }, v2: { url, protocol: 'v2' } } });
  const calls = ['v1', 'v2'].map((name) =>
    second.callTool(name, 'trigger-long-running-operation', { duration: 30, steps: 2 }),
  );
  setTimeout(() => server.kill(), 100);
  for (const outcome of await Promise.all(calls)) {
    assert.equal(outcome.kind, 'transport_error');
    assert.ok(outcome.durationMs < 20_000, `took ${outcome.durationMs} ms`);
  }
  await second.close();
  before.children = 0;
  await assertNothingLeft();
});

async function ready(host: ChildProcess): Promise<void> {
  assert.ok(host.stdout);
  const [line] = (await once(host.stdout, 'data')) as [Buffer];
  assert.equal(line.toString().trim(), 'ready');
}
