import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { context, propagation, trace } from '@opentelemetry/api';
import { NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { tellStory } from '../src/cli/golden/inspect/index.ts';
import { type StoredCall, toolsByServer } from '../src/golden/from-trace/offered-tools.ts';
import { fromGoldenInput, goldenFromTrace, mcpGhost, readGolden } from '../src/golden/index.ts';
import type { GhostResult } from '../src/orchestrator/index.ts';
import { migrate, PostgresSpanExporter, type Queryable, traceIdToUuid } from '../src/postgres/index.ts';
import { ObservatorySpanProcessor } from '../src/processor/index.ts';
import { chainOf, type GhostTrial, PROVIDERS, scenarioServer, tryGhost } from './support/ghost.ts';
import type { Script } from './support/scripted-provider.ts';
import { newPGlite } from './support/templates.ts';

const SCRIPT: Script = [
  { text: 'I look for the customer.', calls: [{ name: 'scenario__find_customer', arguments: { id: 'x1' } }] },
  { status: 429, errorType: 'rate_limit_error', text: 'slow down', headers: { 'retry-after-ms': '1' } },
  {
    text: 'Another id.',
    calls: [
      { name: 'scenario__find_customer', arguments: { id: 'C1' } },
      { name: 'scenario__add', arguments: { a: 20, b: 22 } },
    ],
  },
  { text: 'Ada, and 42.' },
];

let folder: string;
let db: Queryable & { close(): Promise<void> };

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'from-trace-test-'));
  db = (await newPGlite()) as typeof db;
  await migrate(db);
});
after(async () => {
  await db.close();
  await rm(folder, { recursive: true, force: true });
});

/** Runs once with its spans in the table, and gives the trace's id. */
async function traced(
  provider: string,
  options: { captureContent: boolean; script?: Script; ghost?: Parameters<typeof tryGhost>[2] },
): Promise<GhostTrial & { traceId: string }> {
  const exporter = new PostgresSpanExporter({ connection: db });
  const tracing = new NodeTracerProvider({
    spanProcessors: [
      new ObservatorySpanProcessor({ captureContent: options.captureContent }),
      new SimpleSpanProcessor(exporter),
    ],
  });
  tracing.register();
  try {
    let traceId = '';
    const trial = await trace.getTracer('test').startActiveSpan('request', async (span) => {
      traceId = span.spanContext().traceId;
      try {
        return await tryGhost(provider, options.script ?? SCRIPT, {
          serverConfig: { mcpServers: { scenario: scenarioServer() } },
          ...options.ghost,
        });
      } finally {
        span.end();
      }
    });
    return { ...trial, traceId };
  } finally {
    await tracing.shutdown();
    trace.disable();
    context.disable();
    propagation.disable();
  }
}

async function replay(path: string): Promise<GhostResult> {
  const golden = await readGolden(path);
  return await mcpGhost({ ...fromGoldenInput(golden.input), golden: { mode: 'replay', path } });
}

for (const { provider } of PROVIDERS) {
  test(`${provider}: a stored run with a failed call becomes a golden that replays to the same end`, async () => {
    const { traceId, result } = await traced(provider, { captureContent: true });
    const path = join(folder, `${provider}.json`);
    const golden = await goldenFromTrace(db, { traceId, path });
    assert.equal(golden.source, 'scripted', 'the model was on this machine');
    assert.equal(golden.category, 'error_recovery');
    assert.equal(golden.input.system_prompt, 'You are a test.');
    assert.equal(golden.input.user_prompt, 'Do the task.');
    assert.deepEqual(
      golden.mcp_cassette?.calls.map((call) => `${call.server} ${JSON.stringify(call.arguments)}`).sort(),
      ['scenario {"a":20,"b":22}', 'scenario {"id":"C1"}', 'scenario {"id":"x1"}'],
    );
    const again = await replay(path);
    assert.deepEqual(chainOf(again), chainOf(result));
    assert.equal(again.finalResult, result.finalResult);
    assert.deepEqual(again.errors, result.errors);
    assert.deepEqual(
      again.conversationHistory.map(({ role, content }) => [role, content]),
      result.conversationHistory.map(({ role, content }) => [role, content]),
    );
    const { promptTokens, completionTokens } = result.executionMetadata.tokenUsage;
    assert.equal(again.executionMetadata.tokenUsage.promptTokens, promptTokens);
    assert.equal(again.executionMetadata.tokenUsage.completionTokens, completionTokens);
    const story = tellStory(golden);
    assert.ok(story.failures.some(({ what }) => what === 'scenario.find_customer'));
    assert.ok((story.totals.modelMs ?? 0) > 0, 'times are those of the spans');
  });
}

