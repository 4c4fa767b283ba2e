// Runs with the others that need a quiet PostgreSQL: a refresh waits for every open transaction of its server.
/** Spans of a trace that come apart, to several collectors: each call is counted once when the trace is settled. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { SpanKind } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { PostgresSpanExporter, type Queryable, refreshRollups } from '../src/postgres/index.ts';
import { Enricher, innermostFirst, ObservatorySpanProcessor } from '../src/processor/index.ts';
import {
  agent,
  chat,
  model,
  OURS,
  own,
  type Part,
  plain,
  spansOf,
  tool,
  usage,
} from './support/call-parts.ts';
import { postgresDatabases } from './support/databases.ts';
import { exportSpans } from './support/export.ts';
import { startQuietPostgres } from './support/postgres-server.ts';
import { seededRandom } from './support/random.ts';
import { inAnyOrder, type RandomRun, randomRun, spansInAnyOrder } from './support/random-runs.ts';
import { rollUpAll } from './support/roll-up.ts';
import { altered } from './support/spans.ts';

const served = (scope: string, parts: readonly Part[] = []): Part => ({
  scope,
  kind: SpanKind.SERVER,
  attributes: { 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': 'search', 'session.id': 's-1' },
  parts,
});

const RUNS: Readonly<
  Record<string, { readonly run: Part; readonly tokens: number; readonly counted: readonly string[] }>
> = {
  'usage without a word around two calls': {
    run: own({ ...model, ...usage(300) }, [chat('other', 100), plain([chat('other', 200)])]),
    tokens: 300,
    counted: ['other', 'other'],
  },
  'two wrappers around an agent': {
    run: own(usage(300), [
      own({ ...model, ...usage(300) }, [agent(300, [chat('a', 100, 'a'), chat('b', 200, 'b')])]),
    ]),
    tokens: 300,
    counted: ['a', 'b'],
  },
  'a chat whose usage is that of the two calls in it': {
    run: chat('framework', 300, 'run', [chat('other', 100, 'a'), chat('other', 200, 'b')]),
    tokens: 300,
    counted: ['other', 'other'],
  },
  'one response on two spans': {
    run: chat('framework', 110, 'a', [plain([chat(OURS, 100, 'a')])]),
    tokens: 100,
    counted: [OURS],
  },
  'a guardrail that asks a model during a call': {
    run: chat(OURS, 100, 'a', [chat(OURS, 30, 'b')]),
    tokens: 130,
    counted: [OURS, OURS],
  },
  'a call, and another in a tool below it': {
    run: chat(OURS, 100, undefined, [tool([agent(40, [chat(OURS, 40)])])]),
    tokens: 140,
    counted: [OURS, OURS],
  },
  'calls of a tool that a server records itself beside us': {
    run: plain([served('server/telemetry', [served('mcp-observatory/mcp')]), served('mcp-observatory/mcp')]),
    tokens: 0,
    counted: [],
  },
  'two fast calls of a tool, each recorded by two others': {
    run: plain([served('fast/one'), served('fast/two'), served('fast/one'), served('fast/two')]),
    tokens: 0,
    counted: [],
  },
};

/** An SDK begins spans at whole milliseconds and ends them by a finer clock: one may begin after that around it has ended. */
function setClock(spans: readonly ReadableSpan[]): void {
  // Two calls within a millisecond, and each a bit earlier on the outer of its spans.
  const fast = spans.filter((span) => span.instrumentationScope.name.startsWith('fast/'));
  for (const [i, span] of fast.entries()) {
    const [seconds] = (fast[0] as ReadableSpan).startTime;
    const start = (i < 2 ? 0 : 400_000) + 20_000 * (i % 2);
    Object.assign(span, { startTime: [seconds, start], endTime: [seconds, start + 300_000] });
  }
  for (const span of spans) {
    const around = spans.find((other) => other.spanContext().spanId === span.parentSpanContext?.spanId);
    if (around?.instrumentationScope.name !== 'server/telemetry') continue;
    const [seconds, ended] = around.endTime;
    const nanos = Math.min(ended, 999_000_000);
    Object.assign(span, { startTime: [seconds, nanos + 500_000], endTime: [seconds, nanos + 520_000] });
  }
}

/** The tables that add up spans, without what no correction can take back: the longest of several times. */
const ROLLUPS = {
  mcp_traces_hourly: 'prompt_tokens, completion_tokens, cached_prompt_tokens, unpriced, spans, errors',
  mcp_tools_hourly: 'spans, errors, duration_buckets',
  mcp_models_hourly: 'calls, errors, prompt_tokens, completion_tokens, unpriced',
  mcp_sessions: 'model_calls, tool_calls, served_tool_calls, prompt_tokens, completion_tokens',
  mcp_runs: 'model_calls, tool_calls, failed_calls, prompt_tokens, completion_tokens, priced, unpriced',
  mcp_runs_hourly: 'runs, spans, failed, unpriced',
  mcp_tax_hourly: 'calls, tokens, prompt_tokens, unpriced',
} as const;

