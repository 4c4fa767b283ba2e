// Runs with the others that need a quiet PostgreSQL: a refresh waits for every open transaction of its server.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, describe, test } from 'node:test';
import pg from 'pg';
import { dbCommand } from '../src/cli/db.ts';
import {
  databaseStatus,
  migrate,
  PostgresSpanExporter,
  prune,
  type Queryable,
  refreshRollups,
} from '../src/postgres/index.ts';
import { postgresDatabases, testDatabases } from './support/databases.ts';
import { exportSpans } from './support/export.ts';
import { startQuietPostgres } from './support/postgres-server.ts';
import { randomSpans } from './support/random-spans.ts';
import { runCommand } from './support/run-command.ts';
import { longTest } from './support/size.ts';
import { altered, spanWith } from './support/spans.ts';

const SUMS = `sum(spans)::integer AS spans, sum(errors)::integer AS errors, sum(prompt_tokens)::integer AS prompt_tokens,
  round(sum(cost_usd)::numeric, 6)::float8 AS cost_usd, sum(scored)::integer AS scored,
  sum(high_risk)::integer AS high_risk, sum(gate_blocked)::integer AS gate_blocked,
  sum(fallbacks)::integer AS fallbacks, sum(retries)::integer AS retries, sum(unpriced)::integer AS unpriced`;
/** The same figures from the spans themselves. */
const COUNTED = `SELECT count(*)::integer AS spans, count(*) FILTER (WHERE status_code = 'error')::integer AS errors,
  coalesce(sum(prompt_tokens), 0)::integer AS prompt_tokens,
  round(coalesce(sum(cost_usd), 0)::numeric, 6)::float8 AS cost_usd, count(hallucination_risk_score)::integer AS scored,
  count(*) FILTER (WHERE hallucination_risk_level = 'high')::integer AS high_risk,
  count(*) FILTER (WHERE gate_blocked)::integer AS gate_blocked,
  count(*) FILTER (WHERE fallback_used)::integer AS fallbacks, coalesce(sum(retries), 0)::integer AS retries,
  count(*) FILTER (WHERE cost_source = 'unknown')::integer AS unpriced FROM mcp_traces`;

/** Calls of several models in several hours, with every figure that is counted. */
function calls(count: number, hoursAgo = 0) {
  const now = Math.floor(Date.now() / 1000);
  return Array.from({ length: count }, (_, i) => {
    const start = now - (hoursAgo + (i % 3)) * 3600;
    const span = spanWith(
      {
        'gen_ai.request.model': `model-${i % 4}`,
        'gen_ai.tool.name': i % 2 === 0 ? 'add' : undefined,
        'gen_ai.usage.input_tokens': 10 + i,
        'observatory.cost_usd': i % 5 === 0 ? undefined : i / 1000,
        'observatory.cost_source': i % 5 === 0 ? 'unknown' : 'genai-prices',
        'observatory.hallucination_risk_score': (i % 10) / 10,
        'observatory.hallucination_risk_level': i % 10 > 7 ? 'high' : 'low',
        'observatory.gate_blocked': i % 7 === 0,
        'observatory.fallback_used': i % 6 === 0,
        'observatory.retries': i % 3,
      },
      { service: `service-${i % 2}` },
    );
    return altered(span, {
      startTime: [start, 0],
      endTime: [start, (i % 1000) * 1_000_000],
      ...(i % 9 === 0 ? { status: { code: 2 } } : {}),
    });
  });
}

async function one(db: Queryable, sql: string): Promise<Record<string, unknown>> {
  return { ...(await db.query(sql)).rows[0] };
}

async function assertTotals(db: Queryable): Promise<void> {
  const expected = await one(db, COUNTED);
  assert.deepEqual(await one(db, `SELECT ${SUMS} FROM mcp_traces_hourly`), expected);
  const daily = SUMS.replace('sum(scored)::integer AS scored, ', '').replaceAll(
    /sum\(scored\)::integer AS scored,/g,
    '',
  );
  const { scored: _scored, ...rest } = expected;
  assert.deepEqual(await one(db, `SELECT ${daily} FROM mcp_traces_daily`), rest);
}

// Roll-ups wait for every open transaction of a server, also in other databases: they need one to themselves.
const all = testDatabases(startQuietPostgres);
const server = all.find(({ name }) => name === 'Postgres') ?? postgresDatabases(startQuietPostgres);
after(async () => {
  for (const databases of new Set([...all, server])) await databases[Symbol.asyncDispose]();
});

