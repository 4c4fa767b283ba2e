/** What coding agents send, over HTTP and gRPC, gives runs with the right tokens, cost and tools. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { importTranscripts } from '../src/cli/transcripts.ts';
import { type Collector, startCollector } from '../src/collector/index.ts';
import { migrate, openDatabase, type Queryable } from '../src/postgres/index.ts';
import { listRuns, type RunRow, readRunSpans, readSaid } from '../src/runs/index.ts';
import {
  CLAUDE_CODE,
  CLAUDE_CODE_TRUTH,
  CODEX,
  CODEX_TRUTH,
  COPILOT_EVENTS,
  COPILOT_SPANS,
  COPILOT_TRUTH,
  GEMINI_CLI,
  GEMINI_CLI_TRUTH,
  logsRequest,
  STARTED_MS,
} from './support/agent-events.ts';
import { needsData, readJson } from './support/data.ts';
import { GrpcCaller } from './support/grpc-caller.ts';
import { post } from './support/http-post.ts';
import { encodeLogsProtobuf } from './support/otlp-encode.ts';
import { noPostgres, type PostgresServer, startOwnPostgres } from './support/postgres-server.ts';
import { rollUpAll } from './support/roll-up.ts';
import { tempDir } from './support/temp-dir.ts';
import { waitUntil } from './support/wait-until.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const PROTOBUF = { 'content-type': 'application/x-protobuf' };
const grpcPath = (folder: string, service: string) =>
  `/opentelemetry.proto.collector.${folder}.v1.${service}Service/Export`;

/** What one prompt of a recording holds, and whether a tool failed in it. */
const RECORDINGS = [
  {
    agent: 'Claude Code',
    file: 'claude',
    session: 'aefcc23e-56c1-418d-b320-9c66576b5f0c',
    prompt: { name: 'what is in this folder?', calls: 3, tools: 2, failed: 1, cost: 0.034375 },
    // Asked for by Claude Code itself, outside any prompt.
    others: [{ name: 'chat claude-opus-4-8', calls: 1, tools: 0, failed: 0, cost: 0.0185 }],
  },
  {
    agent: 'Codex',
    file: 'codex',
    session: '01a21966-c9cf-7430-9222-fed1749f8745',
    prompt: { name: 'what is in this folder?', calls: 2, tools: 1, failed: 0, cost: 0.009217 },
    others: [],
  },
  {
    agent: 'Gemini CLI',
    file: 'gemini',
    session: '4be7f843-b8b8-40b4-8606-7c5e8abf4831',
    prompt: { name: 'what is in this folder?', calls: 3, tools: 2, failed: 1, cost: 0.005445 },
    others: [],
  },
] as const;

