import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { createContextKey, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace-node';
import { type Interaction, readInteractions, takeInteraction } from '../src/interaction/index.ts';
import { PROVIDERS, replayGhost, tryGhost } from './support/ghost.ts';
import { type HttpMcpServer, startHttpMcpServer } from './support/http-mcp-server.ts';
import { Telemetry } from './support/telemetry.ts';

readInteractions();

const interactions = new Map<string, Interaction>();
/** Where the span processor looks for governance fields. */
const GOVERNANCE = createContextKey('mcp-observatory governance');
const governed: [string, unknown][] = [];
/** Sees what travels beside a span, as the observatory's own processor does. */
const collector: SpanProcessor = {
  onStart: (span, parent) => void governed.push([span.name, parent.getValue(GOVERNANCE)]),
  onEnding: (span) => {
    const interaction = takeInteraction(span);
    if (interaction !== undefined) interactions.set(span.spanContext().spanId, interaction);
  },
  onEnd: () => undefined,
  forceFlush: () => Promise.resolve(),
  shutdown: () => Promise.resolve(),
};
const telemetry = new Telemetry(collector);
let mcp: HttpMcpServer;

before(async () => {
  mcp = await startHttpMcpServer();
});
beforeEach(() => {
  telemetry.reset();
  interactions.clear();
  governed.length = 0;
  mcp.metas.length = 0;
});
after(async () => {
  await mcp[Symbol.asyncDispose]();
  await telemetry.shutdown();
});

const CALL = { name: 'http__add', arguments: { a: 20, b: 22 } };

function spans(): { all: ReadableSpan[]; named: (name: string) => ReadableSpan[] } {
  const all = telemetry.spans;
  return { all, named: (name) => all.filter((span) => span.name === name) };
}

for (const { provider, model } of PROVIDERS) {
  test(`${provider}: one tree of spans: the agent, its plan, its chats, its calls, its backtracking`, async () => {
    await replayGhost(
      'spans/tree_of_spans',
      provider,
      [{ text: '1. add' }, { calls: [CALL] }, { calls: [{ name: 'http__refuse' }] }, { text: 'It is 42.' }],
      { serverConfig: { mcpServers: { http: { url: mcp.url } } }, plan: true, namespace: 'tester' },
    );
    const { all, named } = spans();
    const [agent] = named('invoke_agent tester');
    assert.ok(agent);
    assert.equal(agent.kind, SpanKind.INTERNAL);
    assert.equal(agent.attributes['gen_ai.usage.input_tokens'], 400);
    assert.deepEqual(all.map((span) => span.name).sort(), [
      'backtrack',
      `chat ${model}`,
      `chat ${model}`,
      `chat ${model}`,
      `chat ${model}`,
      'invoke_agent tester',
      'plan',
      'tools/call add',
      'tools/call refuse',
    ]);
    const [plan] = named('plan');
    const chats = named(`chat ${model}`);
    assert.equal(chats[0]?.parentSpanContext?.spanId, plan?.spanContext().spanId);
    for (const span of all) {
      assert.equal(span.spanContext().traceId, agent.spanContext().traceId);
      if (span !== agent && span !== chats[0]) {
        assert.equal(span.parentSpanContext?.spanId, agent.spanContext().spanId, span.name);
      }
    }
    const last = chats.at(-1);
    assert.equal(last?.kind, SpanKind.CLIENT);
    assert.equal(last?.attributes['gen_ai.operation.name'], 'chat');
    assert.equal(last?.attributes['gen_ai.request.model'], model);
    assert.equal(last?.attributes['gen_ai.usage.output_tokens'], 20);
    assert.equal(last?.attributes['server.address'], '127.0.0.1');
    assert.ok(Number(last?.attributes['gen_ai.response.time_to_first_chunk']) >= 0);
    const [refused] = named('tools/call refuse');
    assert.equal(refused?.attributes['error.type'], 'tool_error');
    assert.equal(refused?.status.code, SpanStatusCode.ERROR);
    assert.equal(refused?.attributes['mcp.method.name'], 'tools/call');
    assert.equal(
      named('backtrack')[0]?.attributes['observatory.recovery_action'],
      'retry_with_modified_arguments',
    );
  });
}

test('what was said goes beside the spans: context and failures for the signals, nothing private on them', async () => {
  await replayGhost(
    'spans/beside_the_spans',
    'anthropic',
    [{ calls: [CALL] }, { calls: [{ name: 'http__refuse' }] }, { text: 'It is 42.' }],
    {
      serverConfig: { mcpServers: { http: { url: mcp.url } } },
      userPrompt: 'What is the secret sum?',
    },
  );
  const last = spans().named('chat claude-sonnet-5-5').at(-1);
  const said = interactions.get(last?.spanContext().spanId ?? '');
  assert.match(said?.prompt ?? '', /What is the secret sum\?/);
  assert.equal(said?.answer, 'It is 42.');
  assert.equal(said?.retrievedContext, '42');
  assert.match(said?.toolResultSummary ?? '', /error: private detail: 4711/);
  assert.equal(said?.usage?.inputTokens, 100);
  const [tool] = spans().named('tools/call add');
  assert.deepEqual(interactions.get(tool?.spanContext().spanId ?? '')?.toolArguments, { a: 20, b: 22 });
  const exported = JSON.stringify(
    spans().all.map(({ name, attributes, status, events }) => ({ name, attributes, status, events })),
  );
  // No secret of digits alone: times in seconds stand there as well.
  for (const secret of ['secret sum', 'It is 42', 'private detail', '"a":20', 'test-key']) {
    assert.ok(!exported.includes(secret), secret);
  }
});

test('a run that a limit ended has failed, and its span says which limit in words of ours', async () => {
  await tryGhost('openai', [{ calls: [CALL], usage: { input: 900, output: 200 } }], {
    serverConfig: { mcpServers: { http: { url: mcp.url } } },
    maxTokens: 1000,
  });
  const [agent] = spans().named('invoke_agent mcp_ghost');
  assert.equal(agent?.attributes['observatory.stop_reason'], 'budget');
  assert.equal(agent?.attributes['error.type'], 'budget');
  assert.deepEqual(agent?.status, {
    code: SpanStatusCode.ERROR,
    message: 'The budget was used up and the answer is what was known by then',
  });
});

test('the trace goes on in the server, and a call made under an instrumented SDK adds no second span', async () => {
  await replayGhost('spans/trace_goes_on', 'openai', [{ calls: [CALL] }, { text: 'ok' }], {
    serverConfig: { mcpServers: { http: { url: mcp.url } } },
  });
  const [tool] = spans().named('tools/call add');
  const { traceId, spanId } = tool?.spanContext() ?? assert.fail();
  assert.deepEqual(
    mcp.metas.map((meta) => (meta as { traceparent?: string }).traceparent),
    [`00-${traceId}-${spanId}-01`],
  );
  // The SDK of Anthropic traces itself where a tracer provider is registered.
  telemetry.reset();
  await replayGhost('spans/nothing_called', 'anthropic', [{ text: 'ok' }], {
    serverConfig: { mcpServers: {} },
  });
  assert.deepEqual(
    spans()
      .all.map((span) => span.name)
      .sort(),
    ['chat claude-sonnet-5-5', 'invoke_agent mcp_ghost'],
  );
});

test('governance fields, and the id of the run, hold for every span of it', async () => {
  await replayGhost('spans/governance', 'openai', [{ calls: [CALL] }, { text: 'ok' }], {
    serverConfig: { mcpServers: { http: { url: mcp.url } } },
    govern: { riskTier: 'high', promptTemplateId: undefined },
  });
  const own = governed.filter(([name]) => /^(invoke_agent|chat|tools)/.test(name));
  assert.equal(own.length, 4);
  // The span of the run is there before its id.
  const runId = spans().named('invoke_agent mcp_ghost')[0]?.attributes['observatory.run_id'] as string;
  assert.match(runId, /^[\da-f-]{36}$/);
  for (const [name, fields] of own) {
    const expected = name.startsWith('invoke_agent') ? { riskTier: 'high' } : { riskTier: 'high', runId };
    assert.deepEqual(fields, expected, name);
  }
});

test('a failed model call is an error by its type and the word of its provider alone; retries are counted', async () => {
  await replayGhost('spans/failed_model', 'openai', () => ({ status: 503, text: 'private words' }), {
    serverConfig: { mcpServers: {} },
  });
  const [chat] = spans().named('chat gpt-5.4-mini');
  assert.equal(chat?.attributes['error.type'], '503');
  assert.equal(chat?.attributes['observatory.retries'], 1);
  assert.equal(chat?.status.message, 'server_error');
});

test('a call that nothing is made of, since its arguments are no JSON or nobody has its tool, is a call that failed', async () => {
  await tryGhost(
    'openai',
    [
      { calls: [{ name: 'http__add', arguments: '{"a": 20' as never }] },
      { calls: [{ name: 'http__fly', arguments: { to: 'the moon' } }] },
      { text: 'I could not.' },
    ],
    { serverConfig: { mcpServers: { http: { url: mcp.url } } } },
  );
  const made = ['execute_tool add', 'execute_tool http__fly'].flatMap((name) => spans().named(name));
  assert.deepEqual(
    made.map(({ attributes, status }) => [
      attributes['error.type'],
      attributes['mcp.method.name'],
      status.code,
    ]),
    [
      ['invalid_arguments', undefined, SpanStatusCode.ERROR],
      ['unknown_tool', undefined, SpanStatusCode.ERROR],
    ],
  );
  assert.ok(made.every((span) => !JSON.stringify(span.attributes).includes('moon')));
});

test('decisions of breaker and loop detector are events of the agent span', async () => {
  await replayGhost(
    'spans/loop_events',
    'openai',
    (seen) => (seen.body.tool_choice === 'none' ? { text: 'ok' } : { calls: [CALL] }),
    { serverConfig: { mcpServers: { http: { url: mcp.url } } }, maxIterations: 20 },
  );
  const [agent] = spans().named('invoke_agent mcp_ghost');
  assert.deepEqual(
    agent?.events.map((event) => [event.name, event.attributes?.['observatory.loop_decision']]),
    [
      ['loop', 'warn'],
      ['loop', 'stop'],
      ['limit', undefined],
    ],
  );
});
