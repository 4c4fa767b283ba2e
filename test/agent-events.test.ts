/** What coding agents send as OTLP logs becomes spans of runs. The events are documented ones, see agent-events.ts. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { agentSettingsText } from '../src/cli/agent-settings.ts';
import { readAgentEvents, readAgentSpans } from '../src/collector/agents/index.ts';
import { DecodeError, decodeJson, decodeLogsJson, decodeLogsProtobuf } from '../src/otlp/index.ts';
import {
  CLAUDE_CODE,
  CODEX,
  COPILOT_EVENTS,
  type DocumentedEvent,
  GEMINI_CLI,
  logsRequest,
  STARTED_MS,
} from './support/agent-events.ts';
import { encodeLogsProtobuf } from './support/otlp-encode.ts';

const json = (request: object) => Buffer.from(JSON.stringify(request));
const read = (request: object) => readAgentEvents(decodeLogsJson(json(request), 1000).logs);
const spansIn = async (request: object) => (await read(request)).spans;
const AGENTS = {
  'claude-code': { events: CLAUDE_CODE, named: 'body', rows: 7, ignored: 2 },
  codex: { events: CODEX, named: 'attribute', rows: 7, ignored: 3 },
  'gemini-cli': { events: GEMINI_CLI, named: 'field', rows: 5, ignored: 2 },
} as const;

for (const [agent, { events, named, rows, ignored }] of Object.entries(AGENTS)) {
  const request = logsRequest(agent, events, named);

  describe(`events of ${agent}`, () => {
    test('become the same spans in JSON and in protobuf, however often they are delivered', async () => {
      const once = await read(request);
      const again = await readAgentEvents(decodeLogsProtobuf(encodeLogsProtobuf(request), 1000).logs);
      const idsOf = (spans: typeof once.spans) => spans.map(({ spanId, traceId }) => traceId + spanId);
      assert.deepEqual(idsOf(again.spans), idsOf(once.spans));
      assert.deepEqual(
        again.spans.map(({ attributes, startTime }) => [attributes, startTime]),
        once.spans.map(({ attributes, startTime }) => [attributes, startTime]),
      );
      assert.equal(new Set(idsOf(once.spans)).size, rows);
      // One by one, as when each is in a batch of its own; then an answer has no call to join.
      const single = (
        await Promise.all(events.map((event) => spansIn(logsRequest(agent, [event], named))))
      ).flat();
      for (const id of idsOf(once.spans)) assert.ok(idsOf(single).includes(id), id);
    });

    test('are one run with its root, and the rest is counted', async () => {
      const { spans, ignored: left } = await read(request);
      assert.equal(left, ignored);
      assert.equal(new Set(spans.map(({ traceId }) => traceId)).size, 1);
      const [root, ...others] = spans;
      assert.equal(root?.parentSpanContext, undefined);
      assert.equal(root?.attributes['gen_ai.operation.name'], 'invoke_agent');
      for (const span of others) assert.equal(span.parentSpanContext?.spanId, root?.spanId);
      for (const { attributes } of spans) assert.equal(attributes['observatory.client_name'], agent);
    });
  });
}

test('an event starts when it was logged less what it took', async () => {
  const { spans } = await read(logsRequest('claude-code', CLAUDE_CODE, 'body'));
  const call = spans.find(({ attributes }) => attributes['gen_ai.response.id'] === 'req_011a');
  const at = (ms: number) => [Math.floor((STARTED_MS + ms) / 1000), ((STARTED_MS + ms) % 1000) * 1e6];
  assert.deepEqual([call?.startTime, call?.endTime, call?.duration], [at(100), at(2100), [2, 0]]);
});

test('tools, servers and failures are those of the events', async () => {
  const toolsOf = async (agent: keyof typeof AGENTS) =>
    (await spansIn(logsRequest(agent, AGENTS[agent].events, AGENTS[agent].named)))
      .filter(({ attributes }) => attributes['gen_ai.operation.name'] === 'execute_tool')
      .map(({ attributes: a, status }) => [
        a['gen_ai.tool.name'],
        a['observatory.mcp_server'] ?? null,
        a['error.type'] ?? null,
        status.message ?? null,
      ]);
  assert.deepEqual(await toolsOf('claude-code'), [
    ['Bash', null, 'ShellError', 'npm ERR! missing script: build'],
    ['get_log', 'ci', null, null],
    ['Write', null, 'rejected', 'user_reject'],
  ]);
  assert.deepEqual(await toolsOf('codex'), [
    ['shell', null, null, null],
    ['search_issues', 'github', 'tool_error', 'rate limited'],
  ]);
  assert.deepEqual(await toolsOf('gemini-cli'), [
    ['search_file_content', null, null, null],
    ['create_issue', 'github', 'mcp_tool_error', 'no such repository'],
  ]);
});

test('texts are kept only if they are sent: a withheld prompt is none', async () => {
  const promptsOf = async (agent: keyof typeof AGENTS) =>
    (await spansIn(logsRequest(agent, AGENTS[agent].events, AGENTS[agent].named))).filter(
      ({ attributes }) => attributes['gen_ai.input.messages'] !== undefined,
    ).length;
  assert.deepEqual(
    [await promptsOf('claude-code'), await promptsOf('codex'), await promptsOf('gemini-cli')],
    [1, 0, 1],
  );
});

test('an answer joins its model call in the same request', async () => {
  const answers = (await spansIn(logsRequest('claude-code', CLAUDE_CODE, 'body'))).filter(
    ({ attributes }) => attributes['gen_ai.output.messages'] !== undefined,
  );
  assert.equal(answers.length, 1);
  assert.equal(answers[0]?.attributes['gen_ai.usage.output_tokens'], 90);
});

test('events that repeat spans, and logs of other programs, are not stored', async () => {
  const others: DocumentedEvent[] = [
    ...COPILOT_EVENTS,
    { name: 'claude_code.unknown', at: 1, attributes: { 'session.id': 's' } },
    { name: 'codex.user_prompt', at: 1, attributes: { prompt: 'of no conversation' } },
    { name: 'constructor', at: 1, attributes: {} },
    { name: '__proto__', at: 1, attributes: {} },
  ];
  const { spans, ignored } = await read(logsRequest('copilot-chat', others, 'field'));
  assert.deepEqual([spans.length, ignored], [0, others.length]);
});

test('spans of Claude Code get the names of the conventions, those of Gemini CLI are left out', () => {
  const keyValues = (attributes: Record<string, string | number | boolean>) =>
    Object.entries(attributes).map(([key, value]) => ({
      key,
      value:
        typeof value === 'string'
          ? { stringValue: value }
          : typeof value === 'number'
            ? { intValue: value }
            : { boolValue: value },
    }));
  const span = (id: number, name: string, attributes: Record<string, string | number | boolean>) => ({
    traceId: 'ab'.repeat(16),
    spanId: `${id}`.padStart(16, '0'),
    name,
    attributes: keyValues({ 'session.id': 's-1', ...attributes }),
  });
  const claude = [
    span(1, 'claude_code.interaction', { user_prompt: '<REDACTED>' }),
    span(2, 'claude_code.llm_request', {
      model: 'claude-sonnet-4-5',
      input_tokens: 3,
      output_tokens: 12,
      cache_read_tokens: 11_000,
      cache_creation_tokens: 900,
      request_id: 'req_1',
    }),
    span(3, 'claude_code.tool', {
      tool_name: 'mcp__weather__get_weather',
      success: false,
      error: 'no such city',
    }),
    span(4, 'claude_code.tool.execution', { success: false }),
  ];
  const request = {
    resourceSpans: [
      {
        scopeSpans: [
          { scope: { name: 'com.anthropic.claude_code.tracing' }, spans: claude },
          {
            scope: { name: 'gemini-cli' },
            spans: [span(5, 'llm_call', { 'gen_ai.operation.name': 'llm_call' })],
          },
        ],
      },
    ],
  };
  const { spans, ignored } = readAgentSpans(decodeJson(json(request), 10).spans);
  assert.equal(ignored, 1);
  assert.deepEqual(
    spans.map(({ name, attributes: a, status }) => [
      name,
      a['gen_ai.operation.name'],
      a['gen_ai.usage.input_tokens'] ?? a['gen_ai.tool.name'],
      a['gen_ai.response.id'] ?? a['observatory.mcp_server'],
      a['gen_ai.input.messages'] ?? status.message,
    ]),
    [
      ['invoke_agent claude-code', 'invoke_agent', undefined, undefined, undefined],
      ['chat claude-sonnet-4-5', 'chat', 11_903, 'req_1', undefined],
      ['execute_tool get_weather', 'execute_tool', 'get_weather', 'weather', 'no such city'],
      ['claude_code.tool.execution', undefined, undefined, undefined, undefined],
    ],
  );
});

test('values of any kind where numbers and names belong are left out, and nothing throws', async () => {
  const values = [
    'NaN',
    '-1',
    'Infinity',
    '1e400',
    '',
    true,
    -5,
    1.5,
    ['a'],
    '9'.repeat(500),
    '\u0000\ud800',
  ];
  for (const value of values) {
    for (const [agent, { events, named }] of Object.entries(AGENTS)) {
      const hostile = events.map((event) => ({
        ...event,
        attributes: Object.fromEntries(
          Object.entries(event.attributes).map(([name, was]) => [
            name,
            /\.id$|_id$|kind/u.test(name) ? was : value,
          ]),
        ),
      }));
      for (const span of await spansIn(logsRequest(agent, hostile, named))) {
        for (const name of ['input_tokens', 'output_tokens', 'cost.amount']) {
          const count = span.attributes[`gen_ai.usage.${name}`] ?? 0;
          assert.ok(typeof count === 'number' && count >= 0 && Number.isFinite(count), `${name} ${count}`);
        }
        assert.ok(span.startTime[0] >= 0 && span.startTime[1] >= 0 && span.startTime[1] < 1e9);
        assert.match(span.traceId + span.spanId, /^[0-9a-f]{48}$/u);
      }
    }
  }
});

test('a request of too many records, cut off or no JSON is refused', async () => {
  const request = logsRequest('codex', CODEX, 'attribute');
  assert.throws(() => decodeLogsJson(json(request), 9), { name: 'DecodeError', reason: 'too_large' });
  assert.throws(() => decodeLogsProtobuf(encodeLogsProtobuf(request), 9), { reason: 'too_large' });
  assert.throws(() => decodeLogsProtobuf(encodeLogsProtobuf(request).subarray(0, -3), 99), DecodeError);
  assert.throws(() => decodeLogsJson(json(request).subarray(0, -3), 99), DecodeError);
  assert.throws(() => decodeLogsJson(json({ resourceLogs: 7 }), 99), DecodeError);
});

test('a body of any kind and deep nesting are read within bounds', async () => {
  let body: object = { stringValue: 'deep' };
  for (let i = 0; i < 90; i += 1) body = { arrayValue: { values: [body] } };
  const request = {
    resourceLogs: [{ scopeLogs: [{ logRecords: [{ body }, {}, { body: { intValue: '7' } }] }] }],
  };
  assert.deepEqual(await readAgentEvents(decodeLogsJson(json(request), 99).logs), { spans: [], ignored: 3 });
});

test('the settings that `up` prints are the documented ones, with the addresses of its ports', async () => {
  const text = agentSettingsText('http://127.0.0.1:14318', '127.0.0.1:14317').join('\n');
  for (const setting of [
    'CLAUDE_CODE_ENABLE_TELEMETRY=1',
    'OTEL_LOGS_EXPORTER=otlp',
    'OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:14318 claude',
    'exporter = { otlp-http = { endpoint = "http://127.0.0.1:14318/v1/logs", protocol = "binary" } }',
    '"github.copilot.chat.otel.otlpEndpoint": "http://127.0.0.1:14318"',
    'GEMINI_TELEMETRY_OTLP_ENDPOINT=http://127.0.0.1:14317 gemini',
  ]) {
    assert.ok(text.includes(setting), setting);
  }
});
