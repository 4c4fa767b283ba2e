/** The Claude Agent SDK with the program that comes with it, in an application made by this test. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { FreshApps } from '../support/fresh-app.ts';
import { assertNoContent, assertSums, isModelCall } from '../support/one-run.ts';
import type { CollectedSpan } from '../support/otlp-collector.ts';

/** Of a call of 100 tokens in and 10 out, at $3 and $15 for a million. */
const COST_USD = 0.000_45;

let apps: FreshApps;
let folder: string;
before(async () => {
  apps = await FreshApps.start();
  const packages = ['@anthropic-ai/claude-agent-sdk@0.3.330', '@modelcontextprotocol/sdk@1', 'zod@4'];
  folder = await apps.install('claude-agent', packages);
});
after(() => apps[Symbol.asyncDispose]());

/** Runs a case without us and with us, and gives its spans. */
async function runCase(CASE: string, calls: number): Promise<readonly CollectedSpan[]> {
  const env = { CASE };
  const bare = await apps.run(folder, 'claude-agent.mjs', { flags: [], env });
  const { code, stdout, stderr, spans, sums } = await apps.run(folder, 'claude-agent.mjs', {
    env,
    isStored: true,
  });
  const shown = (text: string) => (CASE === 'parallel' ? text.split('\n').sort() : text);
  assert.deepEqual([code, shown(stdout), stderr], [bare.code, shown(bare.stdout), bare.stderr]);
  assert.match(stdout, /^result success done$/m);
  assertNoContent(spans);
  assertSums(sums, calls, COST_USD);
  return spans;
}

/** One trace below one root: two calls of the model, and in between one of the tool, chosen by the first. */
function assertOneQuery(spans: readonly CollectedSpan[]): void {
  const roots = spans.filter(({ parentSpanId }) => parentSpanId === '');
  assert.deepEqual(
    roots.map(({ name }) => name),
    ['invoke_agent'],
  );
  assert.ok(roots[0]?.attributes['gen_ai.conversation.id'], 'the session is named');
  const models = spans.filter(isModelCall);
  assert.deepEqual(
    models.map(({ name }) => name),
    ['chat claude-sonnet-4-5', 'chat claude-sonnet-4-5'],
  );
  const tools = spans.filter(({ name }) => name === 'execute_tool echo');
  assert.equal(tools.length, 1);
  assert.equal(tools[0]?.attributes['observatory.mcp.server.name'], 'echo');
  assert.ok(
    models.some(({ spanId }) => spanId === tools[0]?.links[0]?.spanId),
    'linked',
  );
  for (const { parentSpanId } of [...models, ...tools]) assert.equal(parentSpanId, roots[0]?.spanId);
  assert.equal(spans.length, 4);
}

for (const CASE of ['plain', 'partial messages']) {
  test(`Claude Agent SDK, ${CASE}: a query is one trace, its messages as without us`, async () => {
    assertOneQuery(await runCase(CASE, 2));
  });
}

test('Claude Agent SDK: a failed tool is red, its query is not', async () => {
  const spans = await runCase('failing tool', 2);
  assertOneQuery(spans);
  const red = spans.filter(({ status }) => status.code === 'ERROR').map(({ name }) => name);
  assert.deepEqual(red, ['execute_tool echo']);
});

test('Claude Agent SDK: parallel queries are traces of their own', async () => {
  const spans = await runCase('parallel', 4);
  const traces = new Set(spans.map(({ traceId }) => traceId));
  assert.equal(traces.size, 2);
  for (const trace of traces) assertOneQuery(spans.filter(({ traceId }) => traceId === trace));
});

test('Claude Agent SDK: each model call of a subagent is a span below the tool call that started it', async () => {
  apps.provider.requests.length = 0;
  const env = { CASE: 'subagent' };
  const { code, stderr, spans, sums } = await apps.run(folder, 'claude-agent.mjs', { env, isStored: true });
  assert.equal(code, 0, stderr);
  // It works in the background: how often the main agent asks depends on when it is told of the end.
  const asked = apps.provider.requests.filter(({ path }) => path.startsWith('/v1/messages?')).length;
  assertSums(sums, asked, COST_USD);
  assertNoContent(spans);
  assert.equal(new Set(spans.map(({ traceId }) => traceId)).size, 1);
  const starter = spans.find(({ name }) => name === 'execute_tool Agent');
  const below = spans.filter(({ parentSpanId }) => parentSpanId === starter?.spanId);
  const models = below.filter(isModelCall);
  assert.deepEqual(
    models.map(({ attributes }) => attributes['gen_ai.usage.input_tokens']),
    [100, 100],
  );
  const echo = below.find(({ name }) => name === 'execute_tool echo');
  assert.ok(
    models.some(({ spanId }) => spanId === echo?.links[0]?.spanId),
    'linked',
  );
});
