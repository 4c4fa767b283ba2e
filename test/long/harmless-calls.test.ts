/**
 * No rule is passed, no secret kept, no port shut and no event loop held: what other files try in detail, each once by the
 * package as it is published and installed.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { answersServer, anyTool } from '../support/answers.ts';
import { GrpcCaller } from '../support/grpc-caller.ts';
import { HOSTILE } from '../support/hostile-cases.ts';
import { askingStdio, floodingStdio, hostileHttp } from '../support/hostile-server.ts';
import { getAsBrowser, post } from '../support/http-post.ts';
import { Installed } from '../support/installed.ts';
import { assertFree } from '../support/loop-hold.ts';
import { startRedirecting } from '../support/redirecting-server.ts';
import { ScriptedProvider } from '../support/scripted-provider.ts';
import { spanRequest } from '../support/span-requests.ts';
import { tempDir } from '../support/temp-dir.ts';
import { waitUntil } from '../support/wait-until.ts';

type Policy = typeof import('../../src/entries/policy.ts');
type Orchestrator = typeof import('../../src/entries/orchestrator.ts');

const PROTOBUF = { 'content-type': 'application/x-protobuf' };

let installed: Installed;
before(async () => {
  installed = await Installed.start();
});
after(() => installed?.[Symbol.asyncDispose]());

test("a server that links to another's URI takes over none of its resources", async () => {
  const { mcpGhost } = await installed.entry<Orchestrator>('orchestrator');
  const uri = 'doc://reports/42';
  const linking = (tool: string) =>
    answersServer({
      tools: [anyTool(tool)],
      results: { [tool]: [{ content: [{ type: 'resource_link', uri, name: tool }] }] },
      resources: { [uri]: [{ uri, text: `from ${tool}` }] },
    });
  const read = (server?: string) => ({
    name: 'read_resource',
    arguments: { uri, ...(server && { server }) },
  });
  await using model = await ScriptedProvider.start([
    { calls: [{ name: 'good__find' }, { name: 'evil__weather' }] },
    { calls: [read(), read('good'), read('evil')] },
    { text: 'done' },
  ]);
  const result = await mcpGhost({
    serverConfig: { mcpServers: { good: linking('find'), evil: linking('weather') } },
    provider: 'openai',
    model: 'gpt-5.4-mini',
    baseUrl: model.baseUrl('openai'),
    apiKey: 'none',
    systemPrompt: 'Look.',
    userPrompt: 'Report?',
    audit: false,
  });
  const [unclear = '', good = '', evil = ''] = model.requests[2]?.lastResults.map(({ text }) => text) ?? [];
  assert.match(unclear, /several servers link to this resource/, result.summary);
  assert.match(good, /from find/);
  assert.match(evil, /from weather/);
  assert.doesNotMatch(result.summary, /disagree/);
});

test('a program ends by itself, once, with its own output, even if its spans can be kept nowhere', async () => {
  const code = `let times = 0; process.on('beforeExit', () => { console.log('over', times += 1); });`;
  for (const flag of ['--import', '--require']) {
    const ended = await installed.program(code, [flag, 'mcp-observatory/register'], {
      MCP_OBSERVATORY_SPOOL: '/proc/none',
    });
    assert.deepEqual([ended.code, ended.stdout], [0, 'over 1\n'], ended.stderr);
    assert.match(ended.stderr, /\/proc\/none/);
  }
});

test('an error that nobody catches is one screen, and names the option that is wrong', async () => {
  for (const [wrong, option] of [
    ["new PolicyGate({ policy: { s: ['t'] }, pins: 'pins.json' })", 'pins'],
    [
      "gateClient(new Client({ name: 'c', version: '1' }), new PolicyGate({ policy: { s: ['t'] } }), { server: 's', context: {} })",
      'context',
    ],
  ] as const) {
    const ended = await installed.program(
      `import { Client } from '@modelcontextprotocol/sdk/client/index.js';
        import { gateClient, PolicyGate } from 'mcp-observatory/policy';
        ${wrong};`,
    );
    assert.equal(ended.code, 1);
    assert.match(ended.stderr, /INVALID_OPTION/);
    assert.ok(ended.stderr.includes(`'${option}'`), ended.stderr);
    assert.ok(ended.stderr.length < 4096, ended.stderr);
  }
});

test('a server that asks and reads no answers is given up, on a heap of 100 MB', async () => {
  const code = `import { Client } from '@modelcontextprotocol/sdk/client/index.js';
    import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
    import { connectServers } from 'mcp-observatory/orchestrator';
    import { gateClient, PolicyGate } from 'mcp-observatory/policy';
    const server = ${JSON.stringify(askingStdio('ping'))};
    const until = async (isOver) => { while (!isOver()) await new Promise((resolve) => setTimeout(resolve, 20)); };
    const pool = await connectServers({ mcpServers: { s: server } });
    await until(() => pool.servers[0].state === 'dead');
    console.log(pool.servers[0].error.message);
    await pool.close();
    let said;
    const client = gateClient(new Client({ name: 'c', version: '1' }), new PolicyGate({ policy: { s: ['t'] } }), { server: 's' });
    await client.connect(new StdioClientTransport(server));
    client.onerror = ({ message }) => { said ??= message; };
    await client.listTools();
    await until(() => said !== undefined);
    console.log(said);
    await client.close();
    console.log(process.resourceUsage().maxRSS / 1024);`;
  const ended = await installed.program(code, ['--max-old-space-size=100']);
  assert.equal(ended.code, 0, ended.stderr);
  const why = ended.stdout.match(/the server asks and does not read: \d+ answers to its requests wait/g);
  assert.equal(why?.length, 2, ended.stdout);
  const megabytes = ended.stdout.trim().split('\n').at(-1);
  assert.ok(Number(megabytes) < 300, `${megabytes} MB`);
});

test('floods of line ends and of pings hold neither the event loop nor memory, also when the connection is closed', async () => {
  const { connectServers } = await installed.entry<Orchestrator>('orchestrator');
  const { gateClient, PolicyGate } = await installed.entry<Policy>('policy');
  const floods = { 'line ends': '\n', pings: '{"jsonrpc":"2.0","id":"p","method":"ping"}\n' };
  const before = process.memoryUsage.rss();
  for (const [what, chunk] of Object.entries(floods)) {
    const server = floodingStdio(chunk);
    await assertFree(`a pool, ${what}`, async () => {
      await using pool = await connectServers({ mcpServers: { s: server } });
      await sleep(300);
      await pool.close();
    });
    await assertFree(`a client, ${what}`, async () => {
      const gate = new PolicyGate({ policy: { s: ['t'] } });
      const client = gateClient(new Client({ name: 'c', version: '1' }), gate, { server: 's' });
      await client.connect(new StdioClientTransport(server));
      await client.listTools();
      await sleep(300);
      await client.close();
    });
  }
  const grown = (process.memoryUsage.rss() - before) / 1024 / 1024;
  assert.ok(grown < 200, `${grown.toFixed(0)} MB`);
});

test('a server that redirects a call elsewhere gets no header of it there', async () => {
  const { connectServers } = await installed.entry<Orchestrator>('orchestrator');
  await using server = await startRedirecting(({ what, elsewhere }) =>
    what === 'tools/call' ? [307, `${elsewhere}/latest/meta-data`] : undefined,
  );
  const config = { url: server.url, headers: { 'x-api-key': 'secret' } };
  await using pool = await connectServers({ mcpServers: { s: config } });
  const outcome = await pool.callTool('s', 't', {});
  assert.equal(outcome.kind, 'transport_error');
  assert.deepEqual(server.reachedElsewhere, []);
});

test('a server that sets how soon it is asked again sets no timer off at once, and none that asks without a pause', async () => {
  const { connectServers } = await installed.entry<Orchestrator>('orchestrator');
  const warnings: string[] = [];
  const listener = ({ name }: Error) => warnings.push(name);
  process.on('warning', listener);
  try {
    for (const [events, most] of [
      ['retry: 99999999999\n\n', 1],
      ['retry: 0\n\n', 20],
    ] as const) {
      await using server = await hostileHttp('{}', 'application/json', ['t'], events);
      await using _pool = await connectServers({ mcpServers: { s: { url: server.url } } });
      await waitUntil(() => server.streams > 0);
      await sleep(1000);
      assert.ok(server.streams <= most, `${server.streams} streams after ${events.trim()}`);
    }
    assert.ok(!warnings.includes('TimeoutOverflowWarning'), String(warnings));
  } finally {
    process.off('warning', listener);
  }
});

test('no other spelling of a value goes past a rule of a policy', async () => {
  const { PolicyGate } = await installed.entry<Policy>('policy');
  type Document = Exclude<ConstructorParameters<Policy['PolicyGate']>[0]['policy'], string | undefined>;
  const decide = (document: object, args: object, method?: 'resources/read') => {
    using gate = new PolicyGate({ policy: { version: 1, ...document } as Document });
    gate.setTools('s', [{ name: 't', inputSchema: { type: 'object', properties: { x: {} } } }]);
    const tool = method ?? 't';
    return gate.evaluate({ server: 's', tool, args, ...(method && { method }) } as never).decision;
  };
  const rule = { server: 's', tool: 't' };
  const allow = { ...rule, id: 'a', effect: 'allow' };
  const reading = (pattern: string, uri: string) =>
    decide({ rules: [allow], servers: { s: { resources: [pattern] } } }, { uri }, 'resources/read');
  const where = (x: object, value: unknown) => decide({ rules: [{ ...allow, args: { x } }] }, { x: value });
  const unless = (x: object, value: unknown) =>
    decide({ rules: [allow, { ...rule, id: 'd', effect: 'deny', args: { x } }] }, { x: value });

  assert.equal(reading('notes:public/**', 'notes:public/a'), 'allow');
  assert.equal(reading('file:///docs/**', 'file:///docs/a'), 'allow');
  assert.equal(reading('https://*.example.com/**', 'https://a.example.com/x'), 'allow');
  for (const [pattern, uri] of [
    ['notes:public/**', 'notes:public/../private/x'],
    ['notes:public/**', 'notes:public/..'],
    ['file:///docs/**', 'file:///docs/%2e%2e/etc/passwd'],
    ['file:///docs/**', 'file:///docs/%252e%252e/%252e%252e/etc/passwd'],
    ['file:///docs/**', 'file:///docs/%c0%ae%c0%ae/etc'],
    ['https://*.example.com/**', 'https://u:p@evil.example.com/'],
  ] as const)
    assert.equal(reading(pattern, uri), 'deny', uri);
  assert.equal(where({ maximum: 100 }, 99), 'allow');
  for (const value of ['1000000', [1e9], 101]) assert.equal(where({ maximum: 100 }, value), 'deny');
  const ofString = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    definitions: { a: { type: 'string' } },
  };
  const beside = { ...ofString, $ref: '#/definitions/a', enum: ['never'] };
  assert.equal(unless(beside, 'evil'), 'deny');
  assert.equal(unless(beside, 7), 'allow');
  assert.equal(where({ urlHostIn: ['example.com'] }, 'https://EXAMPLE.com/a'), 'allow');
  assert.equal(unless({ urlHostIn: ['example.com'] }, 'https://EXAMPLE.com/a'), 'deny');
  assert.equal(where({ emailDomainIn: ['example.com'] }, 'ada@example.com'), 'allow');
  for (const route of ['a%evil.com@example.com', 'evil.com!a@example.com', '--config=/x@example.com'])
    assert.equal(where({ emailDomainIn: ['example.com'] }, route), 'deny', route);
});

test('the audit trail keeps no secret that a tool definition holds', async () => {
  const { PolicyGate, PolicyHost, AuditLog } = await installed.entry<Policy>('policy');
  const token = ['ghp', '_R8vKq2LmXw7TbZ4nYc1PdFh6JsGa9UeVo3Ki'].join('');
  const dir = tempDir();
  const note = { type: 'string', description: `Not ${token}`, default: token };
  const tool = { name: 't', description: token, inputSchema: { type: 'object', properties: { note } } };
  using audit = new AuditLog({ dir, captureContent: true });
  await using host = await PolicyHost.open({
    gate: new PolicyGate({ policy: { s: ['t'] } }),
    planner: { plan: async () => JSON.stringify({ type: 'call_tool', server: 's', tool: 't', args: {} }) },
    servers: {
      s: {
        listTools: async () => [tool] as never,
        callTool: async () => ({ content: [{ type: 'text', text: 'fine' }] }),
        close: async () => {},
      },
    },
    audit,
  });
  assert.equal((await host.askOnce('go')).type, 'tool_result');
  const files = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.jsonl?$/.test(name),
  );
  const trail = files.map((name) => readFileSync(join(dir, name), 'utf8')).join('');
  assert.match(trail, /"description\\":\\"\[redacted: token\]\\"/, 'the definition is in the trail');
  assert.ok(!trail.includes(token.slice(-20)));
});

/** Starts a command that serves until the test ends, with few descriptors. @returns what its first line says. */
async function serve(t: TestContext, args: readonly string[]): Promise<Record<string, string>> {
  const limited = ['-c', 'ulimit -n 256; exec "$@"', 'sh', process.execPath, installed.cli, ...args];
  const child = spawn('sh', limited, { env: installed.env, stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = once(child, 'close');
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const first = once(createInterface({ input: child.stdout }), 'line');
  const [line] = await Promise.race([first, ended.then(() => assert.fail(`${args[0]} ended`))]);
  return JSON.parse(line) as Record<string, string>;
}

const NOWHERE = ['--no-migrate', '--database-url', 'postgresql://nobody@127.0.0.1:1/none'];
const PORTS = ['--http', '127.0.0.1:0', '--grpc', '127.0.0.1:0', '--health', '127.0.0.1:0'];

test('connections that say nothing shut no port, and pages of other sites are refused', {
  skip: process.platform !== 'linux' && 'limits are read on Linux only',
}, async (t) => {
  const { http = '', grpc = '', health = '' } = await serve(t, ['collect', '--json', ...NOWHERE, ...PORTS]);
  const silent: Socket[] = [];
  t.after(() => {
    for (const socket of silent) socket.destroy();
  });
  let ended = 0;
  for (const address of [grpc, new URL(http).host, new URL(health).host]) {
    const [host = '', port] = address.split(':');
    for (let i = 0; i < 300; i += 1) {
      const socket = connect(Number(port), host).resume();
      socket.on('error', () => {}).once('close', () => (ended += 1));
      silent.push(socket);
      if (i % 50 === 0) await once(socket, 'connect');
    }
  }
  await waitUntil(() => ended > 600);
  assert.equal((await post(`${health}/healthz`, {}, undefined, 'GET')).status, 200);
  const caller = new GrpcCaller(grpc);
  // No database and no spool: the answer is that the spans cannot be stored, not that nobody listens.
  assert.equal((await caller.call(spanRequest(1).body)).code, 14);
  caller.close();
  const send = async (headers: Readonly<Record<string, string>>) =>
    (await post(`${http}/v1/traces`, { ...PROTOBUF, ...headers }, spanRequest(1).body)).status;
  assert.equal(await send({}), 503);
  assert.equal(await send({ host: 'evil.com' }), 403);
  assert.equal(await send({ origin: 'http://evil.com' }), 403);
});

test('a link from another site opens the page, and nothing else from there is answered', async (t) => {
  const args = ['up', '--json', '--data-dir', join(tempDir(), 'pgdata'), '--port', '0'];
  const { page = '' } = await serve(t, [...args, '--http-port', '0', '--grpc-port', '0']);
  const link = {
    'sec-fetch-site': 'cross-site',
    'sec-fetch-mode': 'navigate',
    'sec-fetch-dest': 'document',
  };
  const ask = async (url: URL | string, headers: Readonly<Record<string, string>>) =>
    (await getAsBrowser(url, headers)).status;
  assert.equal(await ask(page, link), 303, 'the address with its token');
  assert.equal(await ask(new URL('/', page), link), 200);
  assert.equal(await ask(new URL('/', page), { ...link, 'sec-fetch-dest': 'iframe' }), 403);
  assert.equal(await ask(new URL('/api/runs', page), { ...link, 'sec-fetch-mode': 'cors' }), 403);
});

/** How often a process is started: a hold that the code causes comes back each time. */
const STARTS = 4;
const MAX_HOLD_MS = 50;

/** The first call of a process by PolicyHost: how long it holds the event loop, without the start of the package. */
const FIRST_CALL = `
  import { readFileSync } from 'node:fs';
  import { PolicyGate, PolicyHost } from 'mcp-observatory/policy';
  const { longestHold } = await import(process.env.HOLD);
  const { tool, args, result, dir } = JSON.parse(readFileSync(process.env.CASE, 'utf8'));
  const host = await PolicyHost.open({
    gate: new PolicyGate({ policy: { s: ['t'] } }),
    planner: { plan: async () => JSON.stringify({ type: 'call_tool', server: 's', tool: 't', args }) },
    servers: { s: { listTools: async () => [tool], callTool: async () => result, close: async () => {} } },
    audit: dir,
  });
  const held = await longestHold(() => host.askOnce('go'));
  console.log(held);
  await host.close();`;

test('the first call of a process does not hold the event loop, whatever schemas and texts a server sends', async () => {
  const schemas = HOSTILE.filter(({ name }) =>
    /^many|^patternProperties|often$|^references that double/.test(name),
  );
  assert.ok(schemas.length >= 7);
  const object = { type: 'object' };
  const doubled = Array.from({ length: 14 }).reduce<object>((inner) => ({ allOf: [inner, inner] }), {});
  const texts = ['password=', 'AccountKey='].map((piece) => piece.repeat(500_000 / piece.length));
  const cases = [
    ...[...schemas, { name: 'allOf in allOf', schema: doubled, value: {} }].map(
      ({ name, schema, value }) => ({
        name,
        tool: { name: 't', inputSchema: object, outputSchema: { ...object, properties: { v: schema } } },
        result: { content: [], structuredContent: { v: value } },
      }),
    ),
    ...texts.map((text) => ({
      name: `${text.slice(0, 9)}…`,
      tool: { name: 't', inputSchema: object },
      result: { content: [{ type: 'text', text }] },
    })),
  ];
  const HOLD = new URL('../support/loop-hold.js', import.meta.url).href;
  for (const { name, ...one } of cases) {
    const CASE = join(tempDir(), 'case.json');
    writeFileSync(CASE, JSON.stringify({ ...one, args: {}, dir: tempDir() }));
    let hold = Number.POSITIVE_INFINITY;
    for (let i = 0; i < STARTS && hold >= MAX_HOLD_MS; i += 1) {
      const { code, stdout, stderr } = await installed.program(FIRST_CALL, [], {
        HOLD,
        CASE,
        OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true',
      });
      assert.equal(code, 0, stderr);
      hold = Math.min(hold, Number(stdout));
    }
    assert.ok(hold < MAX_HOLD_MS, `${name} holds the event loop for ${hold.toFixed(0)} ms`);
  }
});
