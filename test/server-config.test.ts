import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { test } from 'node:test';
import { ObservatoryError } from '../src/base/errors.ts';
import { serverEnvironment } from '../src/mcp-client/environment.ts';
import { loadServerConfig, parseServerConfig } from '../src/mcp-client/index.ts';
import { cpuMs } from './support/cpu-time.ts';
import { tempDir } from './support/temp-dir.ts';

const parse = (server: unknown, env: Record<string, string> = {}) =>
  parseServerConfig({ mcpServers: { s: server } }, { env })[0];

test('commands and urls are read with their defaults', () => {
  assert.deepEqual(parse({ command: 'uvx', args: ['mcp-server-sqlite'] }), {
    kind: 'stdio',
    name: 's',
    command: 'uvx',
    args: ['mcp-server-sqlite'],
    env: {},
    cwd: undefined,
    protocol: 'auto',
  });
  assert.deepEqual(parse({ url: 'https://example.com/mcp', headers: { Authorization: 'Bearer x' } }), {
    kind: 'remote',
    name: 's',
    url: new URL('https://example.com/mcp'),
    transport: 'auto',
    headers: { Authorization: 'Bearer x' },
    protocol: 'auto',
  });
  const remote = parse({ url: 'http://localhost/sse', type: 'sse', protocol: 'v2' });
  assert.deepEqual(remote?.kind === 'remote' && [remote.transport, remote.protocol], ['sse', 'v2']);
  assert.equal(parse({ command: 'x', disabled: true }), undefined);
  const numbers = parse({ command: 'x', env: { PORT: 80, DEBUG: true } });
  assert.deepEqual(numbers?.kind === 'stdio' && numbers.env, { PORT: '80', DEBUG: 'true' });
});

test('servers may stand without mcpServers around them, as in the files of ask and gate e2e', () => {
  const servers = { files: { command: 'npx', args: ['x'] }, search: { url: 'https://example.com/mcp' } };
  assert.deepEqual(parseServerConfig(servers), parseServerConfig({ mcpServers: servers }));
  assert.deepEqual(
    parseServerConfig({ mcpServers: servers, theme: { command: 'not a server' } }).map(({ name }) => name),
    ['files', 'search'],
  );
  assert.throws(
    () => parseServerConfig({ ...servers, broken: { cmd: 'npx' } }),
    /Server "broken" has neither "command" nor "url"/,
  );
});

test('a config that repeats a key is refused instead of losing a server', async () => {
  const path = join(tempDir(), 'servers.json');
  writeFileSync(path, '{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}');
  await assert.rejects(loadServerConfig(path), {
    code: 'INVALID_SERVER_CONFIG',
    message: /twice|duplicate|'a'/,
  });
});

test('variables that are never closed take linear time', () => {
  const open = '${A:-'.repeat(200_000);
  const took = cpuMs(() => {
    const server = parse({ command: 'x', args: [open, `${open}}`, '$${A:-'] });
    assert.deepEqual(server?.kind === 'stdio' && server.args, [open, open.slice(5), '${A:-']);
  });
  assert.ok(took < 2_000, `${took} ms`);
});

test('variables are replaced in every string, and only variables', () => {
  const env = { HOME: '/home/ann', KEY: 'k', EMPTY: '' };
  const d = '$'; // so that the texts below are no template strings
  const server = parse(
    {
      command: `${d}{HOME}/bin/x`,
      args: [
        `${d}{KEY}-${d}{env:KEY}`,
        `${d}{MISSING:-none}`,
        `${d}{EMPTY:-filled}`,
        `${d}${d}{KEY}`,
        `${d}KEY ${d}(pwd) ${d}{1} }{`,
        `${d}{EMPTY}`,
        '{env:KEY}',
      ],
      env: { A: `a${d}{KEY}` },
      cwd: `${d}{HOME}`,
    },
    env,
  );
  assert.ok(server?.kind === 'stdio');
  assert.equal(server.command, '/home/ann/bin/x');
  assert.deepEqual(server.args, [
    'k-k',
    'none',
    'filled',
    `${d}{KEY}`,
    `${d}KEY ${d}(pwd) ${d}{1} }{`,
    '',
    'k',
  ]);
  assert.deepEqual([server.env.A, server.cwd], ['ak', '/home/ann']);
  const raw = parseServerConfig(
    { mcpServers: { s: { command: `${d}{HOME}` } } },
    { env, expandVariables: false },
  );
  assert.equal(raw[0]?.kind === 'stdio' && raw[0].command, `${d}{HOME}`);
  assert.throws(
    () => parse({ command: 'x', env: { A: `${d}{MISSING}` } }, env),
    /Server "s" uses \$\{MISSING\} in "env\.A".*set it, or write \$\{MISSING:-default\}/,
  );
});

