import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { HrTime } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import pg from 'pg';
import { COLUMNS } from '../src/base/fields.ts';
import {
  countAll,
  databaseStatus,
  migrate,
  PostgresSpanExporter,
  prune,
  type Queryable,
} from '../src/postgres/index.ts';
import { MIGRATIONS } from '../src/postgres/migrations.ts';
import { createPartitions, listPartitions } from '../src/postgres/partitions.ts';
import { countRows, testDatabases } from './support/databases.ts';
import { exportSpans } from './support/export.ts';
import { manySpans } from './support/many-spans.ts';
import {
  createRole,
  findPsql,
  noPostgres,
  type PostgresServer,
  runSql,
  startPostgres,
} from './support/postgres-server.ts';
import { longTest } from './support/size.ts';
import { altered, spanWith } from './support/spans.ts';
import { waitUntil } from './support/wait-until.ts';

const root = new URL('../../', import.meta.url);
const sqlOf = (name: string) => readFileSync(new URL(`schema/${name}.sql`, root), 'utf8');
const DAY_MS = 86_400_000;

/** A span that started so many days ago. */
const spanFrom = (daysAgo: number) => {
  const time: HrTime = [Math.floor((Date.now() - daysAgo * DAY_MS) / 1000), 0];
  return altered(spanWith({}), { startTime: time, endTime: time });
};

/** The partition of the day a span started in. */
const partitionOf = (span: ReadableSpan | undefined) =>
  `mcp_traces_${new Date((span?.startTime[0] ?? 0) * 1000).toISOString().slice(0, 10).replaceAll('-', '')}`;

/** Runs as the version before partitions left it: the first migration only. */
async function migrateToFirstVersion(db: Queryable): Promise<void> {
  const exec = (text: string) =>
    'exec' in db ? (db as { exec(text: string): Promise<unknown> }).exec(text) : db.query(text);
  await exec(`CREATE TABLE mcp_observatory_migrations (id integer PRIMARY KEY, name text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now());
    INSERT INTO mcp_observatory_migrations VALUES (1, '001_mcp_traces');
    ${sqlOf('001_mcp_traces')}`);
}

/** Columns that later migrations add, with their types. */
const LATER = MIGRATIONS.slice(1).flatMap(({ name }) =>
  [...sqlOf(name).matchAll(/^(?:ALTER TABLE mcp_traces)? +ADD COLUMN (\w+) ([a-z ]+)[,;]$/gm)].map(
    ([, column = '', type = '']) => ({
      column,
      type,
    }),
  ),
);

/** Writes rows to a table of the first version, which lacks the columns of later ones. */
async function exportAsFirst(db: Queryable, spans: readonly ReadableSpan[]): Promise<void> {
  const columns = LATER.filter(({ column }) => COLUMNS.some((name) => name === column));
  for (const { column, type } of columns) await db.query(`ALTER TABLE mcp_traces ADD ${column} ${type}`);
  assert.deepEqual(await exportSpans(new PostgresSpanExporter({ connection: db, copy: false }), [...spans]), {
    code: 0,
  });
  for (const { column } of columns) await db.query(`ALTER TABLE mcp_traces DROP COLUMN ${column}`);
}

