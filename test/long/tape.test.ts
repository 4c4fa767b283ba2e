/**
 * Programs that know nothing of us, recorded against a stand-in of a provider and real MCP servers, and replayed with
 * both gone: the same stdout each time, and each departure is named.
 */
import assert from 'node:assert/strict';
import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { PROMISED_FORMS } from '../../scripts/redaction-doc.ts';
import { goldenCommand } from '../../src/cli/golden/index.ts';
import { openLoopback, readGolden, toMatchGolden, writeGolden } from '../../src/golden/index.ts';
import { bundle } from '../support/bundle.ts';
import { ROOT } from '../support/consumer.ts';
import { programOf } from '../support/planned-programs.ts';
import { type Plan, PlannedProvider } from '../support/planned-provider.ts';
import { noPostgres, runSql, startPostgres } from '../support/postgres-server.ts';
import { processesWith } from '../support/processes.ts';
import { outcomeOf, type ProgramOutcome } from '../support/programs.ts';
import { random } from '../support/random.ts';
import { runCommand } from '../support/run-command.ts';
import { tempDir } from '../support/temp-dir.ts';
import { waitUntil } from '../support/wait-until.ts';

const FIXTURES = join(ROOT, 'test/fixtures/tape');
const SECRETS = [
  'planted-option-33',
  'planted-mcp-token-1',
  'planted-password-22',
  'sk-planted-key-123456789',
];

let provider: PlannedProvider;
before(async () => {
  provider = await PlannedProvider.start();
});
after(() => provider?.[Symbol.asyncDispose]());

/** Starts a program under `record` or `replay`; the provider cannot be reached in a replay. */
function start(
  way: 'record' | 'replay',
  golden: string,
  program: readonly string[],
  env: Readonly<Record<string, string>>,
): ChildProcessWithoutNullStreams {
  const isLive = way === 'record';
  return spawn(process.execPath, ['--import', join(bundle(), `${way}.js`), ...program], {
    cwd: FIXTURES,
    env: {
      PATH: process.env.PATH ?? '',
      MCP_OBSERVATORY_GOLDEN: golden,
      MODEL_URL: isLive ? provider.url : 'http://127.0.0.1:9',
      KEY: isLive ? SECRETS[2] : 'none',
      ...env,
    },
  });
}

async function run(...args: Parameters<typeof start>): Promise<ProgramOutcome> {
  return await outcomeOf(start(...args));
}

const SERVER = { MCP_SERVER: join(FIXTURES, 'server.mjs') };
const agent = (...plans: readonly Plan[]) => [join(FIXTURES, 'agent.mjs'), JSON.stringify(plans)];

const PLAN: Plan = {
  agents: [
    [
      {
        retries: 1,
        calls: [
          { tool: 'add', args: { a: 1, b: 2 } },
          { tool: 'slow', args: { a: 20 } },
          { tool: 'fail', args: { a: 3 } },
          { tool: 'missing', args: {} },
          { tool: 'picture', args: {} },
        ],
      },
      { text: 'the end of it' },
    ],
    [{ ms: 15, calls: [{ tool: 'add', args: { a: 5 } }] }, { text: 'bye now' }],
    [{ status: 400 }],
  ],
  resource: 'note://one',
};

/** More calls at the same time than a signal has listeners without a warning. */
const CROWD: Plan = {
  agents: [
    [{ calls: Array.from({ length: 12 }, (_, a) => ({ tool: 'slow', args: { a } })) }, { text: 'all' }],
  ],
};

const textOf = (path: string) => readFile(path, 'utf8').catch(() => '');

async function recorded(program: readonly string[], env: Readonly<Record<string, string>>) {
  const golden = join(tempDir(), 'run.json');
  const outcome = await run('record', golden, program, env);
  assert.deepEqual([outcome.stderr, outcome.code], ['', 0]);
  return { golden, stdout: outcome.stdout };
}

/** Records a program, and asserts that replays print the same. @returns the golden's path */
async function recordAndReplay(
  program: readonly string[],
  env: Readonly<Record<string, string>>,
  times: number,
): Promise<string> {
  const { golden, stdout } = await recorded(program, env);
  for (let time = 0; time < times; time += 1) {
    const replayed = await run('replay', golden, program, { ...env, MCP_SERVER: '/gone/server.mjs' });
    assert.deepEqual([replayed.stdout, replayed.stderr, replayed.code], [stdout, '', 0]);
  }
  return golden;
}

test('agents on plain SDKs with a server over stdio replay alike, streamed and not', async () => {
  const golden = await recordAndReplay(agent(PLAN, { ...PLAN, stream: true }), SERVER, 2);
  const { provider_responses: exchanges, mcp_cassette: cassette, versions } = await readGolden(golden);
  assert.equal(versions.sdk?.name, 'openai');
  const statuses = exchanges.map(({ response }) => response.status).filter((status) => status !== 200);
  assert.deepEqual(statuses.sort(), [400, 400, 429, 429]);
  assert.equal(cassette?.calls.length, 14);
  assert.deepEqual(Object.keys(cassette?.servers ?? {}), ['numbers']);
});

test('a server over HTTP replays from another address, and no secret is in a golden', async () => {
  const server = spawn(process.execPath, [SERVER.MCP_SERVER, 'http']);
  const port = String((await once(server.stdout, 'data'))[0]).trim();
  const tells = { agents: [[{ calls: [{ tool: 'secret', args: {} }] }, { text: 'told' }]] };
  const [http, stdio] = await Promise.all([
    recordAndReplay(agent(PLAN, CROWD), { MCP_URL: `http://127.0.0.1:${port}/mcp` }, 1),
    recorded(agent(tells), SERVER),
  ]).finally(() => server.kill());
  const moved = await run('replay', http, agent(PLAN, CROWD), { MCP_URL: 'http://127.0.0.1:9/mcp' });
  assert.deepEqual([moved.stderr, moved.code], ['', 0]);
  assert.match(stdio.stdout, /planted-password-22/);
  for (const text of [http, stdio.golden].map((path) => readFileSync(path, 'utf8')))
    for (const secret of SECRETS) assert.ok(!text.includes(secret), secret);
});

/** Calls a tool whose server has more to say after each answer. */
const LISTENS = `
import { once } from 'node:events';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
const client = new Client({ name: 'listener', version: '1' });
const heard = new EventTarget();
client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
  console.log('heard', params.data);
  heard.dispatchEvent(new Event('told'));
});
await client.connect(new StreamableHTTPClientTransport(new URL(process.env.MCP_URL)));
for (const _ of [1, 2]) {
  const told = once(heard, 'told');
  console.log((await client.callTool({ name: 'tell', arguments: {} })).content[0].text);
  await told;
}
await client.close();
`;

