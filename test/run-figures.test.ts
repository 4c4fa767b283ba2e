import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { Queryable } from '../src/postgres/index.ts';
import { LATEST_MIGRATION, MIGRATIONS, migrationScript } from '../src/postgres/migrations.ts';
import { execScript } from '../src/postgres/types.ts';
import { costs, listSessions, type RunMetrics, runMetrics } from '../src/runs/index.ts';
import { testDatabases } from './support/databases.ts';
import { rollUpAll } from './support/roll-up.ts';

const HOUR_MS = 3_600_000;
const RUNS = 21_000;
/** In the middle of an hour, so that a range from or to it cuts one. */
const FIRST_MS = Date.UTC(2026, 9, 5) - 30.5 * HOUR_MS;

const all = testDatabases();
after(async () => {
  for (const databases of all) await databases[Symbol.asyncDispose]();
});

/** Runs over 30 hours, of three to a session, that took from below a millisecond to some minutes. */
const insertRuns = (
  runs: number,
) => `INSERT INTO mcp_runs (trace_id, started_at, ended_at, has_root, root_at, name,
    session_id, models, tools, servers, failed_tools, spans, errors, model_calls, client_calls, server_calls, other_calls,
    client_failures, server_failures, other_failures, denied, withheld, held, prompt_tokens, completion_tokens, cached_prompt_tokens,
    cost_usd, priced, unpriced, risk, contradicted, unsupported, is_shadow)
  SELECT md5('r' || n)::uuid, at, at + exp(n % 1300 / 100.0 - 1) * interval '1 ms', true, at, 'run', 's' || n / 3, '{}', '{}',
    '{}', '{}', n % 7, (n % 11 = 0)::integer, 1, 0, 0, 0, 0, 0, (n % 13 = 0)::integer, 0, 0, (n % 17 = 0)::integer, 1, 1, 0,
    n % 100 / 64.0, 1, n % 5, 0, n % 19 = 0, n % 3 = 0, false
  FROM (SELECT n, to_timestamp(${FIRST_MS / 1000}) + n * interval '30 hours' / ${runs} AS at
    FROM generate_series(0, ${runs - 1}) AS n) AS runs`;

/** Calls of two models, one of which answers under another name; some failed. */
const insertCalls = (
  part: string,
) => `INSERT INTO mcp_traces (trace_id, span_id, start_time, end_time, span_name, span_kind,
    status_code, operation, model, provider, prompt_tokens, cost_usd, cost_source, attributes, resource, events, links)
  SELECT md5('${part}' || n)::uuid, md5(n::text)::uuid, at, at + interval '1 s', 'chat', 'client',
    CASE WHEN n % 4 = 0 OR n % 5 = 0 THEN 'error' ELSE 'unset' END, 'chat',
    CASE WHEN n % 2 = 0 THEN 'gemini-3' WHEN n % 5 = 0 THEN 'gpt-5' ELSE 'gpt-5-2026-01' END, 'p', 10, n / 64.0, 'override',
    CASE WHEN n % 2 = 1 AND n % 5 > 0 THEN '{"gen_ai.request.model": "gpt-5"}' ELSE '{}' END::jsonb, '{}', '[]', '[]'
  FROM (SELECT n, to_timestamp(${FIRST_MS / 1000}) + n * interval '1 s' AS at FROM generate_series(1, 60) AS n) AS calls`;

const sums = ({ runs, failed, contradicted, unsupported, held, unpriced, costUsd }: RunMetrics) => ({
  ...{ runs, failed, contradicted, unsupported, held, unpriced, costUsd },
});

/** Roll-up and runs, side by side where they differ. */
async function differences(db: Queryable): Promise<readonly unknown[]> {
  const { rows } = await db.query(`WITH counted AS (
      SELECT date_trunc('hour', started_at, 'UTC') AS hour, mcp_runs_duration_class(started_at, ended_at) AS duration_class,
        count(*) AS runs, sum(spans) AS spans, count(*) FILTER (WHERE is_failed) AS failed,
        count(*) FILTER (WHERE contradicted) AS contradicted, count(*) FILTER (WHERE unsupported AND NOT contradicted) AS unsupported,
        count(*) FILTER (WHERE held > 0) AS held, sum(cost_usd) AS cost_usd, sum(unpriced) AS unpriced
      FROM mcp_runs GROUP BY 1, 2
    )
    SELECT * FROM counted c FULL JOIN mcp_runs_hourly h USING (hour, duration_class)
    WHERE c.runs IS DISTINCT FROM h.runs AND (c.runs IS NOT NULL OR h.runs <> 0)
      OR (c.spans, c.failed, c.contradicted, c.unsupported, c.held, c.unpriced)
        IS DISTINCT FROM (h.spans, h.failed, h.contradicted, h.unsupported, h.held, h.unpriced) AND h.runs <> 0
      OR abs(c.cost_usd - h.cost_usd) > 1e-6`);
  return rows;
}