for (const databases of testDatabases()) {
  describe(`partitions on ${databases.name}`, { skip: databases.skip }, () => {
    after(() => databases[Symbol.asyncDispose]());

    test('spans go to the partition of their day, and those of no day to the default one', async () => {
      const db = await databases.createMigrated();
      const spans = [spanFrom(0), spanFrom(-1), spanFrom(400), spanFrom(-400)];
      assert.deepEqual(await exportSpans(new PostgresSpanExporter({ connection: db }), spans), { code: 0 });
      const { rows } = await db.query('SELECT tableoid::regclass::text AS part FROM mcp_traces ORDER BY 1');
      const parts = rows.map((row) => row.part);
      assert.equal(parts.filter((part) => part === 'mcp_traces_default').length, 2);
      assert.ok(parts.includes(partitionOf(spans[0])));
      const { table } = await databaseStatus(db);
      assert.equal(table?.partitions.length, 5);
      assert.ok((table?.bytesPerSpan ?? 0) > 100 && (table?.tableBytes ?? 0) > 0);
    });

    test('rows of the version before partitions stay, and are the same rows', async () => {
      const db = await databases.create();
      await migrateToFirstVersion(db);
      const exporter = new PostgresSpanExporter({ connection: db, copy: false });
      const spans = [spanFrom(0), spanFrom(30), spanFrom(-10), ...manySpans(50)];
      await exportAsFirst(db, spans);
      const first = COLUMNS.filter((name) => !LATER.some(({ column }) => column === name));
      const asText = async () => {
        const { rows } = await db.query(
          `SELECT (${first.join(', ')})::text AS row FROM mcp_traces ORDER BY 1`,
        );
        return rows.map(({ row }) => row);
      };
      const before = await asText();
      const hexBefore = (await db.query('SELECT trace_id, span_id FROM mcp_traces_hex ORDER BY 2')).rows;
      assert.deepEqual(
        (await migrate(db)).applied,
        MIGRATIONS.slice(1).map(({ name }) => name),
      );
      assert.deepEqual(await asText(), before);
      assert.deepEqual(
        (await db.query('SELECT trace_id, span_id FROM mcp_traces_hex ORDER BY 2')).rows,
        hexBefore,
      );
      // The exporter that was made before goes on, and sending again adds none.
      assert.deepEqual(await exportSpans(exporter, spans), { code: 0 });
      assert.equal(await countRows(db), 53);
    });

    test('a partition made late takes the rows that waited in the default one', async () => {
      const db = await databases.createMigrated();
      await exportSpans(new PostgresSpanExporter({ connection: db }), [spanFrom(-6), spanFrom(0)]);
      assert.equal(await createPartitions(db), 0);
      const { rows } = await db.query('SELECT mcp_traces_create_partitions(7) AS made');
      assert.equal(rows[0]?.made, 4);
      assert.equal((await db.query('SELECT FROM mcp_traces_default')).rows.length, 0);
      assert.equal(await countRows(db), 2);
    });

    test('prune drops what is older, whole days at a time, and nothing younger', async () => {
      const db = await databases.create();
      await migrateToFirstVersion(db);
      await exportAsFirst(db, [spanFrom(50), spanFrom(5)]);
      await migrate(db);
      const exporter = new PostgresSpanExporter({ connection: db });
      await exportSpans(exporter, [spanFrom(0), spanFrom(-1), spanFrom(-100)]);
      const before = new Date(Date.now() - 30 * DAY_MS);
      // A transaction of another test on this server holds back what can be counted.
      await waitUntil(async () => {
        await countAll(db);
        return (await db.query('SELECT FROM mcp_runs')).rows.length === 5;
      });
      // The one of 50 days ago, and the one dated 100 days ahead by a wrong clock.
      const expected = { dropped: [], droppedSpans: 0, deletedRows: 2 };
      assert.deepEqual(await prune(db, before, true), { ...expected, derivedRows: { mcp_runs: 2 } });
      assert.equal(await countRows(db), 5, 'a dry run deletes nothing');
      assert.deepEqual(await prune(db, before), { ...expected, derivedRows: { mcp_runs: 2 } });
      assert.equal(await countRows(db), 3);
      const hours = await db.query('SELECT sum(spans)::int AS spans FROM mcp_traces_hourly');
      assert.equal(hours.rows[0]?.spans, 5, 'all were counted before some were deleted');
      // Noon of tomorrow, whatever the time is now.
      const midnight = Math.floor(Date.now() / DAY_MS) * DAY_MS;
      const later = await prune(db, new Date(midnight + 1.5 * DAY_MS));
      assert.deepEqual([later.dropped, later.droppedSpans], [['mcp_traces_history'], 2]);
      assert.equal(await countRows(db), 1);
      assert.ok((await listPartitions(db)).every(({ name }) => name !== 'mcp_traces_history'));
    });

    test('the rows of a table from before there were migrations are taken over, and the table is kept', async () => {
      const db = await databases.create();
      await db.query(`CREATE TABLE mcp_traces (trace_id UUID, span_id UUID, parent_span_id UUID, service TEXT,
        model TEXT, tool_name TEXT, start_time TIMESTAMP, end_time TIMESTAMP, prompt_tokens INT, cost_usd FLOAT,
        fallback_used BOOLEAN, method TEXT, request_id TEXT, composite_risk_score FLOAT, exec_token_ttl_ms INT)`);
      await db.query(`INSERT INTO mcp_traces VALUES
        ('4bf92f35-77b3-4da6-a3ce-929d0e0e4736', '00000000-0000-0000-b7ad-6b7169203331', NULL, 'svc', 'gpt-4o', NULL,
         '2026-01-02 03:04:05.678901', '2026-01-02 03:04:06', 12, 0.1, true, 'tools/call', 'r-1', 0.30000000000000004, 7),
        ('4bf92f35-77b3-4da6-a3ce-929d0e0e4736', '00000000-0000-0000-b7ad-6b7169203331', NULL, 'again', NULL, NULL,
         '2026-01-02 03:04:05.678901', NULL, NULL, 'NaN', NULL, NULL, NULL, NULL, NULL),
        (NULL, NULL, NULL, NULL, NULL, 'search', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)`);
      await migrate(db);
      const { rows } = await db.query(
        `SELECT service, span_name, prompt_tokens, cost_usd::text AS cost, attributes::text AS attributes,
           to_char(start_time AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') AS start
         FROM mcp_traces ORDER BY service NULLS LAST`,
      );
      assert.equal(rows.length, 3);
      assert.deepEqual(
        rows.map((row) => [row.service, row.span_name, row.prompt_tokens, row.cost, row.start]),
        [
          ['again', 'unknown', null, 'NaN', '2026-01-02 03:04:05.678901'],
          ['svc', 'tools/call', 12, '0.1', '2026-01-02 03:04:05.678901'],
          [null, 'search', null, null, '1970-01-01 00:00:00.000000'],
        ],
      );
      assert.deepEqual(JSON.parse(String(rows[1]?.attributes)), {
        'observatory.request_id': 'r-1',
        'observatory.composite_risk_score': 0.30000000000000004,
        'observatory.exec_token_ttl_ms': 7,
      });
      assert.equal((await db.query('SELECT FROM mcp_traces_first')).rows.length, 3);
    });
  });
}