test('a plan, a source and a name are kept; ids may be UUIDs; nothing is left behind', async () => {
  const { traceId, result } = await traced('openai', {
    captureContent: true,
    script: [
      { text: '1. add the numbers' },
      { calls: [{ name: 'scenario__add', arguments: { a: 1, b: 2 } }] },
      { text: 'Three.' },
    ],
    ghost: { serverConfig: { mcpServers: { scenario: scenarioServer() } }, plan: true, systemPrompt: '' },
  });
  const path = join(folder, 'planned.json');
  const { rows } = await db.query(
    "SELECT span_id::text AS id FROM mcp_traces WHERE trace_id = $1 AND operation = 'invoke_agent'",
    [traceIdToUuid(traceId)],
  );
  const temporary = await mkdtemp(join(folder, 'tmp-'));
  const before = process.env.TMPDIR;
  process.env.TMPDIR = temporary;
  const golden = await goldenFromTrace(db, {
    traceId: traceIdToUuid(traceId) ?? '',
    spanId: String(rows[0]?.id),
    path,
    testName: 'sum',
    source: 'recorded',
    category: 'edge_case',
  });
  if (before === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = before;
  assert.deepEqual(await readdir(temporary), []);
  assert.deepEqual([golden.test_name, golden.source, golden.category], ['sum', 'recorded', 'edge_case']);
  assert.equal(golden.golden_output.plan, result.plan);
  assert.equal((await replay(path)).finalResult, 'Three.');
});

test('a run traced without content is refused, naming the option to enable', async () => {
  const { traceId } = await traced('openai', { captureContent: false });
  const path = join(folder, 'none.json');
  await assert.rejects(goldenFromTrace(db, { traceId, path }), {
    code: 'TRACE_UNUSABLE',
    message: /holds no whole content: .*captureContent: true/,
  });
  await assert.rejects(readGolden(path), { code: 'GOLDEN_UNREADABLE' });
});

test('an invalid trace id, an unknown trace and a trace without a run are different errors', async () => {
  const path = join(folder, 'none.json');
  await assert.rejects(goldenFromTrace(db, { traceId: 'abc', path }), { code: 'INVALID_OPTION' });
  await assert.rejects(goldenFromTrace(db, { traceId: 'f'.repeat(32), path }), /holds no span of the trace/);
  const { traceId } = await traced('openai', { captureContent: true });
  await assert.rejects(goldenFromTrace(db, { traceId, path, spanId: '00f067aa0ba902b7' }), /no finished run/);
  await db.query("DELETE FROM mcp_traces WHERE trace_id = $1 AND operation = 'invoke_agent'", [
    traceIdToUuid(traceId),
  ]);
  const { runner, description } = await goldenFromTrace(db, { traceId, path });
  assert.equal(runner, 'other', 'what is left is taken for that of any program');
  assert.match(description, /It lacks: parameters of requests/);
});

test('content that a length limit cut off, and a run that would take another course, are refused by name', async () => {
  const path = join(folder, 'none.json');
  const cut = await traced('openai', { captureContent: true });
  await db.query(
    `UPDATE mcp_traces SET attributes = jsonb_set(attributes, '{gen_ai.output.messages}', '"[{\\"role\\":\\"assi"')
     WHERE trace_id = $1 AND operation = 'chat'`,
    [traceIdToUuid(cut.traceId)],
  );
  await assert.rejects(
    goldenFromTrace(db, { traceId: cut.traceId, path }),
    /holds no whole content: .*VALUE_LENGTH_LIMIT/,
  );
  const other = await traced('openai', { captureContent: true });
  await db.query(
    `UPDATE mcp_traces SET attributes = jsonb_set(attributes, '{gen_ai.tool.call.result}',
       '"{\\"content\\":[{\\"type\\":\\"text\\",\\"text\\":\\"43\\"}]}"')
     WHERE trace_id = $1 AND span_name = 'tools/call add'`,
    [traceIdToUuid(other.traceId)],
  );
  await assert.rejects(
    goldenFromTrace(db, { traceId: other.traceId, path }),
    /another course[\s\S]*expected "42", got "43"/,
  );
});

test('of two servers with a tool of one name, each gets its own definition', () => {
  const stored = (server: string, args: object) => {
    const call = { server, tool: 'add', arguments: args, outcome: 'result', duration_ms: 1 };
    return { span: { attributes: {} }, call } as unknown as StoredCall;
  };
  const calls = [stored('numbers', { a: 1 }), stored('words', { a: 'x' })];
  const asked = [
    { type: 'tool_call', name: 'two_add', arguments: '{"a":"x"}' },
    { type: 'tool_call', name: 'one_add', arguments: '{"a":1}' },
  ] as const;
  const offered = ['one', 'two'].map((of) => ({ name: `${of}_add`, description: of, parameters: {} }));
  for (const order of [asked, asked.toReversed()]) {
    const found = toolsByServer(offered, order, calls, false);
    const told = [...found].map(([server, tools]) => [server, tools.map(({ description }) => description)]);
    assert.deepEqual(told, [
      ['numbers', ['one']],
      ['words', ['two']],
    ]);
  }
});
