/** SQL that a model wrote: it reads the traces and does nothing else. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Database, migrate, openDatabase } from '../src/postgres/index.ts';
import { answerSql } from '../src/runs/index.ts';
import { insertDay } from './support/day-of-rows.ts';
import { noPostgres, type PostgresServer, startPostgres } from './support/postgres-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'observatory-sql-'));
let server: PostgresServer | undefined;
after(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const KINDS = [
  { kind: 'Postgres', skip: noPostgres() },
  { kind: 'the embedded database', skip: false },
] as const;

/** What would change, show or hold something. */
const REFUSED = [
  'DELETE FROM mcp_traces',
  'WITH gone AS (DELETE FROM mcp_traces RETURNING 1) SELECT 1 FROM gone',
  'SELECT 1; DELETE FROM mcp_traces',
  'SELECT 1) AS a; DELETE FROM mcp_traces; SELECT * FROM (SELECT 1',
  'SELECT 1) AS a LIMIT 1 -- ',
  'SELECT 1) AS a, (SELECT 2',
  'SELECT * INTO other FROM mcp_traces',
  'SELECT * FROM mcp_runs FOR UPDATE',
  'SELECT 1 /* comment */',
  'SELECT mcp_traces_create_partitions(3)',
  "SELECT set_config('transaction_read_only', 'off', false)",
  `SELECT "set_config" ('role', 'none', false)`,
  `SELECT U&"set\\005fconfig"('role', 'none', false)`,
  "SELECT pg_catalog.set_config('role', 'none', false)",
  'SELECT pg_sleep(60)',
  'SELECT pg_terminate_backend(pg_backend_pid())',
  "SELECT pg_read_file('postmaster.pid')",
  "SELECT lo_export(1, 'x')",
  "SELECT query_to_xml('DELETE FROM mcp_traces', true, true, '')",
  "SELECT * FROM dblink('x', 'y') AS t(a int)",
  'SELECT 1 OPERATOR(pg_catalog.+) 1',
  'SELECT * FROM pg_authid',
  'SELECT * FROM pg_catalog.pg_shadow',
  'SELECT * FROM "pg_authid"',
  'SELECT table_name FROM information_schema.tables',
  'SELECT claim_token FROM mcp_reviews',
  'SELECT (SELECT count(*) FROM mcp_approvals)',
  'SELECT * FROM secrets_of_the_application',
  'SELECT * FROM mcp_observatory_migrations',
  'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n',
  "SELECT repeat('x', 1000000000)",
  'SELECT count(*) FROM generate_series(1, 1000000000000)',
  'SELECT $1',
  'SELECT $$x$$',
  "SELECT E'\\\\'' || current_user",
  'SELECT (1',
  'SELECT 1)',
  'EXPLAIN ANALYZE SELECT 1',
  "COPY mcp_traces TO PROGRAM 'sh'",
  "DO 'BEGIN DELETE FROM mcp_traces; END'",
  'TABLE mcp_reviews',
  'SELECT * FROM absent_table',
  '',
  `SELECT '${'x'.repeat(8000)}'`,
];