async function rollups(db: Queryable): Promise<Record<string, unknown>> {
  const all: Record<string, unknown> = {};
  for (const [table, figures] of Object.entries(ROLLUPS)) {
    const first = figures.split(',')[0] as string;
    const { rows } = await db.query(
      `SELECT ${figures} FROM ${table} WHERE ${first} <> 0 ORDER BY ${figures}`,
    );
    all[table] = rows.map((row) => ({ ...row }));
  }
  const { rows } = await db.query('SELECT round(sum(cost_usd)::numeric, 9)::float8 AS cost FROM mcp_runs');
  return { ...all, cost: rows[0]?.cost };
}

const RANDOM_RUNS = 150;

/** Hands spans to collectors that know nothing of each other, in batches of one to four. */
function receiveInParts(random: () => number, spans: readonly ReadableSpan[], collectors: number): void {
  const enrichers = Array.from({ length: collectors }, () => new Enricher({ meterProvider: false }));
  const rest = inAnyOrder(random, spans);
  while (rest.length > 0) {
    const batch = rest.splice(0, 1 + Math.floor(4 * random()));
    const enricher = enrichers[Math.floor(collectors * random())] as Enricher;
    for (const span of batch) enricher.expectReceived(span);
    for (const span of innermostFirst(batch)) enricher.enrichReceived(span);
  }
}