test('what a server over HTTP says by itself is replayed in its turn', async () => {
  const server = spawn(process.execPath, [SERVER.MCP_SERVER, 'http', 'sessions']);
  const port = String((await once(server.stdout, 'data'))[0]).trim();
  const program = ['--input-type=module', '-e', LISTENS];
  const recording = recordAndReplay(program, { MCP_URL: `http://127.0.0.1:${port}/mcp` }, 1);
  const golden = await recording.finally(() => server.kill());
  const { calls = [] } = (await readGolden(golden)).mcp_cassette ?? {};
  assert.deepEqual(
    calls.map(({ sent_after: sent }) => sent?.length),
    [1, 1],
  );
});

/** Three clients that number their requests alike list the tools of one server, and call one, at the same time. */
const SESSIONS = `
const ask = async (id, method, params = {}) => {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ jsonrpc: '2.0', id, method, params });
  const response = await fetch(process.env.MCP_URL, { method: 'POST', headers, body });
  const text = await response.text();
  return response.ok ? JSON.parse(text).result : { refused: response.status + ' ' + text };
};
await Promise.all(['a', 'b', 'c'].map(async (name) => {
  await ask(0, 'initialize', { protocolVersion: '2025-06-18' });
  for (const params of [{}, { cursor: '2' }, {}]) console.log(name, (await ask(1, 'tools/list', params)).tools);
  console.log(name, await ask(2, 'tools/call', { name: 'wait', arguments: { name } }));
}));
`;

test('clients of one server at the same time replay alike, with lists that change and a refusal', async () => {
  let count = 0;
  const answers: Record<string, (params: { arguments?: { name: string } }) => object | undefined> = {
    initialize: () => ({
      protocolVersion: '2025-06-18',
      capabilities: {},
      serverInfo: { name: 'one', version: '1' },
    }),
    // The only page comes again, until the list changes.
    'tools/list': () => ({ tools: [{ name: count > 9 ? 'later' : 'wait' }], nextCursor: '2' }),
    'tools/call': ({ arguments: args }) => (args?.name === 'b' ? undefined : { content: [], of: args?.name }),
  };
  await using server = await openLoopback(async ({ body }, response) => {
    const { id, method, params } = JSON.parse(body);
    count += 1;
    const result = answers[method]?.(params);
    // The last to ask is answered first.
    await sleep(60 - 20 * (count % 3));
    response.writeHead(result === undefined ? 503 : 200, { 'content-type': 'application/json' });
    response.end(result === undefined ? 'busy with b' : JSON.stringify({ jsonrpc: '2.0', id, result }));
  });
  const program = ['--input-type=module', '-e', SESSIONS];
  const golden = await recordAndReplay(program, { MCP_URL: `${server.url}/mcp` }, 2);
  const { connections = [] } = (await readGolden(golden)).mcp_cassette?.servers.one ?? {};
  const lists = connections.flatMap((one) => (one.outcome === 'ready' ? one.tool_lists : []));
  assert.equal(connections.length, 3);
  for (const list of lists) assert.equal(new Set(list.map((tool) => JSON.stringify(tool))).size, list.length);
});

test('no secret of a promised form is in a golden, nor one of a server, and prompts with them replay', async () => {
  const password = 'plain-looking-value';
  const forms = PROMISED_FORMS.flatMap(([, ...examples]) => examples);
  const turns = [{ calls: [{ tool: 'add', args: { a: 1 } }] }, { text: 'done' }];
  const program = [join(FIXTURES, 'bare.mjs'), JSON.stringify([{ agents: [turns] }])];
  const env = { ...SERVER, DB_PASSWORD: password, NOTES: JSON.stringify([...forms, `It is ${password}`]) };
  const text = readFileSync(await recordAndReplay(program, env, 1), 'utf8');
  for (const secret of [password, ...forms, 'hunter2x', 'hunter3x'])
    assert.ok(!text.includes(JSON.stringify(secret).slice(1, -1)), secret);
});

/** Tells a model what its environment holds, of which one value is set after it has started. */
const TELLS = `
const { OTHER, APP_PIN_KEY, DATABASE_URL = '', DB_PASSWORD } = process.env;
process.env.LATE_TOKEN = OTHER ? OTHER + '-late' : '';
const password = decodeURIComponent(/:([^:@]*)@/.exec(DATABASE_URL)?.[1] ?? '');
const content = 'Log in to postgres with ' + password + ' or ' + DB_PASSWORD + ', key ' + APP_PIN_KEY + ' or ' + process.env.FORM + (process.env.AFTER ?? '') + '.';
const messages = [
  { role: 'system', content: 'It is ' + new Date().toISOString() + '. ' + content + process.env.ADDED },
  { role: 'user', content: JSON.stringify({ text: process.env.LATE_TOKEN, turns: [{ text: 'told' }] }) },
  { role: 'user', content },
];
const headers = { 'content-type': 'application/json' };
const body = JSON.stringify({ model: 'm', messages });
await (await fetch(process.env.MODEL_URL + '/v1/chat/completions', { method: 'POST', headers, body })).text();
`;

test('no secret of the environment is in a golden, and a replay takes others in their place', async () => {
  const program = ['--input-type=module', '-e', TELLS];
  const env = {
    ADDED: '',
    OTHER: 'quoted"value',
    APP_PIN_KEY: 'only-the-name-tells',
    FORM: ['ghp', '_R8vKq2LmXw7TbZ4nYc1PdFh6JsGa9UeVo3Ki'].join(''),
    DATABASE_URL: 'postgres://postgres:sword%2Ffish@db/app',
    DB_PASSWORD: 'correct horse battery',
    PGPASSWORD: 'postgres',
  };
  const { golden } = await recorded(program, env);
  const text = readFileSync(golden, 'utf8');
  for (const secret of ['quoted', env.APP_PIN_KEY, 'sword', env.DB_PASSWORD])
    assert.ok(!text.includes(secret), secret);
  assert.match(text, /Log in to postgres with /);
  for (const others of [{ DB_PASSWORD: 'hunter2' }, { DATABASE_URL: '', APP_PIN_KEY: 'x' }, {}]) {
    const { stderr, code } = await run('replay', golden, program, { ...env, OTHER: 'new', ...others });
    assert.deepEqual([stderr, code], ['', 0]);
  }
  const changed = await run('replay', golden, program, { ...env, ADDED: ' Be rude.' });
  assert.match(changed.stderr, /messages\[0\]\.content: .* Be rude\./);
  const right = await run('replay', golden, program, { ...env, AFTER: ' and be rude' });
  assert.match(right.stderr, /messages\[0\]\.content: .* and be rude/);
});

