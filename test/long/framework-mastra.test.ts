/** Mastra, in an application made by this test. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { FreshApps } from '../support/fresh-app.ts';
import { assertNoContent, assertOneRun, assertSums, isModelCall } from '../support/one-run.ts';
import type { CollectedSpan } from '../support/otlp-collector.ts';
import { assertTaped } from '../support/taped-program.ts';

let apps: FreshApps;
let folder: string;
before(async () => {
  apps = await FreshApps.start();
  // The packages ask for Node 22 and run in Node 20.
  folder = await apps.frames();
});
after(() => apps[Symbol.asyncDispose]());

for (const OBSERVABILITY of ['none', 'own']) {
  for (const MODE of ['plain', 'stream']) {
    test(`Mastra, ${MODE}, observability: ${OBSERVABILITY}: a run is one trace, its output as without us`, async () => {
      const env = { MODE, OBSERVABILITY };
      const bare = await apps.run(folder, 'mastra.mjs', { flags: [], env });
      const { code, stdout, stderr, spans, sums } = await apps.run(folder, 'mastra.mjs', {
        env,
        isStored: true,
      });
      assert.deepEqual([code, stdout, stderr], [bare.code, bare.stdout, bare.stderr]);
      assert.equal(stdout, 'done\n');
      const run = assertOneRun(spans);
      assertNoContent(spans);
      assertSums(sums, 2);
      assert.equal(run.find(({ parentSpanId }) => parentSpanId === '')?.name, 'invoke_agent greeter');
    });
  }
}

/** Runs a case without us and with us, and gives its spans. */
async function runCase(CASE: string, output: string, calls: number): Promise<readonly CollectedSpan[]> {
  const env = { CASE };
  const bare = await apps.run(folder, 'mastra-runs.mjs', { flags: [], env });
  const { code, stdout, stderr, spans, sums } = await apps.run(folder, 'mastra-runs.mjs', {
    env,
    isStored: true,
  });
  assert.deepEqual([code, stdout, stderr], [bare.code, bare.stdout, bare.stderr]);
  assert.equal(stdout, `${output}\n`);
  assertSums(sums, calls);
  return spans;
}

const parentOf = (span: CollectedSpan | undefined, spans: readonly CollectedSpan[]) =>
  spans.find(({ spanId }) => spanId === span?.parentSpanId);

for (const [CASE, tool] of [
  ['delegated', 'agent-inner'],
  ['inside a tool', 'asker'],
] as const) {
  test(`Mastra: an agent ${CASE} is part of the trace`, async () => {
    const spans = await runCase(CASE, 'done', 3);
    assert.equal(new Set(spans.map(({ traceId }) => traceId)).size, 1);
    assert.equal(spans.filter(({ parentSpanId }) => parentSpanId === '').length, 1);
    const inner = spans.find(({ name }) => name === 'invoke_agent inner');
    const caller = parentOf(inner, spans);
    assert.equal(caller?.name, `execute_tool ${tool}`);
    assert.equal(parentOf(caller, spans)?.name, 'invoke_agent outer');
    assert.equal(spans.filter(isModelCall).length, 3);
  });
}

test('Mastra: a failed tool is red, its run is not', async () => {
  const spans = await runCase('failing tool', 'done', 2);
  const red = spans.filter(({ status }) => status.code === 'ERROR').map(({ name }) => name);
  assert.deepEqual(red, ['execute_tool asker']);
});

for (const [CASE, output, model] of [
  ['failing model', 'AI_APICallError', 'broken'],
  ['aborted', '', 'slow'],
] as const) {
  test(`Mastra, ${CASE}: the call and its run are red`, async () => {
    const env = { CASE };
    const { code, stdout, spans } = await apps.run(folder, 'mastra-runs.mjs', { env });
    assert.deepEqual([code, stdout], [0, `${output}\n`]);
    const red = spans.filter(({ status }) => status.code === 'ERROR').map(({ name }) => name);
    assert.deepEqual(red.sort(), [`chat ${model}`, 'invoke_agent outer']);
  });
}

test('Mastra: parallel runs are traces of their own', async () => {
  const spans = await runCase('parallel', 'done,done,done', 3);
  const roots = spans.filter(({ parentSpanId }) => parentSpanId === '');
  assert.deepEqual(roots.map(({ name }) => name).sort(), [
    'invoke_agent a',
    'invoke_agent b',
    'invoke_agent c',
  ]);
  assert.equal(new Set(roots.map(({ traceId }) => traceId)).size, 3);
  for (const call of spans.filter(isModelCall))
    assert.ok(roots.some(({ spanId }) => spanId === call.parentSpanId));
});

test('Mastra: the agents of a workflow are in its trace', async () => {
  const spans = await runCase('workflow', 'success', 1);
  const [call] = spans.filter(isModelCall);
  const agent = parentOf(call, spans);
  assert.equal(agent?.name, 'invoke_agent inner');
  const flow = parentOf(agent, spans);
  assert.deepEqual([flow?.name, flow?.parentSpanId], ['invoke_workflow flow', '']);
});

test('Mastra: a recorded program replays alike, and each departure is named', async () => {
  await assertTaped(apps, folder, 'tape-mastra.mjs');
});