test('the forms of other clients are read: places, switches, lists of tools, types, addresses, inputs', () => {
  const entry = { command: 'x' };
  for (const place of ['mcpServers', 'servers', 'context_servers', 'mcp'])
    assert.equal(parseServerConfig({ [place]: { s: entry } })[0]?.name, 's', place);
  assert.equal(parseServerConfig({ mcp: { inputs: [], servers: { s: entry } } })[0]?.name, 's');
  for (const off of [{ enabled: false }, { disabled: 'true' }, { isActive: 'False' }])
    assert.equal(parse({ ...entry, ...off }), undefined);
  for (const [lists, wanted] of [
    [{ includeTools: ['a', 'ab'] }, ['a', 'ab']],
    [{ disabled_tools: ['a'] }, ['ab', 'b']],
    [{ tools: ['a*'], excludeTools: ['ab'] }, ['a']],
    [{ tools: ['*'] }, ['a', 'ab', 'b']],
    [{ tools: { a: { enabled: false }, b: false, ab: true } }, ['ab']],
    [{ excludeTools: ['*b'] }, ['a']],
    [{ allowedTools: [] }, []],
  ] as const) {
    const { wants } = parse({ ...entry, ...lists })?.tools ?? {};
    assert.deepEqual(['a', 'ab', 'b'].filter(wants ?? (() => false)), wanted, JSON.stringify(lists));
  }
  const all = { s: entry, t: entry };
  for (const chosen of [
    { mcpServers: all, disabledMcpServers: ['t'] },
    { mcpServers: all, disabledMcpjsonServers: ['t'] },
    { mcpServers: all, excludeMCPServers: ['t', 'none'] },
    { mcpServers: all, mcp: { allowed: ['s'], excluded: [] } },
  ])
    assert.deepEqual(
      parseServerConfig(chosen).map(({ name }) => name),
      ['s'],
      JSON.stringify(chosen),
    );
  const remote = parse({ httpUrl: 'http://x', startup_timeout_sec: '2' });
  assert.deepEqual(remote?.kind === 'remote' && [remote.transport, remote.connectTimeoutMs], ['http', 2_000]);
  const typed = parse({ url: 'http://x', type: 'streamableHttp' });
  assert.equal(typed?.kind === 'remote' && typed.transport, 'http');
  const listed = parse({ command: ['npx', 'x'], args: ['y'], env: { A: null }, environment: { B: 'b' } });
  assert.deepEqual(listed?.kind === 'stdio' && [listed.args, listed.env], [['x', 'y'], { B: 'b' }]);
  const d = '$';
  const args = [`${d}{input:my key}`, `${d}{/}`, `${d}${d}{input:z}`];
  const asked = { servers: { s: { command: 'x', args } } };
  const [given] = parseServerConfig(asked, { inputs: { 'my key': 'v' } });
  assert.deepEqual(given?.kind === 'stdio' && given.args, ['v', sep, `${d}{input:z}`]);
});