for (const { kind, skip } of KINDS) {
  describe(`SQL of a model, ${kind}`, { skip }, () => {
    let db: Database;
    before(async () => {
      if (kind === 'Postgres') {
        server = await startPostgres();
        db = await openDatabase({ url: await server.createMigrated() });
      } else {
        db = await openDatabase({ dataDir: join(folder, 'pgdata') });
        await migrate(db);
      }
      await db.query(insertDay(2000));
      await db.exec(
        "CREATE TABLE secrets_of_the_application (secret text); INSERT INTO secrets_of_the_application VALUES ('x')",
      );
      await db.exec('ANALYZE');
    });
    after(() => db.close());
    const countRows = async () => (await db.query('SELECT count(*)::int AS n FROM mcp_traces')).rows[0]?.n;

    test('an answer has rows as JSON, and says that there are more', async () => {
      const few = await answerSql(
        db,
        `SELECT tool_name, count(*) AS calls, round(avg(extract(epoch FROM end_time - start_time))::numeric, 3) AS seconds
         FROM mcp_traces WHERE start_time > now() - interval '30 days' AND tool_name IS NOT NULL
         GROUP BY tool_name ORDER BY calls DESC, tool_name LIMIT 3;`,
        5,
      );
      assert.equal(few.rows.length, 3);
      assert.deepEqual(Object.keys(JSON.parse(few.rows[0] ?? '')), ['tool_name', 'calls', 'seconds']);
      assert.equal(few.hasMore, false);
      const many = await answerSql(
        db,
        `WITH spans AS (SELECT *, row_number() OVER (PARTITION BY trace_id ORDER BY start_time) AS place FROM mcp_traces)
         SELECT span_name, attributes->>'it''s' AS "odd ""name""" FROM spans WHERE place >= 1 AND span_name LIKE '%--;%' IS FALSE`,
        5,
      );
      assert.deepEqual([many.rows.length, many.hasMore], [5, true]);
    });

    test('whatever else it is asked for is refused, and nothing has changed', async () => {
      const before = await countRows();
      for (const sql of REFUSED) {
        await assert.rejects(answerSql(db, sql, 5), { code: 'INVALID_INPUT' }, sql);
      }
      assert.equal(await countRows(), before);
      assert.equal(
        (await db.query("SELECT current_setting('transaction_read_only') AS is")).rows[0]?.is,
        'off',
      );
    });

    test('a wrong name is answered with the words of the database', async () => {
      await assert.rejects(answerSql(db, 'SELECT toolname FROM mcp_traces', 5), {
        code: 'INVALID_INPUT',
        message: /column "toolname" does not exist/,
      });
    });

    test('what would take too long is stopped, or not begun', async () => {
      const began = performance.now();
      const sql = `SELECT count(*) FROM mcp_traces AS a, mcp_traces AS b, mcp_traces AS c, mcp_traces AS d
        WHERE a.span_name || b.span_name || c.span_name <> d.span_name`;
      await assert.rejects(answerSql(db, sql, 5), {
        code: kind === 'Postgres' ? 'DATABASE_REFUSED' : 'INVALID_INPUT',
        message: kind === 'Postgres' ? /stopped after 5 s/ : /too expensive/,
      });
      assert.ok(performance.now() - began < 60_000);
      assert.equal((await answerSql(db, 'SELECT 1 AS one', 5)).rows[0], '{"one":1}');
    });

    test('rows that functions make of a list in the SQL are counted', async () => {
      const list = Array(1250).fill(1).join();
      const each = (name: string) => `jsonb_array_elements('[${list}]') AS ${name}`;
      const [from, select] = [
        `SELECT count(*) FROM ${each('a')}, ${each('b')}, ${each('c')}`,
        `unnest(ARRAY[${list}])`,
      ];
      const nested = `SELECT count(*) FROM (SELECT ${select}) AS a, (SELECT ${select}) AS b, (SELECT ${select}) AS c`;
      for (const sql of [from, nested]) {
        await assert.rejects(answerSql(db, sql, 5), {
          code: kind === 'Postgres' ? 'DATABASE_REFUSED' : 'INVALID_INPUT',
        });
      }
      const found = await answerSql(
        db,
        `SELECT key, count(*) AS spans FROM mcp_traces, jsonb_each(attributes) WHERE start_time > now() - interval '30 days'
          GROUP BY key ORDER BY spans DESC, key`,
        5,
      );
      assert.ok(found.rows.length > 0);
    });

    test('what grows beyond all bounds is ended, and the next is answered', {
      skip: kind === 'Postgres',
    }, async () => {
      const sql = `SELECT length(replace(replace(replace('${'a'.repeat(1500)}', 'a', '${'b'.repeat(1500)}'), 'b', '${'c'.repeat(1500)}'), 'c', 'dddddddddd'))`;
      await assert.rejects(answerSql(db, sql, 5), { message: /stopped|out of memory|requested length/ });
      assert.equal((await answerSql(db, 'SELECT 1 AS one', 5)).rows[0], '{"one":1}');
    });
  });
}