describe('a trace that comes apart', { skip: postgresDatabases().skip }, () => {
  const databases = postgresDatabases(startQuietPostgres);
  after(() => databases[Symbol.asyncDispose]());

  for (const order of ['as the spans end', 'the outer spans first', 'those without usage last'] as const) {
    test(`is settled in the store, and so are the roll-ups that have counted it: ${order}`, async () => {
      const db = await databases.createMigrated();
      const exporter = new PostgresSpanExporter({ connection: db as never });
      const traces = Object.entries(RUNS).map(([service, { run }]) => {
        const spans = spansOf(run, false).map((span) =>
          altered(span, { resource: { attributes: { 'service.name': service } } }),
        );
        setClock(spans);
        if (order === 'the outer spans first') return spans.reverse();
        const isLast = ({ attributes }: ReadableSpan) => Number(attributes['url.full'] !== undefined);
        return order === 'as the spans end' ? spans : spans.sort((a, b) => isLast(a) - isLast(b));
      });
      // The spans of each trace by turns, each to a collector that knows no other.
      for (let turn = 0; traces.some((spans) => spans.length > turn); turn += 1) {
        const batch = traces.flatMap((spans): ReadableSpan[] => spans.slice(turn, turn + 1));
        for (const span of batch) new Enricher({ meterProvider: false }).enrichReceived(span);
        await exportSpans(exporter, batch);
        await refreshRollups(db);
      }
      await exporter.shutdown();
      await rollUpAll(db);
      for (const [service, { tokens, counted }] of Object.entries(RUNS)) {
        const { rows } = await db.query(
          `SELECT coalesce(sum(prompt_tokens), 0)::int AS tokens, round(coalesce(sum(cost_usd), 0)::numeric, 9)::float8 AS cost,
            coalesce(array_agg(scope ORDER BY scope) FILTER (WHERE cost_source IS NOT NULL), '{}') AS counted
          FROM mcp_traces WHERE service = $1`,
          [service],
        );
        const cost = Number((tokens * (0.15e-6 + 0.06e-6)).toFixed(9));
        assert.deepEqual({ ...rows[0] }, { tokens, cost, counted }, service);
      }
      const { rows: calls } = await db.query(
        `SELECT tool_calls::int AS calls FROM mcp_runs WHERE service LIKE '%of a tool%' ORDER BY service`,
      );
      assert.deepEqual(
        calls.map((row) => row.calls),
        [2, 2],
      );
      const corrected = await rollups(db);
      await db.query(
        `TRUNCATE ${Object.keys(ROLLUPS).join(', ')}, mcp_traces_rollup_state, mcp_runs_state, mcp_tax_state`,
      );
      await rollUpAll(db);
      assert.deepEqual(corrected, await rollups(db));
    });
  }

  for (const way of ['in process', 'at one collector', 'at two collectors'] as const) {
    test(`counts each call of a random run, whatever the order of its spans: ${way}`, async () => {
      const db = await databases.createMigrated();
      const exporter = new PostgresSpanExporter({ connection: db as never });
      const runs = new Map<string, RandomRun>();
      for (let seed = 1; seed <= RANDOM_RUNS; seed += 1) {
        const random = seededRandom(seed);
        const run = randomRun(random);
        runs.set(`run ${seed}`, run);
        const processors =
          way === 'in process' ? [new ObservatorySpanProcessor({ meterProvider: false })] : [];
        const spans = spansInAnyOrder(random, run.part, processors).map((span) =>
          altered(span, { resource: { attributes: { 'service.name': `run ${seed}` } } }),
        );
        if (way !== 'in process') receiveInParts(random, spans, way === 'at one collector' ? 1 : 2);
        await exportSpans(exporter, inAnyOrder(random, spans));
      }
      await exporter.shutdown();
      await rollUpAll(db);
      const { rows } = await db.query(
        `SELECT service, coalesce(sum(prompt_tokens), 0)::int AS tokens, round(coalesce(sum(cost_usd), 0)::numeric, 9)::float8 AS cost
        FROM mcp_traces GROUP BY service`,
      );
      assert.equal(rows.length, RANDOM_RUNS);
      const wrong = rows.filter(({ service, tokens, cost }) => {
        const right = runs.get(String(service))?.tokens ?? 0;
        return tokens !== right || cost !== Number((right * (0.15e-6 + 0.06e-6)).toFixed(9));
      });
      assert.deepEqual(wrong, []);
    });
  }

  test('a trace of 800 calls of one tool, side by side, by two instrumentations', async () => {
    const db = await databases.createMigrated();
    const exporter = new PostgresSpanExporter({ connection: db as never });
    const calls = 800;
    const scopes = ['server/telemetry', 'mcp-observatory/mcp'];
    const spans = spansOf(plain(scopes.flatMap((scope) => Array<Part>(calls).fill(served(scope)))), false);
    // All calls are under way at once; each ends after the one before it, and the second begins within the first.
    const at = (ms: number): [number, number] => [1_790_000_000 + Math.floor(ms / 1e3), (ms % 1e3) * 1e6];
    const places = new Map<string, number>();
    const timed = spans.map((span) => {
      const place = places.get(span.instrumentationScope.name) ?? 0;
      places.set(span.instrumentationScope.name, place + 1);
      const startTime = at(span.instrumentationScope.name === scopes[0] ? place : place + calls);
      return altered(span, { startTime, endTime: at(4 * calls + 2 * place) });
    });
    await exportSpans(exporter, timed);
    await exporter.shutdown();
    // Each held against all others, they would take minutes.
    await db.query("SET statement_timeout = '60s'");
    await rollUpAll(db);
    const { rows } = await db.query(
      `SELECT scope, count(*)::int AS calls, count(counted_on)::int AS repeats, count(DISTINCT counted_on)::int AS kept
      FROM mcp_traces WHERE tool_name IS NOT NULL GROUP BY scope ORDER BY scope`,
    );
    assert.deepEqual(
      rows.map((row) => ({ ...row })),
      [
        { scope: scopes[1], calls, repeats: 0, kept: 0 },
        { scope: scopes[0], calls, repeats: calls, kept: calls },
      ],
    );
  });

  test('20,000 model calls of four runs that arrive before the planner has statistics of them', async () => {
    const db = await databases.createMigrated();
    // An agent that adds up what the calls below it used.
    await db.query(`INSERT INTO mcp_traces (trace_id, span_id, parent_span_id, span_name, span_kind, status_code, start_time, end_time,
        operation, model, prompt_tokens, completion_tokens, attributes, resource, events, links)
      SELECT md5(run::text)::uuid, md5(run || '/' || place)::uuid, CASE WHEN place > 0 THEN md5(run || '/0')::uuid END, 'chat', 'client', 'unset',
        now() - interval '1 hour', now() - interval '1 hour', CASE WHEN place > 0 THEN 'chat' ELSE 'invoke_agent' END, 'm',
        CASE WHEN place > 0 THEN 1 ELSE 5000 END, 0, '{}', '{}', '[]', '[]'
      FROM generate_series(1, 4) AS run, generate_series(0, 5000) AS place`);
    // Each held against all others, they would take minutes.
    await db.query("SET statement_timeout = '60s'");
    await rollUpAll(db);
    const { rows } = await db.query('SELECT sum(prompt_tokens)::int AS tokens FROM mcp_traces');
    assert.deepEqual({ ...rows[0] }, { tokens: 20_000 });
  });

  test('what is not settled yet is not counted yet, while an older transaction of the server is open', async () => {
    const db = await databases.createMigrated();
    const exporter = new PostgresSpanExporter({ connection: db as never });
    const spans = spansOf(chat('framework', 110, 'a', [chat(OURS, 100, 'a')]), false);
    for (const span of spans) new Enricher({ meterProvider: false }).enrichReceived(span);
    await exportSpans(exporter, spans);
    await exporter.shutdown();
    // As if the transaction ended after settling and before the roll-ups were counted.
    const refreshAlone = () =>
      db.query('SELECT mcp_traces_refresh_rollups(), mcp_runs_refresh(), mcp_tax_refresh()');
    await refreshAlone();
    const counted = async () => {
      const { rows } = await db.query(
        `SELECT (SELECT coalesce(sum(spans), 0)::int FROM mcp_traces_hourly) AS spans,
          (SELECT coalesce(sum(model_calls), 0)::int FROM mcp_runs) AS calls`,
      );
      return { ...rows[0] };
    };
    assert.deepEqual(await counted(), { spans: 0, calls: 0 });
    await rollUpAll(db);
    assert.deepEqual(await counted(), { spans: 2, calls: 1 });
    // As db check advises: all is settled once more, and nothing is counted again.
    await db.query('UPDATE mcp_traces_settle_state SET next_xid = 0');
    await refreshAlone();
    await refreshAlone();
    await rollUpAll(db);
    assert.deepEqual(await counted(), { spans: 2, calls: 1 });
  });
});
