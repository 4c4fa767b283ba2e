/** LangChain and LangGraph, in applications made by this test. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { FreshApps, node24 } from '../support/fresh-app.ts';
import { assertNoContent, assertOneRun, assertStored, assertSums } from '../support/one-run.ts';
import { assertTaped } from '../support/taped-program.ts';

let apps: FreshApps;
let folder: string;
before(async () => {
  apps = await FreshApps.start();
  folder = await apps.frames();
});
after(() => apps[Symbol.asyncDispose]());

for (const isNewest of [false, true]) {
  for (const MODE of ['invoke', 'stream']) {
    test(`LangGraph, ${MODE}, Node ${isNewest ? 24 : 20}: a run is one trace, its output as without us`, async () => {
      const node = isNewest ? await node24() : undefined;
      const bare = await apps.run(folder, 'langgraph.mjs', { node, flags: [], env: { MODE } });
      const { code, stdout, stderr, spans, sums } = await apps.run(folder, 'langgraph.mjs', {
        node,
        env: { MODE },
        isStored: true,
      });
      assert.deepEqual([code, stdout, stderr], [bare.code, bare.stdout, bare.stderr]);
      assert.equal(stdout, 'done\n');
      const run = assertOneRun(spans);
      assertNoContent(spans);
      assertStored(sums, 2, '@langchain/mcp-adapters > echo');
      const root = run.find(({ parentSpanId }) => parentSpanId === '');
      assert.equal(root?.name, 'invoke_workflow LangGraph');
      assert.equal(root?.attributes['gen_ai.conversation.id'], 'thread-1');
    });
  }
}

test('LangGraph: a run that the limit of its graph ended has failed', async () => {
  const { stdout, spans } = await apps.run(folder, 'langgraph.mjs', {
    env: { MODE: 'limited' },
    isStored: true,
  });
  assert.equal(stdout, 'GraphRecursionError\n');
  const root = spans.find(({ name }) => name === 'invoke_workflow LangGraph');
  assert.equal(root?.status.code, 'ERROR');
});

test('a chain in CommonJS is one trace, with what its functions call themselves', async () => {
  const bare = await apps.run(folder, 'langchain.cjs', { flags: [] });
  const { code, stdout, stderr, spans, sums } = await apps.run(folder, 'langchain.cjs', { isStored: true });
  assert.deepEqual([code, stdout, stderr], [bare.code, bare.stdout, bare.stderr]);
  assert.equal(stdout, 'done\n');
  assertSums(sums, 2);
  assert.equal(new Set(spans.map(({ traceId }) => traceId)).size, 1);
  assert.deepEqual(spans.map(({ name }) => name).sort(), [
    'chat gpt-4o',
    'chat gpt-4o',
    'invoke_workflow RunnableSequence',
  ]);
});

test('LangGraph: a recorded program replays alike, and each departure is named', async () => {
  await assertTaped(apps, folder, 'tape-langgraph.mjs');
});