for (const databases of all) {
  describe(`figures over many runs on ${databases.name}`, { skip: databases.skip }, () => {
    test('are those of the single runs, whatever the range', async () => {
      const db = await databases.createMigrated();
      await db.query(insertRuns(RUNS));
      const ranges = [
        { sinceMs: FIRST_MS, untilMs: FIRST_MS + 30.5 * HOUR_MS },
        { sinceMs: FIRST_MS, untilMs: FIRST_MS + 30 * HOUR_MS },
        { sinceMs: FIRST_MS + HOUR_MS / 7, untilMs: FIRST_MS + 29.99 * HOUR_MS },
      ];
      for (const range of ranges) {
        const byTheHour = await runMetrics(db, range);
        // A filter that all runs meet: they are counted one by one.
        const oneByOne = await runMetrics(db, { ...range, filter: 'is:rooted' });
        assert.ok(oneByOne.runs > 20_000);
        assert.deepEqual(sums(byTheHour), sums(oneByOne));
        for (const name of ['durationP50Ms', 'durationP95Ms'] as const) {
          const [one, other] = [byTheHour[name] ?? 0, oneByOne[name] ?? 0];
          assert.ok(Math.abs(one / other - 1) < 0.02, `${name}: ${one} and ${other}`);
        }
        const runsOf = ({ buckets }: RunMetrics) => buckets.reduce((sum, { runs }) => sum + runs, 0);
        assert.equal(runsOf(byTheHour), byTheHour.runs);
        assert.ok(byTheHour.buckets.every(({ runs, durationP95Ms }) => runs > 0 && durationP95Ms > 0));
      }
    });

    test('are kept while runs grow, come again and are deleted', async () => {
      const db = await databases.createMigrated();
      await db.query(insertRuns(300));
      assert.deepEqual(await differences(db), []);
      await db.query(
        `UPDATE mcp_runs SET ended_at = ended_at + interval '1 minute', started_at = started_at - interval '20 minutes',
          spans = spans + 3, errors = 1, cost_usd = cost_usd * 2, contradicted = true WHERE spans < 4`,
      );
      await db.query(`${insertRuns(400)} ON CONFLICT (trace_id) DO UPDATE SET held = 1, unpriced = 9`);
      assert.deepEqual(await differences(db), []);
      await db.query(`DELETE FROM mcp_runs WHERE spans > 2`);
      assert.deepEqual(await differences(db), []);
      await db.query('TRUNCATE mcp_runs');
      const { rows } = await db.query('SELECT * FROM mcp_runs_hourly');
      assert.deepEqual(rows, []);
    });

    test('a model has the calls that failed with those that were answered, also under another name and before the schema knew', async () => {
      const db = await databases.create();
      const finer = MIGRATIONS.findIndex(({ name }) => name.endsWith('finer_sums'));
      assert.ok(finer > 0 && finer < LATEST_MIGRATION);
      await execScript(db, migrationScript(MIGRATIONS.slice(0, finer)));
      await db.query(insertCalls('before'));
      await rollUpAll(db);
      await db.query(insertRuns(300));
      await execScript(db, migrationScript(MIGRATIONS.slice(finer)));
      assert.deepEqual(await differences(db), []);
      await db.query(insertCalls('since'));
      await rollUpAll(db);
      const range = { sinceMs: FIRST_MS - HOUR_MS, untilMs: FIRST_MS + HOUR_MS };
      const { rows: wanted } =
        await db.query(`SELECT coalesce(attributes ->> 'gen_ai.request.model', model) AS name,
          count(*)::float8 AS calls, (count(*) FILTER (WHERE status_code = 'error'))::float8 AS failed, sum(cost_usd) AS cost
        FROM mcp_traces GROUP BY 1 ORDER BY 1`);
      assert.equal(wanted.length, 2);
      for (const filter of ['', 'is:rooted']) {
        const found = await costs(db, 'model', range, filter);
        assert.deepEqual(
          found
            .map(({ name, calls, failed, costUsd: cost }) => ({ name, calls, failed, cost }))
            .sort((a, b) => (a.name < b.name ? -1 : 1)),
          wanted,
        );
        const [, asked] = wanted;
        assert.deepEqual(found.find(({ name }) => name === asked?.name)?.answered, ['gpt-5-2026-01']);
      }
    });

    test('sums of costs lack nothing where there are more names and hours than rows', async () => {
      const db = await databases.createMigrated();
      await db.query(`INSERT INTO mcp_models_hourly SELECT to_timestamp(${FIRST_MS / 1000}) + h * interval '1 hour', '', 'm',
          'user ' || n, false, 1, 0, 0, 0, 1, 1, 0, 0.5, 0, 0, 'm' FROM generate_series(1, 24) AS h, generate_series(1, 400) AS n`);
      const day = { sinceMs: FIRST_MS, untilMs: FIRST_MS + 30 * HOUR_MS };
      const rows = await costs(db, 'user', day);
      const { rows: all } = await db.query(
        'SELECT sum(calls)::float8 AS calls, sum(cost_usd) AS usd FROM mcp_models_hourly',
      );
      assert.equal(
        rows.reduce((sum, { calls }) => sum + calls, 0),
        all[0]?.calls,
      );
      assert.equal(
        rows.reduce((sum, { costUsd }) => sum + costUsd, 0),
        all[0]?.usd,
      );
    });

    test('sessions are the newest ones, of many runs too, with all their runs', async () => {
      const db = await databases.createMigrated();
      await db.query(insertRuns(3000));
      const range = { sinceMs: FIRST_MS - HOUR_MS, untilMs: FIRST_MS + 31 * HOUR_MS };
      const { sessions, leftOut } = await listSessions(db, range);
      assert.deepEqual(
        sessions.map(({ session }) => session),
        Array.from({ length: 30 }, (_, i) => `s${999 - i}`),
      );
      assert.ok(sessions.every(({ runs, newest }) => runs === 3 && newest.length === 3));
      assert.equal(leftOut, null);
      // Few match: all are looked at, and counted.
      const rare = await listSessions(db, { ...range, filter: 'status:held cost>1.4' });
      const held = Array.from({ length: 3000 }, (_, n) => n).filter((n) => n % 17 === 0 && n % 100 > 89);
      assert.deepEqual([rare.sessions.length, rare.leftOut], [held.length, 0]);
      await db.query(`UPDATE mcp_runs SET session_id = NULL, user_id = 'u' || session_id`);
      assert.equal((await listSessions(db, range)).sessions[0]?.user, 'us999');
    });
  });
}
