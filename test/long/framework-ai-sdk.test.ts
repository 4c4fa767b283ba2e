/** The AI SDK with its own MCP client, in both major versions, in applications made by this test. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { needsData } from '../support/data.ts';
import { FreshApps, node24 } from '../support/fresh-app.ts';
import { assertHolds, assertSameDecisions } from '../support/gate-doors.ts';
import { assertNoContent, assertOneRun, assertSums, isModelCall } from '../support/one-run.ts';
import { assertTaped } from '../support/taped-program.ts';

const VERSIONS = [
  { major: 7, isNewest: true },
  { major: 6, isNewest: false },
];
const OLDER = ['zod@4', '@modelcontextprotocol/sdk@1', 'ai@6', '@ai-sdk/openai@3', '@ai-sdk/mcp@1'];

/** How many model calls are paid for, how many traces there are, and how many spans are errors. */
const CASES = [
  { CASE: 'nested', output: 'done', calls: 3, traces: 1, red: 0 },
  { CASE: 'failing tool', output: 'done', calls: 2, traces: 1, red: 1 },
  { CASE: 'failing model', output: 'AI_APICallError', calls: 0, traces: 1, red: 2 },
  { CASE: 'aborted', output: 'AbortError', calls: 0, traces: 1, red: 2 },
  { CASE: 'parallel', output: 'done,done,done', calls: 3, traces: 3, red: 0 },
];

let apps: FreshApps;
before(async () => {
  apps = await FreshApps.start();
});
after(() => apps[Symbol.asyncDispose]());

const folders = new Map<number, Promise<string>>();

/** The application with this version, made once. */
function installed(major: number): Promise<string> {
  const folder = folders.get(major) ?? (major === 7 ? apps.frames() : apps.install('ai-6', OLDER));
  folders.set(major, folder);
  return folder;
}

for (const { major, isNewest } of VERSIONS) {
  test(`AI SDK ${major}: a run is one trace, each call once, its output as without us`, async () => {
    const folder = await installed(major);
    const node = isNewest ? await node24() : undefined;
    for (const MODE of ['plain', 'stream']) {
      const bare = await apps.run(folder, 'ai-sdk.mjs', { node, flags: [], env: { MODE } });
      const { code, stdout, stderr, spans, sums } = await apps.run(folder, 'ai-sdk.mjs', {
        node,
        env: { MODE },
        isStored: true,
      });
      assert.deepEqual([code, stdout, stderr], [bare.code, bare.stdout, bare.stderr]);
      assert.equal(stdout, 'done\n');
      assertOneRun(spans);
      assertNoContent(spans);
      assertSums(sums, 2);
      const hashed = spans.filter(({ attributes }) => attributes['observatory.prompt_hash'] !== undefined);
      assert.ok(hashed.length >= 2, 'prompts are hashed');
      const clients = spans.filter(({ kind }) => kind === 'CLIENT').map(({ name }) => name);
      for (const name of ['initialize', 'tools/list']) assert.ok(clients.includes(name), name);
    }
  });

  for (const { CASE, output, calls, traces, red } of CASES) {
    test(`AI SDK ${major}, ${CASE}: one trace for a run, red where it failed, sums right`, async () => {
      const folder = await installed(major);
      const node = isNewest ? await node24() : undefined;
      const env = { CASE };
      const bare = await apps.run(folder, 'ai-sdk-runs.mjs', { node, flags: [], env });
      const { code, stdout, stderr, spans, sums } = await apps.run(folder, 'ai-sdk-runs.mjs', {
        node,
        env,
        isStored: true,
      });
      assert.deepEqual([code, stdout, stderr], [bare.code, bare.stdout, bare.stderr]);
      assert.equal(stdout, `${output}\n`);
      assertSums(sums, calls);
      assert.equal(new Set(spans.map(({ traceId }) => traceId)).size, traces);
      assert.equal(spans.filter(({ parentSpanId }) => parentSpanId === '').length, traces);
      assert.equal(spans.filter(isModelCall).length, Math.max(calls, 1));
      assert.equal(spans.filter(({ status }) => status.code === 'ERROR').length, red);
    });
  }
}

test('AI SDK 7: a call that the SDK does not make, since its arguments are no JSON, is a call that failed', async () => {
  const { stdout, spans } = await apps.run(await installed(7), 'ai-sdk-runs.mjs', {
    node: await node24(),
    env: { CASE: 'broken arguments' },
    isStored: true,
  });
  assert.equal(stdout, 'done\n');
  const red = spans.filter(({ status }) => status.code === 'ERROR').map(({ name, status }) => [name, status]);
  assert.deepEqual(red, [['execute_tool asker', { code: 'ERROR', message: 'AI_InvalidToolInputError' }]]);
  assertNoContent(spans);
});

test('AI SDK 6: gated tools get the decisions of the gate', needsData('policy'), async () => {
  await assertSameDecisions(apps, await installed(6), 'ai-6');
});

for (const [major, door] of [
  [6, 'ai-6'],
  [7, 'ai-7'],
  [7, 'ai-7-approval'],
  [7, 'ai-7-both'],
] as const)
  test(`AI SDK ${major}: a call is held for a person by ${door}`, async () => {
    await assertHolds(apps, await installed(major), door);
  });

test('AI SDK 7: a recorded program replays alike, and each departure is named', async () => {
  const folder = await installed(7);
  await assertTaped(apps, folder, 'tape-ai-sdk.mjs');
});