test('what cannot be used is refused with its name, its value and the remedy', async () => {
  const cases: [unknown, RegExp][] = [
    [null, /Expected a server config object, got null/],
    [[], /Expected a server config object/],
    [{}, /Expected "mcpServers" to be an object.*got undefined/],
    [{ mcpServers: [] }, /got \[\]/],
    [{ mcpServers: { a: 'npx' } }, /Server "a": expected an object, got "npx"/],
    [{ mcpServers: { '': { command: 'x' } } }, /needs a name/],
    [{ mcpServers: { a: {} } }, /Server "a" has neither "command" nor "url"; /],
    [{ mcpServers: { a: { cmd: 'x' } } }, /neither "command" nor "url" \(there is "cmd"\)/],
    [{ extensions: { a: { cmd: 'x' } } }, /got undefined \(there is "extensions"\)/],
    [{ mcpServers: { a: { command: 'x', url: 'http://y' } } }, /has both/],
    [{ mcpServers: { a: { command: ' ' } } }, /empty "command"/],
    [{ mcpServers: { a: { command: ['npx', 1] } } }, /has 1 as "command\[1\]"; expected a string/],
    [{ mcpServers: { a: { command: 'x', disabled: 'yes' } } }, /"yes" as "disabled"; use true or false/],
    [
      { mcpServers: { a: { command: 'x', comand: 'y' } } },
      /"comand", which is not known; did you mean "command"\?$/,
    ],
    [
      { mcpServers: { a: { command: 'x', toolChoice: ['y'] } } },
      /"toolChoice".*"includeTools" and "excludeTools"/,
    ],
    [{ mcpServers: { a: { command: 'x', excludeTools: 'y' } } }, /"y" as "excludeTools"; expected a list/],
    [{ mcpServers: { a: { command: 'x', connect_timeout: 'soon' } } }, /"soon" as "connect_timeout"/],
    [
      { mcpServers: { a: { command: '$'.concat('{config:x}') } } },
      /\$\{config:x\} in "command", which only its own client/,
    ],
    [{ mcpServers: { a: { command: 'x' } }, servers: { a: { command: 'y' } } }, /in more than one of/],
    [
      { servers: { a: { command: '$'.concat('{input:k}') } }, inputs: [{ id: 'k', description: 'The key' }] },
      /\$\{input:k\} in "command", an input \(The key\) that was not given; give it as `inputs:/,
    ],
    [{ mcpServers: { a: { command: 'x', args: 'y' } } }, /has "y" as "args"; expected a list/],
    [{ mcpServers: { a: { command: 'x', args: [1] } } }, /has 1 as "args\[0\]"/],
    [{ mcpServers: { a: { command: 'x', args: ['a\0b'] } } }, /NUL/],
    [{ mcpServers: { a: { command: 'x', type: 'http' } } }, /"command" and the type "http"/],
    [{ mcpServers: { a: { url: 'x' } } }, /has "x" as "url"; expected an address/],
    [{ mcpServers: { a: { url: 'file:///x' } } }, /http:\/\/ or https:\/\//],
    [{ mcpServers: { a: { url: 'http://x', type: 'websocket' } } }, /"websocket" as "type"; use one of/],
    [
      { mcpServers: { a: { url: 'http://x', protocol: 'v3' } } },
      /"v3" as "protocol"; use one of auto, v1, v2/,
    ],
  ];
  for (const [config, message] of cases) {
    await assert.rejects(loadServerConfig(config), (error) => {
      assert.ok(ObservatoryError.isInstance(error));
      assert.equal(error.code, 'INVALID_SERVER_CONFIG');
      assert.match(error.message, message);
      return true;
    });
  }
  await assert.rejects(loadServerConfig('/no/such/file.json'), /"\/no\/such\/file.json" cannot be read/);
  await assert.rejects(loadServerConfig(import.meta.filename), /is not valid JSON/);
});

test('messages about environments and headers hold none of their values', () => {
  for (const server of [
    { command: 'x', env: { KEY: ['s3cret'] } },
    { url: 'http://x', headers: { authorization: { bearer: 's3cret' } } },
    { url: 'http://x', headers: { authorization: 'Bearer s3cret\n' + 'x: y' } },
  ]) {
    assert.throws(
      () => parse(server),
      (error) => error instanceof Error && !error.message.includes('s3cret'),
    );
  }
});

test('a server gets to know whom its host trusts, and no other variable of it', (t) => {
  const own = 'GIT_SSL_CAINFO AWS_CA_BUNDLE DENO_CERT NIX_SSL_CERT_FILE HTTPLIB2_CA_CERTS http_proxy'.split(
    ' ',
  );
  const others = 'GITHUB_TOKEN CA_SECRET SSL_CERT_PASSWORD MY_CERT NODE_OPTIONS'.split(' ');
  const before = { ...process.env };
  t.after(() => {
    process.env = before;
  });
  for (const name of [...own, ...others]) process.env[name] = '/some/where';
  const given = serverEnvironment({});
  assert.deepEqual(
    [...own, ...others].filter((name) => given[name] !== undefined),
    own,
  );
});