/** Tells a model what its user typed, which it gives to a tool as a password. */
const TYPES = `
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
const { MODEL_URL, MCP_SERVER, TYPED, ADDED = '' } = process.env;
const client = new Client({ name: 'types', version: '1.0.0' });
await client.connect(new StdioClientTransport({ command: process.execPath, args: [MCP_SERVER] }));
const messages = [{ role: 'system', content: ADDED + 'Typed: ' + TYPED }, { role: 'user', content: '{"turns":[{"text":"told"}]}' }];
const headers = { 'content-type': 'application/json' };
const body = JSON.stringify({ model: 'm', messages });
await (await fetch(MODEL_URL + '/v1/chat/completions', { method: 'POST', headers, body })).text();
await client.callTool({ name: 'add', arguments: { a: 1, password: TYPED } });
await client.close();
`;

test('what is given as a password is in no golden, also several words, and a replay takes another', async () => {
  const program = ['--input-type=module', '-e', TYPES];
  for (const typed of ['marmaladejar', 'the cat sat on my mat', 'say "hi" to Jörg']) {
    const { golden } = await recorded(program, { ...SERVER, TYPED: typed });
    const text = readFileSync(golden, 'utf8');
    for (const form of [typed, typed.slice(-8)]) assert.ok(!text.includes(form), form);
    const env = { MCP_SERVER: '/gone/server.mjs', TYPED: typed };
    for (const TYPED of [typed, 'hunter2', 'zwölf müde Bären']) {
      const { stderr, code } = await run('replay', golden, program, { ...env, TYPED });
      assert.deepEqual([stderr, code], ['', 0]);
    }
    const changed = await run('replay', golden, program, { ...env, ADDED: 'Be rude. ' });
    assert.match(changed.stderr, /messages\[0\]\.content: .*Be rude\./);
  }
});

test('requests through node:http replay alike, three at once', async () => {
  const golden = await recordAndReplay([join(FIXTURES, 'http.mjs')], {}, 2);
  assert.equal((await readGolden(golden)).provider_responses.length, 3);
  assert.ok(!readFileSync(golden, 'utf8').includes(SECRETS.at(-1) ?? ''));
});

const LISTS = `
const [, path, times] = process.argv;
for (let at = 0; at < Number(times); at += 1)
  console.log(await (await fetch(process.env.MODEL_URL + path)).text());
`;

test('the models that a gateway lists are recorded, and a replay asks the network for none', async () => {
  let count = 0;
  await using server = await openLoopback((_, response) => {
    count += 1;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ data: [{ id: `model-${count}` }] }));
  });
  for (const path of ['/v1/models', '/openai/v1/models/a', '/v1beta/models', '/api/tags']) {
    const program = (times: number) => ['--input-type=module', '-e', LISTS, path, String(times)];
    const golden = join(tempDir(), 'run.json');
    const env = { MODEL_URL: server.url };
    const live = await run('record', golden, program(2), env);
    const before = count;
    const replayed = await run('replay', golden, program(2), env);
    assert.deepEqual([replayed.stdout, replayed.stderr, replayed.code], [live.stdout, '', 0]);
    const more = await run('replay', golden, program(3), env);
    assert.deepEqual([more.code, count], [1, before], more.stderr);
  }
});

/** Asks for an answer that is made in the background until it is there. */
const POLLS = `
const url = process.env.MODEL_URL + '/v1/responses';
const body = JSON.stringify({ model: 'm', input: 'hi', background: true });
const headers = { 'content-type': 'application/json' };
let answer = await (await fetch(url, { method: 'POST', headers, body })).json();
while (answer.status === 'queued') {
  answer = await (await fetch(url + '/' + answer.id)).json();
  console.log(answer.status, answer.usage?.total_tokens);
}
`;

/** Lists files before and after it asks a model, through `fetch` and `http`. */
const LISTS_FILES = `
import { get } from 'node:http';
const { MODEL_URL } = process.env;
const list = async (path) => console.log(await (await fetch(MODEL_URL + path)).text());
await list('/v1/batches').catch((error) => console.log(error.message));
await list('/health').catch((error) => console.log(error.message));
const headers = { 'content-type': 'application/json' };
const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] });
console.log(await (await fetch(MODEL_URL + '/v1/chat/completions', { method: 'POST', headers, body })).text());
await list('/v1/files?limit=2');
await list('/v1/batches/b1');
await new Promise((done) => get(MODEL_URL + '/v1/files', (response) => response.on('data', (data) => console.log(String(data))).on('end', done)));
`;

test('what is listed at a gateway beside its model is recorded, and what was listed before is said', async () => {
  let count = 0;
  const golden = join(tempDir(), 'run.json');
  const program = ['--input-type=module', '-e', LISTS_FILES];
  const server = await openLoopback((_, response) => {
    count += 1;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ data: [count] }));
  });
  const live = await run('record', golden, program, { MODEL_URL: server.url });
  await server.close();
  assert.match(
    live.stderr,
    /What was got from \S+\/v1\/batches before a model was asked there is not recorded/,
  );
  const { description, provider_responses: exchanges } = await readGolden(golden);
  assert.match(description, /^Not whole: What was got from/);
  assert.equal(exchanges.length, 4);
  const replayed = await run('replay', golden, program, { MODEL_URL: server.url });
  const lines = (text: string) => text.trim().split('\n').slice(2);
  assert.deepEqual(lines(replayed.stdout), lines(live.stdout), replayed.stderr);
});

test('an answer that is made in the background is recorded until it is there, on any host', async () => {
  let count = 0;
  await using server = await openLoopback((_, response) => {
    count += 1;
    const end = count < 4 ? { status: 'queued' } : { status: 'completed', usage: { total_tokens: 7 } };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ id: 'resp_1', object: 'response', output: [], ...end }));
  });
  const program = ['--input-type=module', '-e', POLLS];
  const golden = join(tempDir(), 'run.json');
  const live = await run('record', golden, program, { MODEL_URL: server.url });
  assert.deepEqual([live.stdout, live.code], ['queued undefined\nqueued undefined\ncompleted 7\n', 0]);
  const replayed = await run('replay', golden, program, {});
  assert.deepEqual([replayed.stdout, replayed.stderr, replayed.code], [live.stdout, '', 0]);
});

