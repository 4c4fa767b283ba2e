/** What Tools says of durations and counts, beside what SQL says of the spans. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openDatabase } from '../src/postgres/index.ts';
import { toolHealth } from '../src/runs/index.ts';
import { noPostgres, type PostgresServer, startPostgres } from './support/postgres-server.ts';

const HOUR_MS = 3_600_000;
const CALLS = 3000;

describe('figures of tools', { skip: noPostgres() }, () => {
  let server: PostgresServer;
  before(async () => {
    server = await startPostgres();
  });
  after(() => server.stop());

  /**
   * Calls of three tools, a minute to two hours ago: half of them recorded by both sides, some by the server alone; the roll-up
   * has so many times as many.
   */
  const stored = async (times: number) => {
    const db = await openDatabase({ url: await server.createMigrated() });
    await db.query(`INSERT INTO mcp_traces (trace_id, span_id, parent_span_id, start_time, end_time, span_name, span_kind,
        status_code, method, operation, tool_name, server_name, client_name, attributes, resource, events, links)
      SELECT md5('t' || n)::uuid, md5(n || side)::uuid, CASE WHEN side = 'server' AND n % 10 > 0 THEN md5(n || 'client')::uuid END,
        at, at + ms * interval '1 ms', 'tools/call', side, CASE WHEN n % 13 = 0 THEN 'error' ELSE 'unset' END, 'tools/call',
        'execute_tool', 'tool ' || n % 3, 'bank', CASE WHEN n % 10 > 0 THEN 'agent' ELSE 'cursor' END,
        '{}', '{}', '[]', '[]'
      FROM (SELECT n, now() - interval '1 minute' - n % 7000 * interval '1 second' AS at, exp(n * 7 % 1000 / 90.0) AS ms
        FROM generate_series(1, ${CALLS}) AS n) AS calls, unnest(ARRAY['client', 'server']) AS side
      WHERE side = 'server' AND n % 2 = 0 OR side = 'client' AND n % 10 > 0`);
    await db.query(`INSERT INTO mcp_tools_hourly SELECT date_trunc('hour', start_time), 'bank', tool_name, client_name, span_kind,
        count(*) * ${times}, (count(*) FILTER (WHERE status_code = 'error')) * ${times}, 0, 0,
        max(date_part('epoch', end_time - start_time) * 1000), '{}'
      FROM mcp_traces GROUP BY 1, 3, 4, 5`);
    return db;
  };
  const expected = async (db: Awaited<ReturnType<typeof stored>>) => {
    const { rows } = await db.query(`SELECT tool_name AS tool, count(*)::float8 AS calls,
        (count(*) FILTER (WHERE status_code = 'error'))::float8 AS errors, max(ms) AS most,
        percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY ms) AS percentiles
      FROM (SELECT *, date_part('epoch', end_time - start_time) * 1000 AS ms FROM mcp_traces t
        WHERE span_kind = 'client' OR NOT EXISTS (SELECT FROM mcp_traces p
          WHERE p.trace_id = t.trace_id AND p.span_id = t.parent_span_id)) AS calls GROUP BY 1`);
    return new Map(rows.map((row) => [row.tool, row as Record<string, never>]));
  };

  for (const { times, off, words } of [
    { times: 1, off: 1e-6, words: 'some thousand calls are exact' },
    {
      times: 10,
      off: 0.02,
      words: 'many calls are at most two percent off, and never above the longest',
    },
  ]) {
    test(`of ${words}; calls that the server alone saw count`, async () => {
      await using db = await stored(times);
      const tools = await toolHealth(db, { sinceMs: Date.now() - 3 * HOUR_MS, untilMs: Date.now() });
      const wanted = await expected(db);
      assert.equal(tools.length, 3);
      for (const row of tools) {
        const { calls: n, errors, most, percentiles } = wanted.get(row.tool) ?? assert.fail();
        assert.deepEqual([row.calls, row.errors], [Number(n) * times, Number(errors) * times], row.tool);
        for (const [i, ms] of [row.p50Ms, row.p95Ms, row.p99Ms].entries()) {
          const exact = Number((percentiles as unknown as readonly number[])[i]);
          assert.ok(Math.abs(Number(ms) - exact) <= off * exact, `${row.tool}: ${ms} and ${exact}`);
          assert.ok(Number(ms) <= Number(most) + 1e-9);
        }
      }
    });
  }

  test('p95 is set beside that of the range before, where both have ten calls', async () => {
    await using db = await stored(1);
    const now = Date.now();
    const whole = new Date(now).setUTCMinutes(0, 0, 0);
    const [hour] = await toolHealth(db, { sinceMs: whole, untilMs: whole + HOUR_MS });
    const earlier = await toolHealth(db, { sinceMs: whole - HOUR_MS, untilMs: whole });
    const before = earlier.find(({ tool }) => tool === hour?.tool);
    const isComparable = Math.min(hour?.calls ?? 0, before?.calls ?? 0) >= 10;
    assert.equal(hour?.p95BeforeMs ?? null, isComparable ? before?.p95Ms : null);
    const [days] = await toolHealth(db, { sinceMs: now - 24 * HOUR_MS, untilMs: now });
    assert.equal(days?.p95BeforeMs, null);
  });
});