describe('partitions of a server with many clients', { skip: noPostgres() }, () => {
  let server: Promise<PostgresServer> | undefined;
  const newPool = async (how: 'createDatabase' | 'createMigrated') => {
    server ??= startPostgres();
    return new pg.Pool({ connectionString: await (await server)[how](), max: 12 });
  };
  after(async () => (await server)?.stop());

  test('writers of both versions go on while the table is migrated, and no row is lost', async () => {
    const pool = await newPool('createDatabase');
    await migrateToFirstVersion(pool);
    const exporters = [
      new PostgresSpanExporter({ connection: pool, copy: false }),
      new PostgresSpanExporter({ connection: pool }),
    ];
    let sent = 0;
    let isOver = false;
    const writing = exporters.map(async (exporter) => {
      while (!isOver) {
        const spans = manySpans(50);
        for (;;) {
          const { code } = await exportSpans(exporter, spans);
          if (code === 0) break;
        }
        sent += spans.length;
      }
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    await migrate(pool);
    await new Promise((resolve) => setTimeout(resolve, 50));
    isOver = true;
    await Promise.all(writing);
    assert.equal(await countRows(pool as Queryable), sent);
    await pool.end();
  });

  longTest('many processes may make and drop partitions at once, under load', async () => {
    const pool = await newPool('createMigrated');
    const exporter = new PostgresSpanExporter({ connection: pool });
    const load = Promise.all(
      Array.from({ length: 10 }, async () =>
        assert.deepEqual(await exportSpans(exporter, manySpans(200)), { code: 0 }),
      ),
    );
    await Promise.all(
      Array.from({ length: 6 }, async (_, i) => {
        await pool.query(`SELECT mcp_traces_create_partitions(${4 + i})`);
        await prune(pool, new Date(Date.now() - DAY_MS));
      }),
    );
    await load;
    assert.equal(await countRows(pool as Queryable), 2000);
    assert.equal((await listPartitions(pool)).length, 11);
    await pool.end();
  });

  test('the writer role may write, and make partitions, and nothing else; the reader may only read', {
    skip: findPsql() === undefined && 'no psql',
  }, async () => {
    const pool = await newPool('createMigrated');
    const url = pool.options.connectionString ?? '';
    const file = fileURLToPath(new URL('schema/roles.sql', root));
    for (let i = 0; i < 2; i += 1) {
      execFileSync(findPsql() ?? '', [url, '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', file]);
    }
    await using writer = await createRole(url, 'IN ROLE mcp_observatory_writer');
    await using reader = await createRole(url, 'IN ROLE mcp_observatory_reader');
    const spans = manySpans(20);
    await using exporter = new PostgresSpanExporter({ connection: writer.url });
    assert.deepEqual(await exportSpans(exporter, spans), { code: 0 });
    assert.deepEqual(await exportSpans(exporter, spans), { code: 0 });
    assert.equal(await countRows(pool as Queryable), 20);
    const denied = { code: '42501' };
    for (const sql of [
      'SELECT * FROM mcp_traces',
      'DELETE FROM mcp_traces',
      'UPDATE mcp_traces SET model = $$x$$',
    ]) {
      await assert.rejects(runSql(writer.url, sql), denied, sql);
    }
    await runSql(writer.url, 'SELECT mcp_traces_create_partitions(5)');
    assert.equal((await runSql(reader.url, 'SELECT * FROM mcp_traces_hex')).length, 20);
    await assert.rejects(runSql(reader.url, 'SELECT mcp_traces_create_partitions(9)'), denied);
    await assert.rejects(runSql(reader.url, 'INSERT INTO mcp_traces SELECT * FROM mcp_traces'), denied);
    await pool.end();
  });
});