describe('coding agents', { skip: noPostgres() }, () => {
  let server: PostgresServer;
  let db: Queryable & { close(): Promise<void> };
  let collector: Collector;
  const importFrom = (home: string) =>
    importTranscripts({
      env: { HOME: home },
      httpUrl: collector.httpUrl ?? '',
      db,
      sinceMs: Date.now() - 30 * 86_400_000,
      withText: false,
      signal: new AbortController().signal,
    });
  before(async () => {
    server = await startOwnPostgres();
    db = await openDatabase({ url: server.url });
    await migrate(db);
    collector = await startCollector({
      databaseUrl: server.url,
      http: { host: '127.0.0.1', port: 0 },
      grpc: { host: '127.0.0.1', port: 0 },
      captureContent: true,
    });
  });
  after(async () => {
    await collector?.close();
    await db?.close();
    await server?.[Symbol.asyncDispose]();
  });

  const send = async (path: string, body: Buffer, headers: Readonly<Record<string, string>>) => {
    const answer = await post(`${collector.httpUrl}${path}`, headers, body);
    assert.equal(answer.status, 200, answer.body.toString());
  };
  const json = (request: object) => Buffer.from(JSON.stringify(request));
  const runOf = async (client: string): Promise<RunRow> => {
    await rollUpAll(db);
    const { runs } = await listRuns(db, { filter: `client:${client}` });
    assert.equal(runs.length, 1);
    return runs[0] as RunRow;
  };
  const usageOf = ({ promptTokens, completionTokens, cachedTokens }: RunRow) => ({
    input: promptTokens,
    output: completionTokens,
    cached: cachedTokens,
  });

  test('Claude Code: its own cost, once, however often the events come and metrics with them', async () => {
    const request = logsRequest('claude-code', CLAUDE_CODE, 'body');
    await send('/v1/logs', json(request), JSON_TYPE);
    await send('/v1/logs', gzipSync(encodeLogsProtobuf(request)), {
      ...PROTOBUF,
      'content-encoding': 'gzip',
    });
    await send('/v1/metrics', Buffer.from('{"resourceMetrics":[]}'), JSON_TYPE);
    const run = await runOf('claude-code');
    const { cost, ...tokens } = CLAUDE_CODE_TRUTH;
    assert.deepEqual(usageOf(run), tokens);
    assert.ok(Math.abs((run.costUsd ?? 0) - cost) < 1e-9, `${run.costUsd}`);
    assert.deepEqual(
      [run.name, run.hasRoot, run.modelCalls, run.toolCalls, run.failedCalls, run.unpriced],
      // A request that failed is a call too.
      ['Why does the build fail?', true, 3, 3, 2, 0],
    );
    assert.deepEqual([run.tools, run.servers], [['Bash', 'Write', 'get_log'], ['ci']]);
    assert.equal(run.user, 'a1b2c3d4-0000-4000-8000-000000000001');
    assert.equal(run.session, '8f1c2a40-91c5-4d5e-8a4e-6f7a8b9c0d1e');
  });

  test('Codex: tokens of the streams, priced by our table', async () => {
    const request = logsRequest('codex_cli_rs', CODEX, 'attribute');
    await send('/v1/logs', encodeLogsProtobuf(request), PROTOBUF);
    await send('/v1/logs', json(request), JSON_TYPE);
    const run = await runOf('codex');
    assert.deepEqual(usageOf(run), CODEX_TRUTH);
    assert.deepEqual([run.modelCalls, run.toolCalls, run.failedCalls], [3, 2, 1]);
    assert.deepEqual([run.tools, run.servers], [['search_issues', 'shell'], ['github']]);
    assert.ok((run.costUsd ?? 0) > 0 && run.unpriced === 0, `${run.costUsd} ${run.unpriced}`);
  });

  test('Gemini CLI: over gRPC, without the event that repeats a response', async () => {
    const caller = new GrpcCaller(collector.grpcAddress as string);
    const message = encodeLogsProtobuf(logsRequest('gemini-cli', GEMINI_CLI, 'field'));
    for (let i = 0; i < 2; i += 1) {
      const answer = await caller.call(message, { path: grpcPath('logs', 'Logs') });
      assert.equal(answer.code, 0, answer.message);
    }
    const metrics = await caller.call(Buffer.from([10, 0]), { path: grpcPath('metrics', 'Metrics') });
    assert.equal(metrics.code, 0);
    caller.close();
    const run = await runOf('gemini-cli');
    assert.deepEqual(usageOf(run), GEMINI_CLI_TRUTH);
    assert.deepEqual([run.modelCalls, run.toolCalls, run.failedCalls], [2, 2, 1]);
    assert.deepEqual([run.tools, run.servers], [['create_issue', 'search_file_content'], ['github']]);
    assert.ok((run.costUsd ?? 0) > 0, `${run.costUsd}`);
  });

  for (const { agent, file, session, prompt, others } of RECORDINGS) {
    const { skip } = needsData('field/agents');
    test(`${agent}, as recorded: each call and tool once, its cost, and one run with a root for the prompt`, {
      skip,
    }, async () => {
      for (const { url, body } of readJson<{ url: string; body: object }[]>(`field/agents/${file}.json`)) {
        await send(url, json(body), JSON_TYPE);
      }
      await rollUpAll(db);
      const { runs } = await listRuns(db, { filter: `session:${session}`, sinceMs: 0 });
      const found = runs.map((run) => ({
        name: run.name,
        calls: run.modelCalls,
        tools: run.toolCalls,
        failed: run.failedCalls,
        cost: Number((run.costUsd ?? 0).toFixed(9)),
      }));
      assert.deepEqual(
        found.sort((a, b) => b.calls - a.calls),
        [prompt, ...others],
      );
      assert.deepEqual(
        [...new Set(runs.map(({ hasRoot, unpriced }) => [hasRoot, unpriced].join()))],
        ['true,0'],
      );
      // The tool that failed told the model that there is no such file, and the model answered.
      for (const { status, failedCalls } of runs) assert.equal(status, failedCalls > 0 ? 'recovered' : 'ok');
      const said = await Promise.all(
        runs.map(async (run) => readSaid(db, run.id, await readRunSpans(db, run))),
      );
      // What a model said is a text, not the answer of its API around it.
      const answers = said.flat().flatMap(({ answer }) => answer ?? []);
      assert.deepEqual(
        answers.filter((answer) => answer.startsWith('[{')),
        [],
      );
      if (file === 'gemini') assert.ok(answers.includes('The folder holds notes.txt.'), answers.join());
    });
  }

  test('transcripts of Claude Code and Codex: each call once, however often they are read, without texts', async () => {
    const home = tempDir();
    const at = (seconds: number) => new Date(Date.now() - 3_600_000 + seconds * 1000).toISOString();
    const claude = (seconds: number, type: string, message: object, more: object = {}) => ({
      type,
      sessionId: 'session-of-claude',
      timestamp: at(seconds),
      uuid: `line-${seconds}`,
      message,
      ...more,
    });
    const used = (output: number) => ({
      input_tokens: 10,
      cache_read_input_tokens: 1000,
      cache_creation_input_tokens: 100,
      output_tokens: output,
    });
    const asked = (id: string, output: number, block: object) => ({
      id,
      model: 'claude-sonnet-4-5',
      role: 'assistant',
      content: [block],
      usage: used(output),
    });
    const text = { type: 'text', text: 'SECRET answer' };
    const call = { type: 'tool_use', id: 'tool-1', name: 'mcp__ci__get_log', input: { of: 'SECRET' } };
    const failed = { type: 'tool_result', tool_use_id: 'tool-1', is_error: true, content: 'SECRET' };
    const answered = (id: string) => ({ requestId: id });
    const claudeLines = [
      { type: 'summary', summary: 'SECRET' },
      {
        ...claude(1, 'user', { role: 'user', content: 'no time' }),
        timestamp: '+275760-09-13T00:00:00.000Z',
      },
      claude(0, 'user', { role: 'user', content: 'SECRET prompt' }),
      claude(1, 'assistant', asked('m1', 2, text), answered('r1')),
      claude(2, 'assistant', asked('m1', 50, call), answered('r1')),
      claude(3, 'user', { role: 'user', content: [failed] }),
      claude(4, 'assistant', asked('m2', 20, text), answered('r2')),
      claude(5, 'assistant', { ...asked('m3', 0, text), model: '<synthetic>' }, answered('r3')),
      claude(-40 * 86_400, 'assistant', asked('m0', 9, text), answered('r0')),
    ];
    const codexLine = (seconds: number, type: string, payload: object) => ({
      timestamp: at(seconds),
      type,
      payload,
    });
    const usage = (total: number) => ({
      type: 'token_count',
      info: {
        total_token_usage: { total_tokens: total },
        last_token_usage: {
          input_tokens: 1000,
          cached_input_tokens: 600,
          output_tokens: 30,
          reasoning_output_tokens: 10,
        },
      },
    });
    const codexLines = [
      codexLine(0, 'session_meta', { id: 'session-of-codex' }),
      codexLine(0, 'turn_context', { model: 'gpt-5-codex' }),
      codexLine(1, 'event_msg', { type: 'user_message', message: 'SECRET' }),
      codexLine(2, 'event_msg', usage(1030)),
      codexLine(2, 'response_item', {
        type: 'function_call',
        name: 'shell',
        call_id: 'c1',
        arguments: 'SECRET',
      }),
      codexLine(3, 'response_item', { type: 'function_call_output', call_id: 'c1', output: 'SECRET' }),
      codexLine(3, 'event_msg', usage(1030)),
      codexLine(4, 'event_msg', usage(2060)),
      codexLine(5, 'event_msg', { type: 'token_count', info: null }),
    ];
    const write = async (path: string, lines: readonly object[]) => {
      await mkdir(dirname(join(home, path)), { recursive: true });
      await writeFile(join(home, path), `${lines.map((line) => JSON.stringify(line)).join('\n')}\n{"half":`);
    };
    await write('.claude/projects/-home-me/session.jsonl', claudeLines);
    // Sessions that begin with a copy of these, and are younger by more than the clock of a file system may round away.
    await setTimeout(50);
    const forked = claudeLines.map((line) => ({ ...line, sessionId: 'session-forked' }));
    const kept = { ...used(7), cache_creation: { ephemeral_1h_input_tokens: 100 }, service_tier: 'batch' };
    const next = { ...asked('m4', 7, text), usage: kept };
    await write('.claude/projects/-home-me/forked.jsonl', [
      ...forked,
      { ...claude(8, 'assistant', next, answered('r4')), sessionId: 'session-forked' },
    ]);
    await write('.codex/sessions/2026/11/01/rollout-1.jsonl', codexLines);
    await write('.codex/sessions/2026/11/01/rollout-2.jsonl', [
      codexLine(6, 'session_meta', { id: 'codex-forked' }),
      ...codexLines.map((line) => ({ ...line, timestamp: at(6) })),
      codexLine(7, 'event_msg', usage(3090)),
    ]);
    const read = () => importFrom(home);
    // Codex sent one of its calls while it was made, at nearly the time that it wrote it down.
    const live = {
      name: 'codex.sse_event',
      at: Date.parse(at(4)) - 30 - STARTED_MS,
      attributes: {
        'event.kind': 'response.completed',
        'conversation.id': 'session-of-codex',
        model: 'gpt-5-codex',
        input_token_count: '1000',
        output_token_count: '30',
        cached_token_count: '600',
      },
    };
    await send('/v1/logs', json(logsRequest('codex', [live], 'attribute')), JSON_TYPE);
    await waitUntil(async () => {
      const { rows } = await db.query(`SELECT 1 FROM mcp_traces WHERE conversation_id = 'session-of-codex'`);
      return rows.length === 1;
    });
    const { agents, problems } = await read();
    assert.deepEqual(
      [agents.map(({ name, files }) => [name, files]), problems],
      [
        [
          ['claude-code', 2],
          ['codex', 2],
        ],
        [],
      ],
    );
    await read();
    const runsOf = async (session: string) => {
      const { runs } = await listRuns(db, { filter: `session:${session}`, sinceMs: 0 });
      return runs.map((run) => [
        run.name,
        run.status,
        run.modelCalls,
        run.toolCalls,
        run.failedTools,
        usageOf(run),
      ]);
    };
    // The receiver answers before all is stored.
    await waitUntil(async () => {
      await rollUpAll(db);
      const found = await Promise.all(['session-of-claude', 'session-of-codex'].map(runsOf));
      return found.every(([run]) => run?.[2] === 2 && run[3] === 1);
    });
    assert.deepEqual(await runsOf('session-of-claude'), [
      ['claude-code: get_log', 'recovered', 2, 1, ['get_log'], { input: 2220, output: 70, cached: 2000 }],
    ]);
    assert.deepEqual(await runsOf('session-of-codex'), [
      ['codex: shell', 'ok', 2, 1, [], { input: 2000, output: 60, cached: 1200 }],
    ]);
    const calls = async (session: string) => {
      const { rows } = await db.query(
        `SELECT prompt_tokens, cost_usd, usage_units FROM mcp_traces WHERE conversation_id = $1 AND prompt_tokens IS NOT NULL`,
        [session],
      );
      return rows;
    };
    assert.equal((await calls('codex-forked')).length, 1);
    const [one, ...others] = await calls('session-forked');
    assert.deepEqual([one?.prompt_tokens, others], [1110, []]);
    // Sonnet 4.5: 3 dollars a million, a tenth to read, twice to keep for an hour, 15 of output; half of it in a batch.
    const usd = (10 * 3 + 1000 * 0.3 + 100 * 6 + 7 * 15) / 2e6;
    assert.ok(Math.abs(Number(one?.cost_usd) - usd) < 1e-9, `${one?.cost_usd} is not ${usd}`);
    const { rows } = await db.query(
      `SELECT count(*)::int AS n FROM mcp_traces t WHERE t::text LIKE '%SECRET%' AND conversation_id LIKE 'session-of-%'`,
    );
    assert.equal(rows[0]?.n, 0);
  });

  test('transcripts of Gemini CLI: a message that grows is one call, also where the agent has sent it', async () => {
    const home = tempDir();
    const startMs = Date.now() - 3_600_000;
    const line = (seconds: number, id: string, type: string, content: unknown, more: object = {}) => {
      return { id, timestamp: new Date(startMs + seconds * 1000).toISOString(), type, content, ...more };
    };
    const model = 'gemini-2.5-flash';
    const answered = { model, tokens: { input: 2000, output: 50, cached: 400, thoughts: 5, tool: 0 } };
    const called = {
      id: 'call',
      name: 'run_shell_command',
      args: { of: 'SECRET' },
      status: 'error',
      timestamp: new Date(startMs + 3000).toISOString(),
    };
    const lines = [
      { sessionId: 'session-of-gemini', startTime: new Date(startMs).toISOString(), kind: 'main' },
      { $set: { messages: [line(0, 'context', 'user', 'SECRET')] } },
      line(1, 'first', 'user', [{ text: 'SECRET' }]),
      line(2, 'second', 'gemini', '', answered),
      line(2, 'second', 'gemini', '', { ...answered, toolCalls: [called] }),
      line(4, 'third', 'user', [{ functionResponse: { response: { output: 'SECRET' } } }]),
      line(5, 'fourth', 'gemini', 'SECRET', answered),
      line(9, 'fifth', 'user', [{ text: 'SECRET' }]),
      line(10, 'sixth', 'gemini', 'SECRET', answered),
    ];
    const folder = join(home, '.gemini/tmp/project/chats');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'session-1.jsonl'), lines.map((one) => JSON.stringify(one)).join('\n'));
    // The second prompt was sent while it was answered.
    const live = (name: string, seconds: number, attributes: object) => ({
      name: `gemini_cli.${name}`,
      at: startMs + seconds * 1000 + 20 - STARTED_MS,
      attributes: { 'session.id': 'session-of-gemini', prompt_id: 'live', ...attributes },
    });
    const sent = [
      live('user_prompt', 9, {}),
      live('api_response', 10, {
        model,
        input_token_count: '2000',
        output_token_count: '50',
        thoughts_token_count: '5',
        cached_content_token_count: '400',
      }),
    ];
    await send('/v1/logs', json(logsRequest('gemini-cli', sent, 'attribute')), JSON_TYPE);
    const rows = async () => {
      const of = `SELECT t::text FROM mcp_traces t WHERE conversation_id = 'session-of-gemini'`;
      return (await db.query(of)).rows;
    };
    await waitUntil(async () => (await rows()).length === 2);
    const read = () => importFrom(home);
    assert.deepEqual(await read(), { agents: [{ name: 'gemini-cli', files: 1, events: 4 }], problems: [] });
    await waitUntil(async () => (await rows()).length === 6);
    assert.deepEqual((await read()).agents, []);
    await rollUpAll(db);
    const { runs } = await listRuns(db, { filter: 'session:session-of-gemini', sinceMs: 0 });
    assert.deepEqual(
      runs.map((run) => [run.modelCalls, run.toolCalls, run.failedTools, usageOf(run)]),
      [
        [1, 0, [], { input: 2000, output: 55, cached: 400 }],
        [2, 1, ['run_shell_command'], { input: 4000, output: 110, cached: 800 }],
      ],
    );
    assert.doesNotMatch(JSON.stringify(await rows()), /SECRET/);
  });

  test('Codex: the two events at the end of a stream are one call', {
    skip: needsData('field/telemetry').skip,
  }, async () => {
    await send('/v1/logs', json(readJson('field/telemetry/logs-codex-two-events.json')), JSON_TYPE);
    await rollUpAll(db);
    const [run] = (await listRuns(db, { filter: 'session:c-1', sinceMs: 0 })).runs;
    assert.deepEqual([run?.modelCalls, run && usageOf(run)], [1, { input: 2500, output: 120, cached: 2000 }]);
  });

  test('VS Code Copilot: its spans, counted once beside the sum of the agent and its events', async () => {
    await send('/v1/traces', json(COPILOT_SPANS), JSON_TYPE);
    await send('/v1/logs', json(logsRequest('copilot-chat', COPILOT_EVENTS, 'field')), JSON_TYPE);
    await rollUpAll(db);
    const { runs } = await listRuns(db, { filter: 'service:copilot-chat' });
    assert.equal(runs.length, 1);
    const run = runs[0] as RunRow;
    assert.deepEqual(
      { input: run.promptTokens, output: run.completionTokens, calls: run.modelCalls, tools: run.tools },
      { ...COPILOT_TRUTH, calls: 2, tools: ['readFile'] },
    );
  });
});

