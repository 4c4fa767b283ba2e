import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { HrTime } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import pg from 'pg';
import {
  countAll,
  databaseStatus,
  PostgresSpanExporter,
  prune,
  type Queryable,
} from '../src/postgres/index.ts';
import { createPartitions, listPartitions } from '../src/postgres/partitions.ts';
import { countRows, testDatabases } from './support/databases.ts';
import { exportSpans } from './support/export.ts';
import { manySpans } from './support/many-spans.ts';
import { makePartitionsOfToday } from './support/partitions-of-today.ts';
import {
  applyRoles,
  createRole,
  findPsql,
  noPostgres,
  type PostgresServer,
  runSql,
  startPostgres,
} from './support/postgres-server.ts';
import { altered, spanWith } from './support/spans.ts';
import { waitUntil } from './support/wait-until.ts';

const DAY_MS = 86_400_000;

/** A span that started so many days ago. */
const spanFrom = (daysAgo: number) => {
  const time: HrTime = [Math.floor((Date.now() - daysAgo * DAY_MS) / 1000), 0];
  return altered(spanWith({}), { startTime: time, endTime: time });
};

/** The partition of the day a span started in. */
const partitionOf = (span: ReadableSpan | undefined) =>
  `mcp_traces_${new Date((span?.startTime[0] ?? 0) * 1000).toISOString().slice(0, 10).replaceAll('-', '')}`;

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

    test('a database migrated yesterday gets the partitions of one migrated today', async () => {
      const db = await databases.createMigrated();
      const made = (await listPartitions(db)).map(({ name }) => name);
      const { rows } = await db.query(
        `SELECT to_char(now() AT TIME ZONE 'UTC' - interval '1 day', 'YYYY-MM-DD') AS day`,
      );
      const day = String(rows[0]?.day);
      await db.query(`CREATE TABLE mcp_traces_${day.replaceAll('-', '')} PARTITION OF mcp_traces
        FOR VALUES FROM ('${day}T00:00:00Z') TO ('${new Date(Date.parse(day) + DAY_MS).toISOString()}')`);
      await db.query(`DROP TABLE ${made.at(-2)}`);
      await makePartitionsOfToday(db);
      assert.deepEqual(
        (await listPartitions(db)).map(({ name }) => name),
        made,
      );
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
      const db = await databases.createMigrated();
      const spans = [0, -1, -100, 50, 5].map(spanFrom);
      await exportSpans(new PostgresSpanExporter({ connection: db }), spans);
      const before = new Date(Date.now() - 30 * DAY_MS);
      // A transaction of another test on this server holds back what can be counted.
      await waitUntil(async () => {
        await countAll(db);
        return (await db.query('SELECT FROM mcp_runs')).rows.length === 5;
      });
      // The one of 50 days ago, and the one dated 100 days ahead by a wrong clock.
      const expected = { dropped: [], droppedSpans: 0, kept: [], deletedRows: 2 };
      assert.deepEqual(await prune(db, before, true), { ...expected, derivedRows: { mcp_runs: 2 } });
      assert.equal(await countRows(db), 5, 'a dry run deletes nothing');
      assert.deepEqual(await prune(db, before), { ...expected, derivedRows: { mcp_runs: 2 } });
      assert.equal(await countRows(db), 3);
      const hours = await db.query('SELECT sum(spans)::int AS spans FROM mcp_traces_hourly');
      assert.equal(hours.rows[0]?.spans, 5, 'all were counted before some were deleted');
      // Noon of tomorrow, whatever the time is now.
      const midnight = Math.floor(Date.now() / DAY_MS) * DAY_MS;
      const later = await prune(db, new Date(midnight + 1.5 * DAY_MS));
      const today = partitionOf(spans[0]);
      assert.deepEqual([later.dropped, later.droppedSpans, later.deletedRows], [[today], 1, 1]);
      assert.equal(await countRows(db), 1);
    });
  });
}

describe('partitions of a server with many clients', { skip: noPostgres() }, () => {
  let server: Promise<PostgresServer> | undefined;
  const newPool = async () => {
    server ??= startPostgres();
    return new pg.Pool({ connectionString: await (await server).createMigrated(), max: 12 });
  };
  after(async () => (await server)?.stop());

  test('many processes may make and drop partitions at once, under load', async () => {
    const pool = await newPool();
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
    const pool = await newPool();
    const url = pool.options.connectionString ?? '';
    for (let i = 0; i < 2; i += 1) applyRoles(url);
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
