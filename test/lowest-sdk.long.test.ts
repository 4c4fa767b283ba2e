/** Remote MCP servers with the lowest SDK that the package allows, and with one below it, in projects of their own. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { Consumers } from './support/consumer.ts';

const run = promisify(execFile);

const PROGRAM = `
import { createServer } from 'node:http';
import { once } from 'node:events';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { connectServers } from 'mcp-observatory/orchestrator';

const makeServer = () => {
  const server = new McpServer({ name: 'here', version: '1' });
  server.tool('hello', () => ({ content: [{ type: 'text', text: 'hi' }] }));
  return server;
};
let sse;
const http = createServer(async (request, response) => {
  if (request.url === '/mcp') {
    const { StreamableHTTPServerTransport } = await import('@modelcontextprotocol/sdk/server/streamableHttp.js');
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
    await makeServer().connect(transport);
    return transport.handleRequest(request, response);
  }
  if (request.method === 'POST') return sse.handlePostMessage(request, response);
  sse = new SSEServerTransport('/sse', response);
  await makeServer().connect(sse);
}).listen(0, '127.0.0.1');
await once(http, 'listening');
const at = 'http://127.0.0.1:' + http.address().port;
const answers = {};
for (const type of ['http', 'sse']) {
  const path = type === 'http' ? '/mcp' : '/sse';
  const pool = await connectServers({ mcpServers: { remote: { type, url: at + path } } });
  const { error } = pool.servers[0];
  const outcome = error ? undefined : await pool.callTool('remote', 'hello', {});
  answers[type] = error ? error.message : outcome.result.content[0].text;
  await pool.close();
}
console.log(JSON.stringify(answers));
process.exit();
`;

/** The first whose transports take a `fetch`. Its calls are traced from 1.9 on, and older ones install beside us. */
const lowest = '1.15.0';

let consumers: Consumers;
let folder: string;
before(async () => {
  consumers = await Consumers.pack();
  const packages = [`@modelcontextprotocol/sdk@${lowest}`, '@opentelemetry/api@1.9.1'];
  folder = await consumers.install('lowest', packages);
  await writeFile(join(folder, 'remote.mjs'), PROGRAM);
});
after(() => consumers[Symbol.asyncDispose]());

async function answers(): Promise<unknown> {
  return JSON.parse((await run('node', ['remote.mjs'], { cwd: folder })).stdout);
}

test(`the lowest SDK for remote servers, ${lowest}, reaches servers over HTTP and over SSE`, async () => {
  assert.deepEqual(await answers(), { http: 'hi', sse: 'hi' });
});

test('an SDK below that installs, and is named in the error with what to install', async () => {
  const error =
    "A remote MCP server needs the package '@modelcontextprotocol/sdk', whose installed version is too old for it. " +
    'Run: npm install @modelcontextprotocol/sdk@^1.15.0';
  const older = ['install', '--no-audit', '--no-fund', '@modelcontextprotocol/sdk@1.9.0'];
  await run('npm', older, { cwd: folder });
  assert.deepEqual(await answers(), { http: error, sse: error });
});
