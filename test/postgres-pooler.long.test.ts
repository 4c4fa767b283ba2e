import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { dbCommand } from '../src/cli/db.ts';
import { migrate, openDatabase, PostgresSpanExporter, prune } from '../src/postgres/index.ts';
import { exportSpans } from './support/export.ts';
import { assertExactly } from './support/export-under-fault.ts';
import { idsOf, manySpans } from './support/many-spans.ts';
import { noPgbouncer, type Pooler, startPgbouncer } from './support/pgbouncer.ts';
import { noPostgres, type PostgresServer, runSql, startPostgres } from './support/postgres-server.ts';
import { runCommand } from './support/run-command.ts';

/** Fewer than the exporter opens, so that its statements keep changing connections. */
const CONNECTIONS = 2;

describe('through PgBouncer, by transaction', { skip: noPostgres() || noPgbouncer() }, () => {
  let server: PostgresServer;
  let pooler: Pooler;
  before(async () => {
    server = await startPostgres();
    pooler = await startPgbouncer(server.url, CONNECTIONS);
  });
  after(async () => {
    await pooler?.[Symbol.asyncDispose]();
    await server?.stop();
  });

  for (const copy of [true, false]) {
    test(`spans go in once, sent again or twice at once, by ${copy ? 'COPY' : 'INSERT'}`, async () => {
      const url = await server.createDatabase();
      await using exporter = new PostgresSpanExporter({
        connection: pooler.urlOf(url),
        migrate: true,
        maxConnections: 6,
        maxRowsPerStatement: 100,
        copy,
      });
      const parts = Array.from({ length: 12 }, () => manySpans(250));
      const results = await Promise.all([...parts, ...parts].map((spans) => exportSpans(exporter, spans)));
      assert.ok(
        results.every(({ code }) => code === 0),
        String(results.find(({ error }) => error)?.error),
      );
      for (const spans of parts) assert.deepEqual(await exportSpans(exporter, spans), { code: 0 });
      await assertExactly(url, parts.flatMap(idsOf));
    });
  }

  test('exports refused at once leave no connection of the pooler taken by data that came too late', async () => {
    const url = await server.createDatabase();
    await using exporter = new PostgresSpanExporter({ connection: pooler.urlOf(url), maxConnections: 6 });
    const parts = Array.from({ length: 12 }, () => manySpans(700));
    const exportAll = () => Promise.all(parts.map((spans) => exportSpans(exporter, spans)));
    const refused = await exportAll();
    assert.ok(refused.every(({ error }) => (error as { code?: unknown }).code === 'DATABASE_SCHEMA_MISSING'));
    // Idle connections of the exporter are of no use to others, unless the pooler has taken theirs back.
    const others = Array.from({ length: 2 * CONNECTIONS }, () =>
      runSql(pooler.urlOf(url), 'SELECT 1 AS one'),
    );
    for (const rows of await Promise.all(others)) assert.deepEqual(rows, [{ one: 1 }]);
    await using db = await openDatabase({ url });
    await migrate(db);
    assert.deepEqual(new Set((await exportAll()).map(({ code }) => code)), new Set([0]));
    await assertExactly(url, parts.flatMap(idsOf));
  });

  test('the schema is made, looked at and pruned', async () => {
    const url = await server.createDatabase();
    const pooled = pooler.urlOf(url);
    await using db = await openDatabase({ url: pooled });
    await Promise.all([migrate(db), migrate(db), migrate(db)]);
    await prune(db, new Date());
    const { code } = await runCommand(dbCommand, ['status', '--database-url', pooled]);
    assert.equal(code, 0);
  });
});
