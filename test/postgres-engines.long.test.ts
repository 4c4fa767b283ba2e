/**
 * The scripts for Timescale and Citus, without the extensions: a plain Postgres must accept them unchanged, and with
 * stubs in place of the extensions' functions every other statement runs.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, describe, test } from 'node:test';
import type { Queryable } from '../src/postgres/index.ts';
import { migrate, PostgresSpanExporter, refreshRollups } from '../src/postgres/index.ts';
import { createPartitions } from '../src/postgres/partitions.ts';
import { countRows, postgresDatabases } from './support/databases.ts';
import { exportSpans } from './support/export.ts';
import { manySpans } from './support/many-spans.ts';
import { startOwnPostgres } from './support/postgres-server.ts';

const sqlOf = (name: string) => readFileSync(new URL(`../../schema/${name}.sql`, import.meta.url), 'utf8');

/** Options of an extension that is not there cannot be set. */
const TIMESCALE = sqlOf('timescale').replace(/ALTER TABLE mcp_traces SET \(timescaledb[^;]*;/, '');

async function kindOf(db: Queryable): Promise<unknown> {
  return (await db.query(`SELECT relkind FROM pg_class WHERE oid = 'mcp_traces'::regclass`)).rows[0]?.relkind;
}

// The refresh of roll-ups waits for every open transaction of a server, also in other databases.
const postgres = postgresDatabases(startOwnPostgres);
describe('other engines', { skip: postgres.skip }, () => {
  after(() => postgres[Symbol.asyncDispose]());

  test('plain Postgres accepts both scripts and is left as it was', async () => {
    const db = await postgres.create();
    await migrate(db);
    for (const name of ['timescale', 'citus']) await db.query(sqlOf(name));
    assert.equal(await kindOf(db), 'p');
    assert.deepEqual(await exportSpans(new PostgresSpanExporter({ connection: db }), manySpans(3)), {
      code: 0,
    });
  });

  test('the way to a hypertable keeps rows, key, view, grants and roll-ups, and may be gone twice', async () => {
    const db = await postgres.create();
    await migrate(db);
    const spans = manySpans(50);
    await exportSpans(new PostgresSpanExporter({ connection: db }), spans);
    // All databases of a server share its roles.
    const reader = `observatory_${randomBytes(6).toString('hex')}`;
    await db.query(`CREATE ROLE ${reader}; GRANT SELECT ON mcp_traces, mcp_traces_hex TO ${reader}`);
    await db.query(`
      CREATE TABLE stub_calls (call text);
      CREATE FUNCTION create_hypertable(relation regclass, time_column name, chunk_time_interval interval) RETURNS void
        LANGUAGE sql AS $$ INSERT INTO stub_calls VALUES ('create ' || relation::text || ' ' || time_column) $$;
      CREATE FUNCTION add_compression_policy(hypertable regclass, compress_after interval) RETURNS integer
        LANGUAGE sql AS $$ INSERT INTO stub_calls VALUES ('compress ' || hypertable::text); SELECT 1 $$`);
    try {
      await db.query(TIMESCALE);
      await db.query(TIMESCALE);
      const calls = await db.query('SELECT call FROM stub_calls');
      assert.deepEqual(
        calls.rows.map(({ call }) => call),
        ['create mcp_traces_hyper start_time', 'compress mcp_traces'],
      );
      assert.equal(await kindOf(db), 'r');
      assert.equal(await countRows(db), 50);
      assert.equal((await db.query('SELECT FROM mcp_traces_hex')).rows.length, 50);
      await db.query(`SET ROLE ${reader}; SELECT FROM mcp_traces; SELECT FROM mcp_traces_hex; RESET ROLE`);
      const exporter = new PostgresSpanExporter({ connection: db });
      assert.deepEqual(await exportSpans(exporter, [...spans, ...manySpans(7)]), { code: 0 });
      assert.equal(await countRows(db), 57, 'what was there is not added again');
      assert.equal(await refreshRollups(db), 57);
      assert.equal(await createPartitions(db), 0);
    } finally {
      await db.query(`DROP OWNED BY ${reader}; DROP ROLE ${reader}`);
    }
  });

  test('the way to a distributed table is by trace id, and is gone once', async () => {
    const db = await postgres.create();
    await migrate(db);
    await db.query(`
      CREATE TABLE pg_dist_partition (logicalrelid regclass, partkey text);
      CREATE FUNCTION create_distributed_table(table_name regclass, distribution_column text) RETURNS void
        LANGUAGE sql AS $$ INSERT INTO pg_dist_partition VALUES (table_name, distribution_column) $$`);
    await db.query(sqlOf('citus'));
    await db.query(sqlOf('citus'));
    const { rows } = await db.query('SELECT logicalrelid::text AS name, partkey FROM pg_dist_partition');
    assert.deepEqual(rows, [{ name: 'mcp_traces', partkey: 'trace_id' }]);
    const keys = await db.query(`SELECT pg_get_constraintdef(pg_constraint.oid) AS def FROM pg_constraint
      JOIN pg_inherits ON inhrelid = conrelid WHERE inhparent = 'mcp_traces'::regclass AND contype = 'p'`);
    assert.ok(keys.rows.length > 1);
    for (const { def } of keys.rows) {
      assert.match(String(def), /\(trace_id, /, 'a distributed table demands its column in the key');
    }
  });
});
