/** A server of FastMCP, in an application made by this test. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { freePort } from '../support/free-port.ts';
import { FreshApps } from '../support/fresh-app.ts';

let apps: FreshApps;
let folder: string;
before(async () => {
  apps = await FreshApps.start();
  folder = await apps.frames();
});
after(() => apps[Symbol.asyncDispose]());

test('FastMCP: a call is one trace of client and server, both named', async () => {
  const MCP_PORT = String(await freePort());
  const bare = await apps.run(folder, 'fastmcp.mjs', { flags: [], env: { MCP_PORT } });
  const { code, stdout, stderr, spans } = await apps.run(folder, 'fastmcp.mjs', { env: { MCP_PORT } });
  assert.equal(code, 0, stderr);
  // Its log names the session, whose id is random; what it says of slow clients depends on the time.
  const withoutIds = (text: string) => text.replace(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, 'ID');
  assert.deepEqual([code, withoutIds(stdout)], [bare.code, withoutIds(bare.stdout)]);
  assert.match(stdout, /^said: hi$/m);
  const calls = spans.filter(({ name }) => name === 'tools/call echo');
  assert.deepEqual(calls.map(({ kind }) => kind).sort(), ['CLIENT', 'SERVER']);
  const [client, server] = ['CLIENT', 'SERVER'].map((kind) => calls.find((span) => span.kind === kind));
  assert.equal(server?.parentSpanId, client?.spanId);
  assert.equal(client?.parentSpanId, '');
  for (const span of [client, server]) {
    assert.equal(span?.attributes['observatory.mcp.client.name'], 'app');
    assert.equal(span?.attributes['observatory.mcp.server.name'], 'fast');
  }
});
