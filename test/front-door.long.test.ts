/** Gates of other processes keep their ledger and their approvals in the embedded store of a running `up`. */
// Runs alone: it sets XDG_STATE_HOME
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { serialize } from 'node:v8';
import { PostgresReviewQueue } from '../src/approvals/index.ts';
import { guardedCall, type PolicyDeniedError, PolicyGate } from '../src/policy/index.ts';
import { PostgresLedger } from '../src/policy/postgres-ledger.ts';
import { DEFAULT_DATA_DIR } from '../src/postgres/index.ts';
import {
  DIGEST_HEADER,
  NONCE_HEADER,
  openDoor,
  PROOF_HEADER,
  proveQuestion,
} from '../src/postgres/store-door.ts';
import { stdio } from './support/example-servers.ts';
import { HELD_CALL, HELD_POLICY, HELD_TOOLS } from './support/held-call.ts';
import { getAsBrowser, post } from './support/http-post.ts';
import { ScriptedProvider, type Turn } from './support/scripted-provider.ts';
import { sized } from './support/size.ts';
import { tempDir } from './support/temp-dir.ts';
import { waitUntil } from './support/wait-until.ts';

const MAIN = fileURLToPath(new URL('../src/cli/main.js', import.meta.url));
const PROCESS = fileURLToPath(new URL('./support/ledger-process.js', import.meta.url));
const JSON_TYPE = { 'content-type': 'application/json' };
const PROCESSES = sized(4, 8);
const CALLS = 12;
const state = tempDir();
const store = join(tempDir(), 'store');
const earlier = process.env.XDG_STATE_HOME;
let up: { child: ChildProcess; page: string; address: string };