for (const databases of all) {
  describe(`roll-ups on ${databases.name}`, { skip: databases.skip }, () => {
    test('count each span once, however often they are refreshed and however late it comes', async () => {
      const db = await databases.createMigrated();
      const exporter = new PostgresSpanExporter({ connection: db });
      assert.equal(await refreshRollups(db), 0);
      const first = calls(120);
      await exportSpans(exporter, first);
      assert.equal(await refreshRollups(db), 120);
      await assertTotals(db);
      assert.equal(await refreshRollups(db), 0);
      await exportSpans(exporter, first);
      await exportSpans(exporter, calls(30, 500));
      assert.equal(await refreshRollups(db), 30, 'what is sent again is not counted again');
      await assertTotals(db);
      const hours = await one(db, 'SELECT count(DISTINCT hour)::integer AS hours FROM mcp_traces_hourly');
      assert.equal(hours.hours, 6);
    });

    test('two servers with a tool of one name are two lines, and no name is too long for them', async () => {
      const db = await databases.createMigrated();
      const call = (server: string) =>
        spanWith({
          'mcp.method.name': 'tools/call',
          'gen_ai.tool.name': 'search',
          'observatory.mcp.server.name': server,
          'observatory.mcp.client.name': '\u{1F600}'.repeat(128),
          'observatory.connection_id': '5f1c',
          'user.id': randomSpans(1, 3)[0]?.name.padEnd(60_000, '\u4e00') as string,
        });
      const spans = [call('docs'), call('docs'), call('web'), call('\u4e00'.repeat(60_000))];
      assert.deepEqual(await exportSpans(new PostgresSpanExporter({ connection: db }), spans), { code: 0 });
      assert.equal(await refreshRollups(db), 4);
      for (const table of ['mcp_tools_hourly', 'mcp_traces_hourly']) {
        const { rows } = await db.query(
          `SELECT left(server_name, 4) AS server, spans::integer FROM ${table}
           WHERE tool_name = 'search' ORDER BY 2 DESC, 1`,
        );
        assert.deepEqual(
          rows.map((row) => ({ ...row })),
          [
            { server: 'docs', spans: 2 },
            { server: 'web', spans: 1 },
            { server: '\u4e00'.repeat(4), spans: 1 },
          ],
        );
      }
      const session = await one(
        db,
        'SELECT session_id, spans::integer, tool_calls::integer FROM mcp_sessions',
      );
      assert.deepEqual(session, { session_id: '5f1c', spans: 4, tool_calls: 4 });
    });

    test('survive the pruning of the spans they count', async () => {
      const db = await databases.createMigrated();
      await exportSpans(new PostgresSpanExporter({ connection: db }), calls(60));
      await refreshRollups(db);
      const before = await one(db, `SELECT ${SUMS} FROM mcp_traces_hourly`);
      await db.query('DELETE FROM mcp_traces');
      assert.equal(await refreshRollups(db), 0);
      assert.deepEqual(await one(db, `SELECT ${SUMS} FROM mcp_traces_hourly`), before);
    });

    test('rows with absurd values are counted and do not stop them', async () => {
      const db = await databases.createMigrated();
      const spans = randomSpans(200, 7);
      assert.deepEqual(await exportSpans(new PostgresSpanExporter({ connection: db }), spans), { code: 0 });
      assert.equal(await refreshRollups(db), 200);
      assert.equal((await one(db, 'SELECT sum(spans)::integer AS n FROM mcp_traces_hourly')).n, 200);
      await db.query('SELECT * FROM mcp_traces_daily');
    });

    test('a row that anybody inserted, whatever its times, names and costs, stops no other', async () => {
      const db = await databases.createMigrated();
      // A call that two instrumentations recorded below an agent, once for each two times of all that PostgreSQL has.
      await db.query(`INSERT INTO mcp_traces (trace_id, span_id, parent_span_id, start_time, end_time, span_name, span_kind,
          status_code, tool_name, method, scope, prompt_tokens, attributes, resource, events, links, model, cost_source,
          session_id, tool_hash, offered_tools_hash, offered_tools_tokens, offered_tools_cost_usd, offered_tools_list)
        SELECT md5(starts || ends)::uuid, ids[i], ids[i - 1], starts::timestamptz, ends::timestamptz, 'call',
          CASE WHEN i > 1 THEN 'client' ELSE (SELECT string_agg(md5(n::text), '') FROM generate_series(1, 400) AS n) END, 'ok',
          'pay', CASE WHEN i > 1 THEN 'tools/call' END, 'scope ' || i, 5, '{}', '{}', '[]', '[]', 'm', 'unknown', 's', 'h', 'set', 7,
          5e-324, '{"total": 8, "tools": {"a": {"b": 1}}}'
        FROM unnest(ARRAY['infinity', '-infinity', '4714-11-24 00:00:00+00 BC', '294276-12-31 23:59:59+00', now()::text]) AS starts,
          unnest(ARRAY['infinity', '-infinity', '4714-11-24 00:00:00+00 BC', '294276-12-31 23:59:59+00', now()::text]) AS ends,
          generate_series(1, 3) AS i,
          LATERAL (SELECT ARRAY(SELECT ('00000000-0000-0000-0000-00000000000' || n)::uuid FROM generate_series(1, 3) AS n) AS ids) AS given`);
      assert.equal(await refreshRollups(db), 75);
      await exportSpans(new PostgresSpanExporter({ connection: db }), calls(5));
      assert.equal(await refreshRollups(db), 5);
      for (const view of ['mcp_tool_tax', 'mcp_traces_daily']) await db.query(`SELECT * FROM ${view}`);
      const { table } = await databaseStatus(db);
      assert.equal(table?.rows, 80);
      await prune(db, new Date(Date.now() - 86_400_000));
      assert.deepEqual(await one(db, 'SELECT count(*)::integer AS rows FROM mcp_traces'), { rows: 20 });
    });

    test('percentiles are interpolated inside a bucket, and null where nothing was counted', async () => {
      const db = await databases.createMigrated();
      const percentile = async (buckets: string, fraction: number) =>
        (await one(db, `SELECT mcp_traces_percentile(${buckets}, ${fraction}) AS p`)).p;
      // Ten spans of 10 to 20 ms, ten of 100 to 200 ms.
      const buckets = "'{0,0,0,0,10,0,0,10,0,0,0,0,0,0,0,0,0}'::bigint[]";
      assert.equal(await percentile(buckets, 0.25), 15);
      assert.equal(await percentile(buckets, 0.5), 20);
      assert.equal(await percentile(buckets, 0.95), 190);
      assert.equal(await percentile("'{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,3}'::bigint[]", 0.5), 300_000);
      assert.equal(await percentile("'{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}'::bigint[]", 0.5), null);
    });

    test('definitions that a gate saw are counted by tool and hash', async () => {
      const db = await databases.createMigrated();
      const gated = (hash: string, count: number) =>
        calls(count).map((span) =>
          altered(span, {
            attributes: { ...span.attributes, 'gen_ai.tool.name': 'pay', 'observatory.tool_hash': hash },
          }),
        );
      const exporter = new PostgresSpanExporter({ connection: db });
      await exportSpans(exporter, [...gated('a'.repeat(64), 6), ...calls(5)]);
      await refreshRollups(db);
      const seen = async () =>
        (
          await db.query(
            'SELECT hour, server_name, tool_name, tool_hash, first_time, last_time, calls::integer FROM mcp_definitions_hourly ORDER BY 1, 4',
          )
        ).rows.map((row) => ({ ...row }));
      const first = await seen();
      assert.deepEqual(
        first.map(({ tool_name, tool_hash, calls: count }) => [tool_name, tool_hash, count]),
        Array.from({ length: 3 }, () => ['pay', 'a'.repeat(64), 2]),
      );
      await exportSpans(exporter, gated('b'.repeat(64), 3));
      assert.equal(await refreshRollups(db), 3);
      assert.equal((await seen()).length, 6);
    });
  });
}