test('transcripts of long prompts come in requests that a receiver takes; a longer line is passed over', async () => {
  const home = tempDir();
  const line = (uuid: string, content: string) =>
    JSON.stringify({
      type: 'user',
      timestamp: new Date().toISOString(),
      uuid,
      message: { role: 'user', content },
    });
  const long = 'long '.repeat(400_000);
  const prompts = Array.from({ length: 6 }, (_, i) => line(`long ${i}`, `${i} ${long}`));
  const lines = [...prompts, line('longer', long.repeat(5)), line('last', 'short')];
  await mkdir(join(home, '.claude/projects/a'), { recursive: true });
  await writeFile(join(home, '.claude/projects/a/session.jsonl'), lines.join('\n'));
  const bodies: string[] = [];
  const receiver = createServer((request, response) => {
    void text(request).then((body) => {
      bodies.push(body);
      response.end('{}');
    });
  });
  await once(receiver.listen(0, '127.0.0.1'), 'listening');
  const { agents, problems } = await importTranscripts({
    env: { HOME: home },
    httpUrl: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`,
    db: { query: async () => ({ rows: [] }) },
    sinceMs: 0,
    withText: true,
    signal: new AbortController().signal,
  });
  receiver.close();
  receiver.closeAllConnections();
  assert.deepEqual([agents, problems], [[{ name: 'claude-code', files: 1, events: 7 }], []]);
  assert.ok(bodies.every((body) => body.length < 2_000_000));
  assert.match(bodies.join(''), /"5 long long[\s\S]*"short"/);
});