/** How each change of `fixtures/tape/mutate.mjs` is named. */
const CHANGES: Readonly<Record<string, RegExp>> = {
  'changed prompt': /\[0\]\.request\.body\.messages\[0\]\.content: .* Be rude\./,
  'prompt in other case': /messages\[0\]\.content: expected "You are .*, got "you are/,
  'dropped system prompt': /messages\[0\]\.role: expected "system", got "user"/,
  'changed role': /messages\[0\]\.role: expected "system", got "developer"/,
  'added message': /messages\[2\]: expected nothing, got \{"role":"user"/,
  'order of messages': /messages\[1\]\.role: expected "user", got "system"/,
  'changed image': /messages\[1\]\.content\[1\]\.image_url\.url: expected/,
  'changed definition': /tools\[0\]\.function\.description: expected "Adds", got "Else"/,
  'changed schema': /tools\[0\]\.function\.parameters\.properties\.a\.type: expected "number", got "string"/,
  'renamed tool': /tools\[0\]\.function\.name: expected "add", got "sum"/,
  'dropped tool': /tools\[5\]: expected \{.*got nothing/,
  'added tool': /tools\[6\]: expected nothing, got/,
  'order of tools': /tools\[0\]\.function\.name: expected "add", got "tell"/,
  'changed model': /request\.body\.model: expected "gpt-test", got "gpt-other"/,
  'changed temperature': /request\.body\.temperature: expected 0\.2, got 0\.9/,
  'added limit': /request\.body\.max_tokens: expected nothing, got 10/,
  'added tool choice': /request\.body\.tool_choice: expected nothing, got "required"/,
  'added format': /request\.body\.response_format: expected nothing/,
  'asked for a stream': /request\.body\.stream: expected nothing, got true/,
  'dropped seed': /request\.body\.seed: expected 7, got nothing/,
  'changed result': /messages\[3\]\.content: expected .*!"/,
  'dropped result': /messages\[3\]: expected \{"role":"tool".*got nothing/,
  'changed call id': /messages\[3\]\.tool_call_id: expected "call_0_0", got "call_0_0x"/,
  'changed history': /messages\[2\]\.content: expected null, got "I said/,
  'request made twice': /every exchange is used that is equal to it: provider_responses\[0\]$/m,
  'request not made': /did not use all of its golden: provider_responses\[0\]/,
  'dropped argument': /mcp_cassette\.calls\[0\]\.arguments\.b: expected 2, got nothing/,
  'added argument': /calls\[0\]\.arguments\.c: expected nothing, got true/,
  'changed argument': /calls\[0\]\.arguments\.a: expected 1, got 99/,
  'argument of another type': /calls\[0\]\.arguments\.a: expected 1, got "1"/,
  'renamed argument': /calls\[0\]\.arguments\.ax: expected nothing, got 1/,
  'other tool': /calls\[0\]\.tool: expected "add", got "fail"/,
  'call made twice': /every call is used that is equal to it: mcp_cassette\.calls\[0\]$/m,
  'call not made': /messages\[3\]\.content: expected .*got "\{\\"content\\":\[\]/,
  'other resource': /calls\[2\]\.arguments\.uri: expected "note:\/\/one", got "note:\/\/two"/,
  'resource not read': /did not use all of its golden: mcp_cassette\.calls\[2\]$/m,
};

test('each of 36 changes to what a program sends ends it with code 1 and is named', async () => {
  const calls = [
    { tool: 'add', args: { a: 1, b: 2 } },
    { tool: 'slow', args: { a: 3, b: 1 } },
  ];
  const program = [join(FIXTURES, 'bare.mjs'), JSON.stringify([{ agents: [[{ calls }, { text: 'end' }]] }])];
  const { golden } = await recorded(program, SERVER);
  const left = Object.entries(CHANGES);
  const tryNext = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [change, named] = next;
      const changed = ['--import', join(FIXTURES, 'mutate.mjs'), ...program];
      const { code, stderr } = await run('replay', golden, changed, { ...SERVER, MUTATION: change });
      assert.equal(code, 1, `${change}: ${stderr}`);
      assert.match(stderr, named, change);
    }
  };
  await Promise.all([tryNext(), tryNext()]);
});

test('calls in another order end a program with code 1 and are named', async () => {
  const calls = [
    { tool: 'add', args: { a: 1, b: 2 } },
    { tool: 'fail', args: { a: 3 } },
  ];
  const plan: Plan = { agents: [[{ calls }, { text: 'done' }]], oneByOne: true };
  const { golden } = await recorded(agent(plan), SERVER);
  const { code, stderr } = await run('replay', golden, agent({ ...plan, reversed: true }), SERVER);
  assert.equal(code, 1, stderr);
  assert.match(stderr, /mcp_cassette\.calls\[0\]: asked after mcp_cassette\.calls\[1\]/);
});

test('what runs for real is compared with the golden: tools, arguments, order, prompts', async () => {
  const http = spawn(process.execPath, [SERVER.MCP_SERVER, 'http']);
  const port = String((await once(http.stdout, 'data'))[0]).trim();
  await using other = await PlannedProvider.start(' otherwise');
  const calls = [
    { tool: 'add', args: { a: 1, b: 2 } },
    { tool: 'fail', args: { a: 3 } },
    { tool: 'picture', args: {} },
  ];
  const plan: Plan = {
    agents: [[{ retries: 1, calls }, { text: 'done' }]],
    oneByOne: true,
    resource: 'note://one',
  };
  const changes: readonly (readonly [change: Partial<Plan>, tools: RegExp, model: RegExp])[] = [
    [{}, /^$/, /^$/],
    [{ stream: true }, /request\.body\.stream/, /request\.body\.stream/],
    [{ dropArgument: 'b' }, /calls\[0\]\.arguments\.b: expected 2, got nothing/, /calls\[0\]\.arguments\.b/],
    [{ reversed: true }, /calls\[0\]: asked after/, /calls\[0\]: asked after/],
    [{ prompt: 'You are rude.' }, /messages\[0\]\.content: expected/, /messages\[0\]\.content: expected/],
    [{ withoutTool: 'add' }, /body\.tools/, /body\.tools/],
    [{ resource: 'note://two' }, /arguments\.uri: expected "note:\/\/one"/, /arguments\.uri: expected/],
    [{ resource: '' }, /not use all of its golden: mcp_cassette\.calls\[3\]/, /mcp_cassette\.calls\[3\]/],
    [
      { agents: [...plan.agents, [{ text: 'more' }]] },
      /no answer to this request/,
      /no answer to this request/,
    ],
  ];
  const ways = [{ ...SERVER }, { MCP_URL: `http://127.0.0.1:${port}/mcp` }];
  try {
    for (const way of ways) {
      const { golden } = await recorded(agent(plan), way);
      for (const [change, ofTools, ofModel] of changes) {
        const changed = agent({ ...plan, ...change });
        const tools = await run('replay', golden, changed, { ...way, MCP_OBSERVATORY_LIVE: 'tools' });
        const gone =
          'MCP_URL' in way ? { MCP_URL: 'http://127.0.0.1:9/mcp' } : { MCP_SERVER: '/gone/server.mjs' };
        const env = { ...gone, MODEL_URL: other.url, MCP_OBSERVATORY_LIVE: 'model' };
        const model = await run('replay', golden, changed, env);
        const isSame = Object.keys(change).length === 0;
        assert.match(tools.stderr, ofTools);
        assert.match(model.stderr, ofModel);
        assert.deepEqual([tools.code, model.code], isSame ? [0, 0] : [1, 1], JSON.stringify(change));
        if (isSame) assert.match(model.stdout, /done otherwise/);
      }
    }
  } finally {
    http.kill();
  }
});

test('golden check runs a program against each golden, and reports what departs in every form', async () => {
  const folder = tempDir();
  const plan: Plan = {
    agents: [[{ retries: 1, calls: [{ tool: 'add', args: { a: 1, b: 2 } }] }, { text: 'done' }]],
  };
  const golden = (await recorded(agent(plan), SERVER)).golden;
  const bounded = await readGolden(golden);
  const bounds = { max_total_tokens: 1, max_cost_usd: 1 };
  await writeGolden(join(folder, 'b.json'), { ...bounded, comparison: { ...bounded.comparison, bounds } });
  copyFileSync(golden, join(folder, 'a.json'));
  const check = async (changed: Plan, ...files: readonly string[]) => {
    const out = tempDir();
    const [junit, sarif, summary] = ['junit', 'sarif', 'summary'].map((name) => join(out, name)) as [
      string,
      string,
      string,
    ];
    const flags = ['--json', '--junit', junit, '--sarif', sarif, '--summary', summary];
    const paths = files.map((file) => join(folder, file));
    const env = {
      PATH: process.env.PATH ?? '',
      MODEL_URL: 'http://127.0.0.1:9',
      MCP_SERVER: '/gone/server.mjs',
    };
    const command = [process.execPath, ...agent(changed)];
    const { code, stdout } = await runCommand(
      goldenCommand,
      ['check', ...paths, ...flags, '--', ...command],
      [],
      env,
    );
    const results = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    return { code, results, files: [junit, sarif, summary].map((path) => readFileSync(path, 'utf8')) };
  };
  const same = await check(plan, 'a.json');
  assert.deepEqual([same.code, same.results[0].outcome, same.results[0].total_tokens], [0, 'same', 31]);
  const departed = await check({ ...plan, prompt: 'You are <rude>.', dropArgument: 'b' }, '');
  assert.equal(departed.code, 1);
  const kinds = departed.results.map(({ departures }) =>
    departures.map(({ kind }: { kind: string }) => kind),
  );
  assert.deepEqual(kinds, [['prompt'], ['prompt']]);
  const [junit = '', sarif = '', summary = ''] = departed.files;
  assert.match(junit, /tests="2" failures="2"[\s\S]*<failure message="prompt">prompt: .*&lt;rude&gt;/);
  assert.equal(JSON.parse(sarif).runs[0].results[0].ruleId, 'prompt');
  assert.match(summary, /\| different \|/);
  const [dear, other] = [await check(plan, 'b.json'), await check({ ...plan, dropArgument: 'b' }, 'a.json')];
  assert.deepEqual(
    [dear, other].map(({ code, results }) => [code, results[0].departures[0].kind]),
    [
      [1, 'tokens'],
      [1, 'argument'],
    ],
  );
  const [, cost] = dear.results[0].departures;
  assert.match(cost.message, /cost_usd: unknown \(.* has no price\), not within the bound of 1/);
});

/** Writes its id into a file and stays. */
const STAYS = `require('fs').writeFileSync(process.argv[1], String(process.pid)); console.error(process.argv[2]); setInterval(() => {}, 1000)`;

test('golden check ends all that a program has started, also when it is ended itself, and prints no key of it', async () => {
  const [folder, out] = [tempDir(), tempDir()];
  const golden = (await recorded(agent({ agents: [[{ text: 'done' }]] }), SERVER)).golden;
  const key = ['ghp', '_R8vKq2LmXw7TbZ4nYc1PdFh6JsGa9UeVo3Ki'].join('');
  const isGone = (file: string) => processesWith(`STAYS=${join(folder, file)}`).length === 0;
  // The shell stays between, and a process in the background outlives it.
  const command = (file: string, end: string) => {
    const program = `STAYS=${join(folder, file)} "$0" -e "${STAYS}" ${join(folder, file)} ${key}`;
    return ['sh', '-c', `${program} ${end}`, process.execPath];
  };
  const env = { PATH: process.env.PATH ?? '', TMPDIR: out };
  for (const [file, end, timeout] of [
    ['late', '; true', '3'],
    ['left', '& sleep 2', '60'],
  ] as const) {
    const args = ['check', golden, '--json', '--timeout', timeout, '--', ...command(file, end)];
    const { code, stdout } = await runCommand(goldenCommand, args, [], env);
    assert.equal(code, 1);
    assert.match(stdout, /\[redacted: token\]/);
    assert.ok(!stdout.includes(key));
    assert.ok(isGone(file), file);
  }
  const cli = join(bundle(), 'cli.js');
  const args = [cli, 'golden', 'check', golden, '--', ...command('ended', '; true')];
  const child = spawn(process.execPath, args, { env });
  const ended = outcomeOf(child);
  await waitUntil(() => existsSync(join(folder, 'ended')) && readFileSync(join(folder, 'ended')).length > 0);
  child.kill('SIGTERM');
  await ended;
  assert.ok(isGone('ended'));
  assert.deepEqual(readdirSync(out), []);
});

test('a program recorded twice replays whatever its ids, ports and counters, and its golden tells which vary', async () => {
  const folder = tempDir();
  const golden = join(folder, 'varies.json');
  const counter = join(folder, 'counter');
  writeFileSync(counter, '8');
  const calls = [{ tool: 'add', args: { a: 1, b: 2 } }];
  const plans = JSON.stringify([{ agents: [[{ calls }, { text: 'done' }]] }]);
  const changed = ['--import', join(FIXTURES, 'mutate.mjs')];
  const command = [process.execPath, ...changed, join(FIXTURES, 'bare.mjs'), plans];
  const env = { PATH: process.env.PATH ?? '', COUNTER: counter, MODEL_URL: provider.url, ...SERVER };
  const check = (...flags: readonly string[]) =>
    runCommand(goldenCommand, ['check', golden, ...flags, '--', ...command], [], env);
  const once = await check('--update');
  assert.match(once.stdout, /different[\s\S]*parameter: .*seed: expected 16, got 17/);
  const { comparison, ...rest } = await readGolden(golden);
  await writeGolden(golden, { ...rest, comparison: { ...comparison, bounds: { max_total_tokens: 90 } } });
  const twice = await check('--update', '--twice');
  assert.match(twice.stdout, /^updated /);
  const learned = await readGolden(golden);
  assert.equal(learned.comparison.bounds.max_total_tokens, 90);
  const { 'mcp_cassette.calls[0].arguments.trace': trace, ...matchers } = learned.comparison.matchers;
  assert.ok(typeof trace === 'object' && 'volatile' in trace, JSON.stringify(trace));
  assert.equal(matchers['provider_responses[0].request.body.seed'], 'number');
  const prompt = matchers['provider_responses[0].request.body.messages[0].content'];
  assert.match(
    JSON.stringify(prompt),
    /\{"volatile":"You are helpful\. It is \*\. Run \*.* calls back http:\/\/127\.0\.0\.1:\*\/done as \*/,
  );
  const gone = { ...env, MODEL_URL: 'http://127.0.0.1:9', MCP_SERVER: '/gone/server.mjs' };
  await toMatchGolden({ command, env: gone }, golden);
  for (const [mutation, named] of [
    ['changed prompt', /prompt: .*Be rude/],
    ['changed argument', /argument: .*calls\[0\]\.arguments\.a: expected 1, got 99/],
  ] as const) {
    const mutated = toMatchGolden({ command, env: { ...gone, MUTATION: mutation } }, golden);
    await assert.rejects(mutated, { code: 'GOLDEN_MISMATCH', message: named });
  }
  const before = readFileSync(golden, 'utf8');
  await assert.rejects(toMatchGolden({ command, env: gone }, golden, { update: true }), /is not updated/);
  assert.equal(readFileSync(golden, 'utf8'), before);
  await toMatchGolden({ command, env }, golden, { update: true, twice: true });
});

/** Asks twice, JUMP apart by its clock, with the times of its start and of a fixed day; `LATE` if only then. */
const CLOCK = `const { Date: Real, process: { env } } = globalThis;
  let ahead = Number(env.SHIFT ?? 0);
  globalThis.Date = class extends Real {
    constructor(...parts) { super(...(parts.length > 0 ? parts : [Real.now() + ahead])); }
    static now() { return Real.now() + ahead; }
  };
  const at = new Date();
  const forms = [at.toISOString(), at, at.toLocaleString(), at.toLocaleTimeString('en-GB'), at.toLocaleString('de-DE'),
    ...['de', 'fr', 'es', 'pt', 'ru', 'pl', 'ja', 'ko', 'hu', 'en'].flatMap((language) =>
      ['full', 'long', 'medium'].map((dateStyle) => at.toLocaleDateString(language, { dateStyle }))),
    ...['de', 'fr', 'en'].map((language) => at.toLocaleDateString(language, { day: 'numeric', month: 'long' })),
    at.toLocaleDateString('de', { day: '2-digit', month: '2-digit' }), at.toLocaleDateString('en-US', { day: '2-digit', month: '2-digit' }),
    at / 1000, at.toISOString().slice(0, 19).replaceAll(':', '-'), at.toISOString().slice(0, 10).replaceAll('-', '')];
  const ask = async (text, said) => {
    const messages = [{ role: 'system', content: said + ' Opened ' + (env.DAY ?? '2026-01-05T09:30:00Z') }, { role: 'user', content: JSON.stringify({ turns: [{ text }] }) }];
    const body = JSON.stringify({ model: 'm', since: at.getTime(), messages });
    const path = '/v1/chat/completions';
    const answer = await fetch(env.MODEL_URL + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    console.log(answer.status);
    await answer.text();
  };
  await ask('one', env.LATE ? '' : forms.join('; '));
  ahead += Number(env.JUMP) * 1000;
  await ask('two', forms.join('; '));`;

test('the time of its start in a prompt is no difference however long a program runs, and another day is one', async () => {
  const program = ['--input-type=module', '-e', CLOCK];
  for (const JUMP of ['125', '1200', '10800']) {
    for (const LATE of ['', '1']) {
      const { golden } = await recorded(program, { JUMP, LATE });
      const later = { JUMP: '0', LATE, SHIFT: String(9 * 86_400_000 + 19_000_000) };
      const replayed = await run('replay', golden, program, later);
      assert.deepEqual([replayed.stderr, replayed.code], ['', 0]);
      const changed = await run('replay', golden, program, { ...later, DAY: '2026-01-06T09:30:00Z' });
      assert.match(changed.stderr, /2026-01-06/);
      assert.equal(changed.code, 1);
    }
  }
});

test('a stored trace of a program is a golden that answers it, and says what it lacks', async (t) => {
  if (noPostgres() !== false) return t.skip('needs PostgreSQL');
  await using postgres = await startPostgres();
  const url = await postgres.createMigrated();
  const calls = [
    { tool: 'add', args: { a: 1, b: 2 } },
    { tool: 'fail', args: { a: 3 } },
  ];
  const plan: Plan = { agents: [[{ calls }, { text: 'the end' }]], oneByOne: true };
  const traced = spawn(process.execPath, ['--import', join(bundle(), 'register.js'), ...agent(plan)], {
    cwd: FIXTURES,
    env: {
      PATH: process.env.PATH ?? '',
      MODEL_URL: provider.url,
      MCP_OBSERVATORY_DATABASE_URL: url,
      OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true',
      ...SERVER,
    },
  });
  const { stdout, code } = await outcomeOf(traced);
  assert.equal(code, 0);
  const [{ trace } = {}] = await runSql(
    url,
    "SELECT trace_id::text AS trace FROM mcp_traces WHERE operation = 'chat'",
  );
  const golden = join(tempDir(), 'traced.json');
  const args = ['from-trace', String(trace), '--out', golden, '--database-url', url];
  assert.match(
    (await runCommand(goldenCommand, args)).stdout,
    /2 tool calls.* lacks: .*parameters of requests/,
  );
  const changes: readonly (readonly [Partial<Plan>, RegExp])[] = [
    [{ prompt: 'You are rude.' }, /messages\[0\]\.parts\[0\]\.content: expected "You are helpful/],
    [{ describe: 'Else' }, /tools\[0\]\.description: expected "Adds", got "Else"/],
    [{ dropArgument: 'b' }, /calls\[0\]\.arguments\.b: expected 2, got nothing/],
    [{ reversed: true }, /asked after|messages\[\d\]/],
  ];
  const gone = { MCP_SERVER: '/gone/server.mjs' };
  const again = await run('replay', golden, agent(plan), gone);
  assert.deepEqual([again.stdout, again.stderr, again.code], [stdout, '', 0]);
  // Another form of the same answers.
  assert.equal((await run('replay', golden, agent({ ...plan, stream: true }), gone)).code, 0);
  for (const [change, named] of changes) {
    const departed = await run('replay', golden, agent({ ...plan, ...change }), gone);
    assert.equal(departed.code, 1);
    assert.match(departed.stderr, named);
  }
});

test('generated programs replay without a false mismatch', async (t) => {
  const seed = Number(process.env.TAPE_SEED ?? 1);
  const count = Number(process.env.TAPE_PROGRAMS ?? 4);
  t.diagnostic(`TAPE_SEED=${seed} TAPE_PROGRAMS=${count}`);
  const server = spawn(process.execPath, [SERVER.MCP_SERVER, 'http']);
  const port = String((await once(server.stdout, 'data'))[0]).trim();
  try {
    for (let at = 0; at < count; at += 1) {
      const { plans, env } = programOf(random(1_000 * seed + at));
      const url = env.MCP_HTTP === undefined ? {} : { MCP_URL: `http://127.0.0.1:${port}/mcp` };
      await recordAndReplay(agent(...plans), { ...SERVER, ...env, ...url }, 1);
    }
  } finally {
    server.kill();
  }
});

test('what a killed program had finished is a golden', async () => {
  const golden = join(tempDir(), 'killed.json');
  const hang: Plan = { agents: [[{ calls: [{ tool: 'add', args: { a: 1 } }] }, { ms: 60_000 }]] };
  const child = start('record', golden, agent(hang), SERVER);
  const ended = outcomeOf(child);
  await waitUntil(async () => (await textOf(golden)).includes('"tool":"add"'));
  child.kill('SIGKILL');
  await ended;
  const {
    provider_responses: exchanges,
    mcp_cassette: cassette,
    golden_output: output,
  } = await readGolden(golden);
  assert.equal(output.success, false);
  assert.equal(exchanges.length, 1);
  assert.deepEqual(
    cassette?.calls.map(({ tool }) => tool),
    ['add'],
  );
});

/** Is killed as soon as it has a short or long answer, in one of the ways to get one. */
const KILLED = `
import { spawn } from 'node:child_process';
import { request } from 'node:http';
import { createInterface } from 'node:readline';
const [, way, count] = process.argv;
const text = 'words of an answer '.repeat(count);
const messages = [{ role: 'user', content: JSON.stringify({ turns: [{ text }] }) }];
const url = process.env.MODEL_URL + '/v1/chat/completions';
const init = { method: 'POST', headers: { 'content-type': 'application/json' } };
const body = JSON.stringify({ model: 'm', messages, stream: way === 'stream' });
if (way === 'http') {
  const got = (response) => response.resume().on('end', () => process.kill(process.pid, 'SIGKILL'));
  request(url, init, got).end(body);
} else if (way === 'stdio') {
  const server = spawn(process.execPath, ['-e', process.env.SERVER]);
  const send = (id, method, params) => server.stdin.write(JSON.stringify({ jsonrpc: '2.0', id, method, params }) + '\\n');
  send(1, 'initialize', { protocolVersion: '2025-06-18' });
  send(2, 'tools/call', { name: 'add', arguments: { text } });
  createInterface({ input: server.stdout }).on('line', (line) => JSON.parse(line).id === 2 && process.kill(process.pid, 'SIGKILL'));
} else if (way === 'refused') {
  await fetch('http://127.0.0.1:9/v1/chat/completions', { ...init, body }).catch(() => {});
  process.kill(process.pid, 'SIGKILL');
} else {
  await (await fetch(url, { ...init, body })).text();
  process.kill(process.pid, 'SIGKILL');
}
`;

/** Gives back what it is given. */
const ECHO = `
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, params } = JSON.parse(line);
  console.log(JSON.stringify({ jsonrpc: '2.0', id, result: id === 1 ? { ...params, capabilities: {}, serverInfo: { name: 'echo', version: '1' } } : { content: [{ type: 'text', text: params.arguments.text }] } }));
});
`;

test('what a program has got is in its golden before it goes on, however large', async () => {
  for (const way of ['fetch', 'stream', 'refused', 'http', 'stdio'])
    for (const count of [1, 20_000]) {
      const golden = join(tempDir(), 'killed.json');
      const program = ['--input-type=module', '-e', KILLED, way, String(count)];
      const { signal, stderr } = await run('record', golden, program, { SERVER: ECHO });
      assert.deepEqual([signal, stderr], ['SIGKILL', '']);
      const { provider_responses: exchanges, mcp_cassette: cassette } = await readGolden(golden);
      const calls = cassette?.calls.filter(({ tool }) => tool === 'add') ?? [];
      assert.equal(exchanges.length + calls.length, 1, `${way} ${count}`);
    }
});

const UNSEEN = `
import undici from 'undici';
import http2 from 'node:http2';
import { createServer, request } from 'node:http';
const server = createServer((_, response) => response.end('{}')).listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const url = 'http://127.0.0.1:' + server.address().port;
const params = { protocolVersion: '2025-06-18' };
const asked = request(url + '/mcp', { method: 'POST' }, (response) => response.resume().on('end', () => server.close()));
asked.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }));
for (const path of ['/a', '/b']) {
  const session = http2.connect(url).on('error', () => {});
  session.request({ ':path': path }).on('error', () => {});
  session.destroy();
}
const own = await new Promise((resolve) => { const one = createServer((_, response) => response.end('{}')).listen(0, '127.0.0.1', () => resolve(one)); });
const model = 'http://127.0.0.1:' + own.address().port + '/v1/chat/completions';
for (const send of [undici.fetch, undici.fetch]) await (await send(model, { method: 'POST', body: '{}' })).text();
own.close();
const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: '{"turns":[]}' }] });
await (await fetch(process.env.MODEL_URL + '/v1/chat/completions', { method: 'POST', body })).text();
await undici.getGlobalDispatcher().close();
`;

test('what is not recorded is said, also in the golden: HTTP/2, undici itself, and MCP over node:http', async () => {
  const program = ['--input-type=module', '-e', UNSEEN];
  const path = join(tempDir(), 'part.json');
  const { stderr, code } = await run('record', path, program, {});
  assert.equal(code, 0, stderr);
  const golden = await readGolden(path);
  assert.match(golden.description, /^Not whole: An MCP client that uses http|^Not whole: undici/);
  assert.deepEqual([golden.provider_responses.length, golden.golden_output.success], [1, false]);
  const replayed = await run('replay', path, program, {});
  assert.equal(replayed.code, 1);
  assert.match(replayed.stderr, /undici is not replayed/);
  assert.equal(stderr.match(/HTTP\/2 is not recorded/g)?.length, 1, stderr);
  assert.equal(stderr.match(/undici is not recorded/g)?.length, 1, stderr);
  assert.match(stderr, /An MCP client that uses http is not recorded/);
});

const WORKER = `
import { isMainThread, Worker } from 'node:worker_threads';
const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: '{"turns":[]}' }] });
const headers = { 'content-type': 'application/json' };
const ask = async () => await (await fetch(process.env.MODEL_URL + '/v1/chat/completions', { method: 'POST', headers, body })).text();
await ask();
if (isMainThread) await new Promise((resolve) => new Worker(new URL(import.meta.url)).on('exit', resolve));
`;

test('a golden says that a worker asked a model, which is not recorded', async () => {
  const program = join(tempDir(), 'worker.mjs');
  const path = join(tempDir(), 'part.json');
  writeFileSync(program, WORKER);
  const { stderr, code } = await run('record', path, [program], {});
  assert.equal(code, 0, stderr);
  assert.match(stderr, /A worker thread is not recorded/);
  const { description, provider_responses: exchanges } = await readGolden(path);
  assert.match(description, /^Not whole: A worker thread is not recorded/);
  assert.equal(exchanges.length, 1);
});

/** Sends bodies that can be read once, one of which goes on after its answer, and prints what the server got. */
const UPLOADS = `
import { createServer } from 'node:http';
const server = createServer((request, response) => {
  let size = 0;
  request.on('error', () => {}).on('data', (chunk) => { size += chunk.length; if (request.url === '/early') response.end('early'); });
  request.on('end', () => response.end(String(size)));
}).listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const send = async (path, body) => {
  const headers = { 'content-type': 'application/json' };
  const url = 'http://127.0.0.1:' + server.address().port + path;
  const response = await fetch(url, { method: 'POST', headers, body, duplex: 'half' });
  console.log(await response.text());
};
await send('/', (async function* () { yield new TextEncoder().encode('some'); yield new TextEncoder().encode('more'); })());
let upload;
await send('/early', new ReadableStream({ start: (to) => { upload = to; to.enqueue(new Uint8Array(3)); } }));
upload.close();
server.close();
server.closeAllConnections();
`;

test('bodies that can be read once reach their server, and an answer does not wait for their end', async () => {
  const golden = join(tempDir(), 'none.json');
  const { stdout, code } = await run('record', golden, ['--input-type=module', '-e', UPLOADS], {});
  assert.deepEqual([stdout, code], ['8\nearly\n', 0]);
});

test('a recording replaces no other file than a golden', async () => {
  const file = join(tempDir(), 'notes.txt');
  writeFileSync(file, 'precious');
  const { stderr, code } = await run('record', file, agent({ agents: [[{ text: 'done' }]] }), SERVER);
  assert.equal(code, 0);
  assert.match(stderr, /is no golden, and is not replaced/);
  assert.equal(readFileSync(file, 'utf8'), 'precious');
  const pipe = join(tempDir(), 'pipe');
  execFileSync('mkfifo', [pipe]);
  const piped = await run('record', pipe, agent({ agents: [[{ text: 'done' }]] }), SERVER);
  assert.match(piped.stderr, /is a pipe, and is not written/);
  assert.equal(piped.code, 0);
});

/** Asks a model whose answer is of so many MiB, through `fetch` and `http`, and prints what came and the most memory. */
const LARGE_ANSWER = `
import { createServer, request } from 'node:http';
const chunk = Buffer.alloc(1024 * 1024, 'x');
const server = createServer(async (request, response) => {
  for (let sent = 0; sent < 150; sent += 1)
    if (!response.write(chunk)) await new Promise((resolve) => response.once('drain', resolve));
  response.end();
}).listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const url = 'http://127.0.0.1:' + server.address().port + '/v1/chat/completions';
const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] });
const init = { method: 'POST', headers: { 'content-type': 'application/json' } };
const sizes = [0, 0];
for await (const part of (await fetch(url, { ...init, body })).body) sizes[0] += part.length;
await new Promise((resolve) => request(url, init, (response) => {
  response.on('data', (part) => { sizes[1] += part.length; }).on('end', resolve);
}).end(body));
server.close();
server.closeAllConnections();
console.log(sizes.join(' '));
if (process.resourceUsage().maxRSS > 400 * 1024) console.log('too much memory', process.resourceUsage().maxRSS);
process.exitCode = 3;
`;

test('an answer of any size changes neither output nor exit code, and takes bounded memory', async () => {
  const golden = join(tempDir(), 'large.json');
  const { stdout, stderr, code } = await run(
    'record',
    golden,
    ['--input-type=module', '-e', LARGE_ANSWER],
    {},
  );
  assert.deepEqual([stdout, code], ['157286400 157286400\n', 3]);
  assert.match(stderr, /is not whole: it is larger than 67108864 characters/);
});

/** Reads an answer into a buffer of its own, and asks in a forked process too. */
const FORKED = `
const { fork } = await import('node:child_process');
const url = process.env.MODEL_URL + '/v1/chat/completions';
const turns = [{ text: 'answer' }];
const messages = [{ role: 'user', content: JSON.stringify({ text: process.argv[2] ?? 'parent', turns }) }];
const headers = { 'content-type': 'application/json' };
const ask = async () => {
  const { body } = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ model: 'm', messages }) });
  const reader = body.getReader({ mode: 'byob' });
  while (!(await reader.read(new Uint8Array(64))).done);
};
if (process.argv[2] === undefined) await new Promise((resolve) => fork(process.argv[1], ['child']).on('exit', resolve));
await ask();
`;

test('a process that a recorded one forks gets a golden of its own, and no recording is lost', async () => {
  const folder = tempDir();
  const program = join(folder, 'forks.mjs');
  writeFileSync(program, FORKED);
  const { stderr, code } = await run('record', join(folder, 'run.json'), [program], {});
  assert.equal(code, 0, stderr);
  assert.match(
    stderr,
    /Another process has recorded to .*run\.json; this one is recorded to .*run\.\d+\.json/,
  );
  const goldens = readdirSync(folder).filter((name) => name.startsWith('run.'));
  const asked = await Promise.all(
    goldens.map(async (name) => JSON.stringify((await readGolden(join(folder, name))).provider_responses)),
  );
  assert.deepEqual(asked.map((text) => /parent|child/.exec(text)?.[0]).sort(), ['child', 'parent']);
});

/** An MCP server that goes on to log after its answer, and a client that waits for the last of it. */
const LOGS = `
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
const LINES = 4000;
const send = (to, message) => to.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
if (process.argv[2] === 'server') {
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, method } = JSON.parse(line);
    send(process.stdout, { id, result: method === 'initialize' ? { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'logs', version: '1' } } : { content: [] } });
    if (method === 'tools/call') for (let at = 1; at <= LINES; at += 1) send(process.stdout, { method: 'notifications/message', params: { level: 'info', data: at } });
  }
} else {
  const server = spawn(process.execPath, [process.argv[1], 'server']);
  send(server.stdin, { id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18' } });
  send(server.stdin, { id: 2, method: 'tools/call', params: { name: 'add', arguments: {} } });
  for await (const line of createInterface({ input: server.stdout })) if (JSON.parse(line).params?.data === LINES) break;
  server.stdin.end();
}
`;

test('what a server goes on to send after its answer is recorded whole, in linear work', async () => {
  const program = join(tempDir(), 'logs.mjs');
  writeFileSync(program, LOGS);
  const { golden } = await recorded([program], {});
  const { mcp_cassette: cassette } = await readGolden(golden);
  assert.equal(cassette?.calls[0]?.sent_after?.length, 4000);
});