async function startUp(port = '0', dataDir = store): Promise<typeof up> {
  const args = ['--json', '--data-dir', dataDir, '--port', port, '--http-port', '0', '--grpc-port', '0'];
  const child = spawn(process.execPath, [MAIN, 'up', ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line');
  const { page, mcp } = JSON.parse(String(line)) as { page: string; mcp: string };
  return { child, page, address: new URL(mcp).origin };
}

async function kill(): Promise<void> {
  up.child.kill('SIGKILL');
  await once(up.child, 'exit');
}

const noted = (): { door: { url: string; token: string }; read_token: string; store: string } =>
  JSON.parse(readFileSync(join(state, 'mcp-observatory', `page-${new URL(up.address).port}.json`), 'utf8'));

const keyOf = (effect: string, id: string): string =>
  createHash('sha256')
    .update(JSON.stringify([effect, [id]]))
    .digest('hex');

before(async () => {
  process.env.XDG_STATE_HOME = state;
  up = await startUp();
});
after(() => {
  up?.child.kill('SIGKILL');
  if (earlier === undefined) delete process.env.XDG_STATE_HOME;
  else process.env.XDG_STATE_HOME = earlier;
});

test('an effect is done once, however its processes and `up` die, and what was reserved is not forgotten', async () => {
  const bank = join(tempDir(), 'bank.txt');
  writeFileSync(bank, '');
  const port = new URL(up.address).port;
  const running = Array.from({ length: PROCESSES }, (_, at) => {
    // Two processes about the same payments.
    const first = Math.floor(at / 2) * CALLS;
    const args = [up.address, bank, first, first + CALLS, at].map(String);
    return once(
      spawn(process.execPath, [PROCESS, ...args], { stdio: ['ignore', 'ignore', 'inherit'] }),
      'exit',
    );
  });
  await waitUntil(() => readFileSync(bank, 'utf8').split('\n').length > CALLS);
  await kill();
  for (const [, signal] of await Promise.all(running)) assert.equal(signal, 'SIGKILL');
  up = await startUp(port);
  const done = readFileSync(bank, 'utf8').trim().split('\n');
  assert.equal(new Set(done).size, done.length, 'no refund was made twice');
  const ledger = new PostgresLedger(up.address);
  for (const id of done) {
    const found = await ledger.find(keyOf('refund:{payment_id}', id));
    assert.ok(found !== undefined, `${id} happened and is not told as failed`);
  }
  await ledger.close();
});

test('more gates at once than `up` takes connections: no sum is passed, and every call is done or refused for its sum', async () => {
  const policy = {
    version: 1,
    rules: [{ id: 'pay', effect: 'allow', server: 'bank', tool: 'pay', once: 'payment:{to}' }],
    budgets: { totals: [{ id: 'spent', tools: ['bank.pay'], per: 'day', sum: 'amount', at_most: 1_000 }] },
  };
  const properties = { to: { type: 'string' }, amount: { type: 'number' } };
  const tools = { bank: { tools: [{ name: 'pay', inputSchema: { type: 'object', properties } }] } };
  const said: string[] = [];
  const paid: string[] = [];
  const callGate = async (at: number): Promise<void> => {
    using gate = new PolicyGate({ policy, tools, ledger: up.address });
    const pay = async (to: string) => {
      const call = { server: 'bank', tool: 'pay', args: { to, amount: 10 }, runId: `run ${at}` };
      const invoke = async () => ({ content: [] });
      await guardedCall(call, invoke, { gate }).then(
        () => paid.push(to),
        (error: unknown) => said.push(String((error as PolicyDeniedError).decision?.reasonCode)),
      );
    };
    await Promise.all(Array.from({ length: 4 }, (_, index) => pay(`${at} ${index}`)));
  };
  await Promise.all(Array.from({ length: 100 }, (_, at) => callGate(at)));
  assert.deepEqual([paid.length, said.length], [100, 300]);
  assert.deepEqual([...new Set(said)], ['budget_exceeded']);
  const ledger = new PostgresLedger(up.address);
  const states = await Promise.all(
    paid.map(async (to) => (await ledger.find(keyOf('payment:{to}', to)))?.state),
  );
  await ledger.close();
  assert.deepEqual([...new Set(states)], ['done']);
});

const APPROVAL = Buffer.from('{"decision":"approve"}');
const bearer = (token: string) => ({ ...JSON_TYPE, authorization: `Bearer ${token}` });

/** The first call that waits at a page. */
async function waiting(address: string, token: string): Promise<string> {
  let id: string | undefined;
  await waitUntil(async () => {
    const { body } = await post(`${address}/api/waiting`, bearer(token), undefined, 'GET');
    id = (JSON.parse(String(body)) as { open: { id: string }[] }).open[0]?.id;
    return id !== undefined;
  });
  return String(id);
}

/** What a browser that opened the printed address sends. */
async function sessionAt({ page, address }: typeof up): Promise<Record<string, string>> {
  const { headers } = await getAsBrowser(page);
  const key = new URL(String(headers.location), address).searchParams.get('key') ?? '';
  return { ...JSON_TYPE, cookie: String(headers['set-cookie']?.[0]), 'x-observatory-key': key };
}

test('a gate of another process waits for the person at the page, and its token decides and reads nothing', async () => {
  await using queue = new PostgresReviewQueue({ connection: up.address });
  using gate = new PolicyGate({
    policy: HELD_POLICY,
    tools: HELD_TOOLS,
    approvals: { queue, waitMs: 60_000 },
  });
  const decided = gate.authorize(HELD_CALL);
  const { door, read_token } = noted();
  const path = `${up.address}/api/waiting/${await waiting(up.address, read_token)}`;
  const statement = (text: string) => ({ statements: [{ text }], isForeign: false, timeoutMs: 5000 });
  const asks = (token: string, text: string, sent = serialize(statement(text))) => {
    const [nonce, digest] = [
      'n',
      createHash('sha256')
        .update(serialize(statement(text)))
        .digest('base64url'),
    ];
    const proof = proveQuestion(token, nonce, digest);
    return post(door.url, { [NONCE_HEADER]: nonce, [DIGEST_HEADER]: digest, [PROOF_HEADER]: proof }, sent);
  };
  assert.equal((await post(path, bearer(door.token), APPROVAL)).status, 401);
  assert.equal((await post(path, bearer(door.token), undefined, 'GET')).status, 401);
  for (const text of [
    `SELECT mcp_reviews_claim('thief', 1000, NULL, NULL)`,
    'DELETE FROM mcp_reviews',
    'SELECT 1; DELETE FROM mcp_reviews',
  ])
    assert.equal((await asks(door.token, text)).status, 400, text);
  assert.equal((await asks(door.token, 'SELECT 1')).status, 200);
  assert.equal((await asks(read_token, 'SELECT 1')).status, 401);
  assert.equal((await asks(door.token, 'SELECT 1', serialize(statement('SELECT 2')))).status, 401);
  assert.equal((await post(door.url, bearer(door.token), serialize(statement('SELECT 1')))).status, 401);
  assert.equal((await post(path, await sessionAt(up), APPROVAL)).status, 200);
  assert.equal((await decided).reasonCode, 'approved');
});

test('without `up`, over another store, or with another program at its port, a gate denies', async () => {
  const { port } = new URL(up.address);
  using gate = new PolicyGate({
    policy: { ...HELD_POLICY, rules: [{ ...HELD_POLICY.rules[0], effect: 'allow', once: 'pay:{to}' }] },
    tools: HELD_TOOLS,
    ledger: up.address,
  });
  const decide = async (to: string) => (await gate.authorize({ ...HELD_CALL, args: { to } })).reasonCode;
  const path = join(state, 'mcp-observatory', `page-${port}.json`);
  const note = (more: object) => writeFileSync(path, JSON.stringify({ ...noted(), ...more }));
  const { store: known } = noted();
  assert.deepEqual([await decide('a'), await decide('a')], ['allowed', 'effect_running']);
  note({ store: 'other' });
  assert.equal(await decide('b'), 'ledger_unavailable');
  note({ store: known });
  assert.equal(await decide('b'), 'allowed');
  await kill();
  assert.equal(await decide('c'), 'ledger_unavailable');
  note({ pid: process.pid });
  const answer = '{"rows":[{"answer":"{\\"state\\":\\"taken\\",\\"id\\":\\"1\\",\\"token\\":\\"1\\"}"}]}';
  const other = createServer((_request, response) => response.end(answer)).listen(Number(port), '127.0.0.1');
  await once(other, 'listening');
  assert.equal(await decide('c'), 'ledger_unavailable');
  other.closeAllConnections();
  other.close();
});

test('what was noted and never answered holds no gate; an `up` of another version is named as such', async () => {
  const path = join(state, 'mcp-observatory', 'page-1.json');
  const note = (store: string, door: object) =>
    writeFileSync(path, JSON.stringify({ pid: process.pid, port: 1, store, door }), { mode: 0o600 });
  const gone = { url: 'http://127.0.0.1:1/', token: 't' };
  await using ledger = Object.assign(new PostgresLedger('http://127.0.0.1:1'), {
    [Symbol.asyncDispose]: () => ledger.close(),
  });
  note('dead', gone);
  await assert.rejects(ledger.find('k'), { code: 'DATABASE_UNREACHABLE' });
  /** A store that does not take what gates of this version ask, for its own reason. */
  const openOther = (code: string) => {
    const fail = async () => Promise.reject(Object.assign(new Error('no'), { code }));
    return openDoor({ query: fail, readOnly: fail });
  };
  for (const code of ['25006', '42883']) {
    const { stop, ...door } = await openOther(code);
    note('live', door);
    const version = { code: 'DATABASE_REFUSED', message: /another version.*start 'up' of this version/ };
    await assert.rejects(ledger.find('k'), version, code);
    await stop();
  }
  note('third', gone);
  await assert.rejects(ledger.find('k'), { message: /another store now, third: start it over live/ });
});

test("'run' and 'ask' beside an `up` wait for its page, keep effects there and send spans; without one nothing changes", async () => {
  const folder = tempDir();
  const near = await startUp('0', join(folder, DEFAULT_DATA_DIR));
  const { read_token } = JSON.parse(
    readFileSync(join(state, 'mcp-observatory', `page-${new URL(near.address).port}.json`), 'utf8'),
  );
  const SERVER = 'mcp-sharepoint';
  const tool = 'fetch_sharepoint_doc';
  const rule = { id: 'read', effect: 'require_approval', server: SERVER, tool, once: 'read:{doc_id}' };
  const write = (name: string, content: object): string => {
    writeFileSync(join(folder, name), JSON.stringify(content));
    return name;
  };
  const policy = write('policy.json', { version: 1, rules: [rule] });
  const config = write('servers.json', { mcpServers: { [SERVER]: stdio(SERVER) } });
  const args = { doc_id: 'sp-001' };
  const plan = { text: JSON.stringify({ type: 'call_tool', server: SERVER, tool, args }) };
  const calls = [{ calls: [{ name: `${SERVER}__${tool}`, arguments: args }] }, { text: 'done' }];
  const start = async (cwd: string, turns: readonly Turn[], command: readonly string[]) => {
    const model = await ScriptedProvider.start(turns);
    const flags = ['--policy', join(folder, policy), '--provider', 'openai'];
    const child = spawn(
      process.execPath,
      [MAIN, ...command, ...flags, '--base-url', model.baseUrl('openai'), '--json', 'Fetch it'],
      { cwd, env: { ...process.env, OPENAI_API_KEY: 'k' }, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const [out] = await Promise.all([text(child.stdout), once(child, 'exit')]);
    await model.close();
    return out;
  };
  const ask = ['ask', '--servers', join(folder, config)];
  const run = ['run', '--config', join(folder, config)];
  assert.match(await start(tempDir(), [plan], ask), /approval_required/);
  const asked = start(folder, [plan], ask);
  const path = `${near.address}/api/waiting/${await waiting(near.address, read_token)}`;
  assert.equal((await post(path, await sessionAt(near), APPROVAL)).status, 200);
  assert.match(await asked, /"type":\s*"tool_result"/);
  assert.match(await start(folder, calls, run), /is done once/);
  assert.match(await start(tempDir(), calls, run), /needs approval|approval_required/i);
  const totals = [{ id: 'looks', tools: ['shell.run'], per: 'caller', at_most: 1 }];
  const looks = { id: 'look', effect: 'allow', server: 'shell', tool: 'run' };
  const counted = join(folder, write('counted.json', { version: 1, rules: [looks], budgets: { totals } }));
  const hook = async (cwd: string, named: NodeJS.ProcessEnv = {}) => {
    const command = [MAIN, 'hook', 'claude-code', '--policy', counted, '--enforce'];
    const env = { ...process.env, SAFE_TRACE_DIR: tempDir(), ...named };
    const child = spawn(process.execPath, command, { cwd, env, stdio: ['pipe', 'pipe', 'ignore'] });
    const event = { hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: { command: 'ls' }, cwd };
    child.stdin.end(JSON.stringify(event));
    return await text(child.stdout);
  };
  const named = { MCP_OBSERVATORY_DATABASE_URL: near.address };
  assert.deepEqual(
    [await hook(folder, named), /budget_exceeded/.test(await hook(folder, named))],
    ['', true],
  );
  // An agent could have written the note in its folder.
  assert.match(await hook(folder), /ledger_unavailable/);
  const stored = async () => {
    const { body } = await post(`${near.address}/api/runs?fresh`, bearer(read_token), undefined, 'GET');
    return String(body);
  };
  await waitUntil(async () => (await stored()).split(tool).length > 2);
  near.child.kill('SIGTERM');
  await once(near.child, 'exit');
});

test('a terminal that closes ends `up` as SIGTERM does, but not one that nohup started; a taken port is told with its flag', async () => {
  const own = join(tempDir(), 'store');
  const start = (stdin: number | 'ignore', ...ports: readonly string[]) =>
    spawn(process.execPath, [MAIN, 'up', '--json', '--data-dir', own, ...ports], {
      stdio: [stdin, 'pipe', 'pipe'],
    });
  const free = ['--port', '0', '--http-port', '0', '--grpc-port', '0'];
  const locks = () => readdirSync(dirname(own)).filter((name) => name.includes('.lock'));
  // As `nohup` leaves it of a terminal: one can only write to it.
  const unreadable = openSync('/dev/null', 'w');
  for (const [stdin, ends] of [
    ['ignore', true],
    [unreadable, false],
  ] as const) {
    const child = start(stdin, ...free);
    await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line');
    assert.equal(locks().length, 1);
    child.kill('SIGHUP');
    child.kill('SIGHUP');
    if (!ends) {
      const isAlive = () => child.exitCode === null && child.signalCode === null;
      await new Promise((resolve) => setTimeout(resolve, 500));
      assert.ok(isAlive());
      child.kill('SIGTERM');
    }
    assert.deepEqual(await once(child, 'exit'), [0, null]);
    assert.deepEqual(locks(), []);
  }
  closeSync(unreadable);
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const port = String((other.address() as AddressInfo).port);
  for (const flag of ['--http-port', '--grpc-port', '--port']) {
    const child = start('ignore', ...free.map((arg, i) => (free[i - 1] === flag ? port : arg)));
    const said = text(child.stderr as NodeJS.ReadableStream);
    await once(child, 'exit');
    assert.match(await said, new RegExp(`EADDRINUSE.*port with ${flag}\\b`, 'u'));
  }
  other.close();
});