describe('roll-ups on a server that many processes use', { skip: server.skip }, () => {
  longTest('writers and refreshers at the same time leave each span counted once', async () => {
    const db = await server.createMigrated();
    let isWriting = true;
    const writers = Array.from({ length: 3 }, async (_, w) => {
      const exporter = new PostgresSpanExporter({ connection: db });
      for (let i = 0; i < 10; i += 1) await exportSpans(exporter, calls(20, w));
    });
    let counted = 0;
    const refresh = async () => {
      const spans = await refreshRollups(db);
      counted += spans ?? 0;
    };
    const refreshers = Array.from({ length: 2 }, async () => {
      do await refresh();
      while (isWriting);
    });
    await Promise.all(writers);
    isWriting = false;
    await Promise.all(refreshers);
    await refresh();
    assert.equal(counted, 600);
    await assertTotals(db);
  });

  test('rows of an open transaction are counted when it has ended, and then once', async () => {
    const db = await server.createMigrated();
    const slow = new pg.Client({ connectionString: (db as pg.Pool).options.connectionString as string });
    await slow.connect();
    try {
      await slow.query('BEGIN');
      await exportSpans(new PostgresSpanExporter({ connection: slow as Queryable }), calls(5));
      await exportSpans(new PostgresSpanExporter({ connection: db }), calls(7));
      assert.equal(await refreshRollups(db), 0, 'what began after the open one waits with it');
      await slow.query('COMMIT');
      assert.equal(await refreshRollups(db), 12);
      await assertTotals(db);
    } finally {
      await slow.end();
    }
  });

  test('prune keeps the spans that no roll-up can count yet, says so, and deletes them later', async () => {
    const db = await server.createMigrated();
    const url = (db as pg.Pool).options.connectionString as string;
    const day = 'mcp_traces_20250101';
    await db.query(`CREATE TABLE ${day} PARTITION OF mcp_traces (PRIMARY KEY (trace_id, span_id))
      FOR VALUES FROM ('2025-01-01 00:00Z') TO ('2025-01-02 00:00Z')`);
    const late = (start: string) => `INSERT INTO mcp_traces
      (trace_id, span_id, start_time, end_time, span_name, span_kind, status_code, attributes, resource, events, links)
      VALUES (gen_random_uuid(), gen_random_uuid(), '${start}', '${start}', 'n', 'internal', 'unset', '{}', '{}', '[]', '[]')`;
    const prune = async () => {
      const { stdout } = await runCommand(dbCommand, [
        ...['prune', '--older-than', '30d', '--json', '--database-url', url],
      ]);
      const { dropped, kept, deleted_rows: deleted } = JSON.parse(stdout) as Record<string, unknown>;
      return { dropped, kept, deleted };
    };
    const slow = new pg.Client({ connectionString: url });
    await slow.connect();
    try {
      await slow.query('BEGIN; SELECT txid_current()');
      for (const start of ['2025-01-01 05:00Z', '2025-01-02 05:00Z']) await db.query(late(start));
      assert.deepEqual(await prune(), { dropped: [], kept: [day, 'mcp_traces_default'], deleted: 0 });
      await slow.query('COMMIT');
    } finally {
      await slow.end();
    }
    assert.deepEqual(await prune(), { dropped: [day], kept: [], deleted: 1 });
    assert.equal((await one(db, 'SELECT sum(spans)::integer AS n FROM mcp_traces_hourly')).n, 2);
    assert.equal((await one(db, 'SELECT count(*)::integer AS n FROM mcp_traces')).n, 0);
  });

  test('the command counts, says so, and needs the schema', async () => {
    const db = await server.create();
    const url = (db as pg.Pool).options.connectionString as string;
    await assert.rejects(runCommand(dbCommand, ['rollup', '--database-url', url]), {
      code: 'DATABASE_SCHEMA_MISSING',
    });
    await migrate(db);
    await exportSpans(new PostgresSpanExporter({ connection: db }), calls(3));
    const { stdout } = await runCommand(dbCommand, ['rollup', '--json', '--database-url', url]);
    assert.equal((JSON.parse(stdout) as { counted_spans: number }).counted_spans, 3);
    const again = await runCommand(dbCommand, ['rollup', '--database-url', url]);
    assert.match(again.stdout, /0 spans counted/);
  });
});

test('the file of the roll-ups names the bounds of the durations it counts', () => {
  const sql = readFileSync(new URL('../../schema/004_rollups.sql', import.meta.url), 'utf8');
  const bounds = /ARRAY\[(1, 2, 5,[^\]]*)\]::double/.exec(sql)?.[1];
  assert.equal((sql.match(new RegExp(`ARRAY\\[${bounds}, 300000\\]`)) ?? []).length, 1);
});
