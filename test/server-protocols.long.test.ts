import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { connectServers, type ServerPool, type ServerRequestHandlers } from '../src/mcp-client/index.ts';
import { runServer } from './support/http-server.ts';
import { serverFile } from './support/server-file.ts';
import { longTest, sized } from './support/size.ts';
import { waitUntil } from './support/wait-until.ts';

const MODULES = resolve(import.meta.dirname, '../../node_modules/@modelcontextprotocol');
const EVERYTHING = join(MODULES, 'server-everything/dist/index.js');
const MODERN = serverFile('modern');
const node = (...args: string[]) => ({ command: process.execPath, args });

const HANDLERS: ServerRequestHandlers = {
  roots: [{ uri: 'file:///srv/data', name: 'data' }],
  onElicitation: () => ({ action: 'accept', content: { name: 'Ada' } }),
  onSampling: () => ({ role: 'assistant', model: 'test-model', content: { type: 'text', text: 'sampled' } }),
};

async function said(
  pool: ServerPool,
  server: string,
  tool: string,
  args: Record<string, unknown> = {},
): Promise<string> {
  const outcome = await pool.callTool(server, tool, args);
  assert.equal(outcome.kind, 'ok', JSON.stringify(outcome));
  return outcome.kind === 'ok'
    ? outcome.result.content.map((each) => (each.type === 'text' ? each.text : each.type)).join('\n')
    : '';
}

