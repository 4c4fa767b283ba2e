/** Real servers over HTTP, in a bundle and not: the same spans. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import {
  call,
  OPENING,
  post,
  rpc,
  run,
  seenBy,
  type Talks,
  TRACE,
  TRACEPARENT,
} from './support/http-requests.ts';
import { OtlpCollector } from './support/otlp-collector.ts';
import { tempDir } from './support/temp-dir.ts';

const resolve = (name: string) => fileURLToPath(import.meta.resolve(name));
/** One real server for each request. */
const REAL = `
import { createServer } from 'node:http';
import express from '${resolve('express')}';
import { z } from '${resolve('zod')}';
import { McpServer } from '${resolve('@modelcontextprotocol/sdk/server/mcp.js')}';
import { StreamableHTTPServerTransport } from '${resolve('@modelcontextprotocol/sdk/server/streamableHttp.js')}';
import { McpServer as McpServer2, WebStandardStreamableHTTPServerTransport as Web } from '${resolve('@modelcontextprotocol/server')}';
import { getRequestListener } from '${resolve('@hono/node-server')}';
const echo = ({ text }) => ({ content: [{ type: 'text', text }], isError: text === 'fail' });
const one = async (Kind, Transport, inputSchema) => {
  const server = new Kind({ name: 'real', version: '1' });
  server.registerTool('echo', { inputSchema }, echo);
  const transport = new Transport({ enableJsonResponse: process.argv[3] === 'json' });
  await server.connect(transport);
  return transport;
};
const shape = { text: z.string() };
const first = () => one(McpServer, StreamableHTTPServerTransport, shape);
const app = express().use(express.json());
const WAYS = {
  express: app.post('/mcp', async (req, res) => (await first()).handleRequest(req, res, req.body)),
  plain: async (req, res) => (await first()).handleRequest(req, res),
  'second line': getRequestListener(async (request) => (await one(McpServer2, Web, z.object(shape))).handleRequest(request)),
};
const server = createServer((req, res) => {
  if (req.url === '/end') res.end(() => setImmediate(() => process.exit()));
  else if (req.url === '/bye') res.end();
  else WAYS[process.argv[2]](req, res);
}).listen(0, '127.0.0.1', () => process.stderr.write('port ' + server.address().port));
`;

/** The SDK keeps the connection, whatever a request says. */
const BYE = Buffer.from('GET /bye HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
const REAL_TALKS: Talks = [
  OPENING,
  call(1, 'hi', { _meta: { traceparent: TRACEPARENT } }),
  call(2, 'fail'),
  rpc('tools/list', 3),
].map((message) => [[post('/mcp', message, { traceparent: TRACEPARENT }), BYE]]);

test('a bundled server has the spans that a hook gives it, and one whose SDK is hooked has them once', async () => {
  const folder = tempDir();
  const program = join(folder, 'server.mjs');
  writeFileSync(program, REAL);
  const bundled = join(folder, 'bundled.mjs');
  const build = await rolldown({ input: program, platform: 'node' });
  await build.write({ file: bundled, format: 'esm' });
  for (const way of ['express', 'plain', 'second line']) {
    for (const form of ['json', 'events']) {
      await using hooked = await OtlpCollector.start();
      await using seen = await OtlpCollector.start();
      const bare = await run(bundled, [way, form], undefined, REAL_TALKS);
      assert.deepEqual(await run(bundled, [way, form], seen.url, REAL_TALKS), bare);
      await run(program, [way, form], hooked.url, REAL_TALKS);
      assert.equal(seenBy(hooked).length, REAL_TALKS.length);
      assert.deepEqual(seenBy(seen), seenBy(hooked));
      // Of a request in the form of the web a hook does not see where it came from.
      const own = way === 'second line' ? [seen] : [seen, hooked];
      for (const { spans } of own)
        assert.equal(
          spans.every(({ traceId }) => traceId === TRACE),
          true,
          way,
        );
    }
  }
});
