/** Hostile MCP servers against the built package in programs of their own, and against the SDKs that may be installed. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Consumers } from './support/consumer.ts';
import { startRedirecting } from './support/redirecting-server.ts';

const run = promisify(execFile);

test('a server that asks and reads no answers is given up by every client, on a heap of 100 MB', async () => {
  const program = fileURLToPath(new URL('./support/flooded-host-process.js', import.meta.url));
  const doors = ['pool', 'host', 'client v1', 'client v2'];
  const ended = await Promise.all(
    doors.map((door) => run(process.execPath, ['--max-old-space-size=100', program, door])),
  );
  for (const [i, { stdout }] of ended.entries()) {
    const { end, grownMb } = JSON.parse(stdout) as { end: string; grownMb: number };
    assert.match(end, /the server asks and does not read: \d+ answers to its requests wait/, doors[i]);
    assert.ok(grownMb < 150, `${doors[i]} grew by ${grownMb.toFixed(0)} MB`);
  }
});

/** Calls a tool of the server at `url` with each client, and says how that ended. */
const PROGRAM = `
import { connectServers } from 'mcp-observatory/orchestrator';
const [url, protocol] = process.argv.slice(2);
const pool = await connectServers({ mcpServers: { s: { url, protocol, headers: { 'x-api-key': 'secret' } } } });
const [server] = pool.servers;
const outcome = server.state === 'ready' ? await server.callTool('t', {}) : server.error;
console.log(outcome.message ?? outcome.kind);
await pool.close();
`;

test('the packed package stays within the origin with every SDK, and refuses those that it cannot keep there', async () => {
  await using consumers = await Consumers.pack();
  await using server = await startRedirecting(({ what, elsewhere }) =>
    what === 'initialize' || what === 'tools/list' || what.startsWith('notifications/')
      ? undefined
      : [307, `${elsewhere}/latest/meta-data`],
  );
  const sdks = [
    ['v1', '@modelcontextprotocol/sdk@1.14.0', /needs @modelcontextprotocol\/sdk@\^1\.15\.0/],
    ['v1', '@modelcontextprotocol/sdk@1.15.0', /redirects to http/],
    ['v1', '@modelcontextprotocol/sdk@1.31.0', /redirects to http/],
    ['v2', '@modelcontextprotocol/client@2.0.0', /redirects to http/],
  ] as const;
  for (const [protocol, sdk, expected] of sdks) {
    const otel = ['@opentelemetry/api@^1.9', '@opentelemetry/sdk-trace-node@^2.12'];
    const folder = await consumers.install(sdk.replace(/\W/g, '-'), [...otel, sdk], false);
    const program = join(folder, 'redirected.mjs');
    await writeFile(program, PROGRAM);
    const { stdout } = await run(process.execPath, [program, server.url, protocol], { cwd: folder });
    assert.match(stdout, expected, sdk);
  }
  assert.deepEqual(server.reachedElsewhere, []);
});
