/** The AI SDK with its own MCP client, in both major versions, in applications made by this test. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { FreshApps, node24 } from '../support/fresh-app.ts';
import { assertNoContent, assertOneRun } from '../support/one-run.ts';

const COMMON = ['zod@4', '@modelcontextprotocol/sdk@1'];
const VERSIONS = [
  { major: 7, packages: ['ai@7', '@ai-sdk/openai@4', '@ai-sdk/mcp@2'], isNewest: true },
  { major: 6, packages: ['ai@6', '@ai-sdk/openai@3', '@ai-sdk/mcp@1'], isNewest: false },
];

let apps: FreshApps;
before(async () => {
  apps = await FreshApps.start();
});
after(() => apps[Symbol.asyncDispose]());

for (const { major, packages, isNewest } of VERSIONS) {
  test(`AI SDK ${major}: a run is one trace, each call once, its output as without us`, async () => {
    const folder = await apps.install(`ai-${major}`, [...COMMON, ...packages]);
    const node = isNewest ? await node24() : undefined;
    for (const MODE of ['plain', 'stream']) {
      const bare = await apps.run(folder, 'ai-sdk.mjs', { node, flags: [], env: { MODE } });
      const { code, stdout, stderr, spans } = await apps.run(folder, 'ai-sdk.mjs', { node, env: { MODE } });
      assert.deepEqual([code, stdout, stderr], [bare.code, bare.stdout, bare.stderr]);
      assert.equal(stdout, 'done\n');
      assertOneRun(spans);
      assertNoContent(spans);
      const hashed = spans.filter(({ attributes }) => attributes['observatory.prompt_hash'] !== undefined);
      assert.ok(hashed.length >= 2, 'prompts are hashed');
      const clients = spans.filter(({ kind }) => kind === 'CLIENT').map(({ name }) => name);
      for (const name of ['initialize', 'tools/list']) assert.ok(clients.includes(name), name);
    }
  });
}