longTest('three official servers at once, each with its tools', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'servers-'));
  try {
    await using pool = await connectServers({
      mcpServers: {
        everything: node(EVERYTHING),
        files: node(join(MODULES, 'server-filesystem/dist/index.js'), folder),
        memory: {
          ...node(join(MODULES, 'server-memory/dist/index.js')),
          env: { MEMORY_FILE_PATH: join(folder, 'memory.json') },
        },
      },
    });
    assert.deepEqual(
      pool.servers.map((each) => [each.state, each.sdk, each.protocolVersion]),
      [
        ['ready', 'v1', '2025-11-25'],
        ['ready', 'v1', '2025-11-25'],
        ['ready', 'v1', '2025-11-25'],
      ],
    );
    assert.ok(pool.tools.length >= 35);
    const path = join(folder, 'a.txt');
    await said(pool, 'files', 'write_file', { path, content: 'written' });
    assert.equal(await said(pool, 'files', 'read_text_file', { path }), 'written');
    const outside = await pool.callTool('files', 'read_text_file', { path: '/etc/hostname' });
    assert.equal(outside.kind, 'tool_error');
    const graph = await pool.callTool('memory', 'read_graph', {});
    assert.deepEqual(graph.kind === 'ok' && graph.result.structuredContent, { entities: [], relations: [] });
    const image = await pool.callTool('everything', 'get-tiny-image', {});
    assert.ok(
      image.kind === 'ok' &&
        image.result.content.some((each) => each.type === 'image' && each.mimeType === 'image/png'),
    );
    assert.match(await said(pool, 'everything', 'get-resource-links', { count: 2 }), /resource_link/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

for (const protocol of sized(['v1'] as const, ['v1', 'v2'] as const)) {
  test(`roots, elicitation and sampling are answered over stdio with client ${protocol}`, async () => {
    await using pool = await connectServers(
      { mcpServers: { e: { ...node(EVERYTHING), protocol } } },
      { handlers: HANDLERS },
    );
    assert.equal(pool.server('e').sdk, protocol);
    assert.match(await said(pool, 'e', 'get-roots-list'), /file:\/\/\/srv\/data/);
    assert.match(await said(pool, 'e', 'trigger-elicitation-request'), /Ada/);
    assert.match(await said(pool, 'e', 'trigger-sampling-request', { prompt: 'p', maxTokens: 5 }), /sampled/);
  });
}

longTest(
  'a tool that runs as a task only is run as one, within its time, and a server gets no request it has no handler for',
  async () => {
    await using pool = await connectServers({ mcpServers: { e: node(EVERYTHING) } });
    const names = pool.tools.map((each) => each.tool.name);
    assert.equal(names.includes('trigger-sampling-request'), false);
    assert.equal(names.includes('get-roots-list'), false);
    // The server takes four seconds for it.
    if (sized(false, true))
      assert.match(await said(pool, 'e', 'simulate-research-query', { topic: 'tides' }), /tides/);
    const late = await pool.callTool('e', 'simulate-research-query', { topic: 'tides' }, { timeoutMs: 200 });
    assert.equal(late.kind, 'timeout');
  },
);

longTest('streamable HTTP, SSE, and the way from one to the other', async () => {
  await using http = await runServer(() => [EVERYTHING, 'streamableHttp']);
  await using sse = await runServer(() => [EVERYTHING, 'sse']);
  const httpUrl = `http://127.0.0.1:${http.port}/mcp`;
  const sseUrl = `http://127.0.0.1:${sse.port}/sse`;
  await using pool = await connectServers({
    mcpServers: {
      http: { url: httpUrl },
      'http v2': { url: httpUrl, type: 'streamable-http', protocol: 'v2' },
      sse: { url: sseUrl, type: 'sse' },
      'sse v2': { url: sseUrl, transport: 'sse', protocol: 'v2' },
      'fallback to sse': { url: sseUrl },
      'no fallback': { url: sseUrl, type: 'http' },
      'not there': { url: `http://127.0.0.1:${http.port}/nothing` },
    },
  });
  const states = Object.fromEntries(pool.servers.map((each) => [each.name, each.state]));
  assert.deepEqual(states, {
    http: 'ready',
    'http v2': 'ready',
    sse: 'ready',
    'sse v2': 'ready',
    'fallback to sse': 'ready',
    'no fallback': 'failed',
    'not there': 'failed',
  });
  const ready = pool.servers.filter((each) => each.state === 'ready');
  await Promise.all(
    ready.map(async (each) =>
      assert.equal(await said(pool, each.name, 'echo', { message: 'hi' }), 'Echo: hi'),
    ),
  );
  sse.kill();
  await waitUntil(() => pool.server('sse').state === 'dead' && pool.server('sse v2').state === 'dead');
  assert.equal(await said(pool, 'http', 'echo', { message: 'still' }), 'Echo: still');
});

test('a server of the 2026-07-28 protocol alone is spoken to with the newer client', async () => {
  await using http = await runServer((port) => [MODERN, String(port)]);
  const url = `http://127.0.0.1:${http.port}/mcp`;
  const config = {
    mcpServers: {
      stdio: node(MODERN),
      http: { url },
      'stdio v1': { ...node(MODERN), protocol: 'v1' },
      ...sized({}, { 'http v2': { url, protocol: 'v2' }, 'stdio v2': { ...node(MODERN), protocol: 'v2' } }),
    },
  };
  await using pool = await connectServers(config, { handlers: HANDLERS });
  for (const server of pool.servers.filter((each) => each.name !== 'stdio v1')) {
    assert.equal(server.error, undefined, server.name);
    assert.deepEqual([server.sdk, server.protocolVersion], ['v2', '2026-07-28'], server.name);
    const doubled = await pool.callTool(server.name, 'double', { n: 21 });
    assert.deepEqual(
      doubled.kind === 'ok' && doubled.result.structuredContent,
      { n: 42 },
      JSON.stringify(doubled),
    );
    assert.equal(await said(pool, server.name, 'ask'), 'hello Ada');
    assert.equal((await pool.callTool(server.name, 'double', { n: 'x' })).kind, 'tool_error');
  }
  assert.equal(pool.server('stdio v1').state, 'failed');
  assert.ok(pool.server('stdio v1').error);
});

test('tools that a server of the 2026-07-28 protocol adds are read again', async () => {
  const changed: string[] = [];
  await using pool = await connectServers(
    { mcpServers: { modern: node(MODERN) } },
    { onToolsChanged: (server) => changed.push(server.name) },
  );
  assert.equal(await said(pool, 'modern', 'grow'), 'grown');
  await waitUntil(() => changed.length > 0);
  assert.equal(await said(pool, 'modern', 'grown'), 'was not there before');
});

test('the config may be a file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'servers-'));
  try {
    const path = join(folder, 'server_config.json');
    writeFileSync(path, JSON.stringify({ mcpServers: { modern: { ...node(MODERN), protocol: 'v2' } } }));
    await using pool = await connectServers(path);
    assert.equal(pool.server('modern').state, 'ready');
    assert.throws(() => pool.server('other'), /There is no server "other"; the config names "modern"/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
