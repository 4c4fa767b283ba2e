/** The tests that hold for each kind of database, on PGlite; the other tiers run them on PostgreSQL. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { migrate, PostgresSpanExporter } from '../src/postgres/index.ts';
import { LATEST_MIGRATION, MIGRATIONS } from '../src/postgres/migrations.ts';
import { pgliteDatabases, postgresDatabases, readRows } from './support/databases.ts';
import { exportSpans } from './support/export.ts';
import { noPostgres } from './support/postgres-server.ts';
import { randomSpans } from './support/random-spans.ts';

process.env.OBSERVATORY_TEST_DATABASE = 'pglite';
const files = readdirSync(import.meta.dirname).filter(
  (name) =>
    /(?<!\.long)\.test\.js$/.test(name) &&
    readFileSync(join(import.meta.dirname, name), 'utf8').includes(' testDatabases('),
);
for (const name of files) await describe(name, () => import(`./${name}`));

test('all of them were found', () => {
  assert.ok(files.includes('postgres-exporter.test.js'), files.join());
});

test('migrates once, and again does nothing', async () => {
  await using databases = pgliteDatabases();
  const db = await databases.create();
  const applied = MIGRATIONS.map(({ name }) => name);
  assert.deepEqual(await migrate(db), { applied, remade: [], version: LATEST_MIGRATION });
  assert.deepEqual(await migrate(db), { applied: [], remade: [], version: LATEST_MIGRATION });
});

test('both kinds hold identical rows for the same spans', { skip: noPostgres() }, async () => {
  await using real = postgresDatabases();
  await using embedded = pgliteDatabases();
  const spans = randomSpans(200, 42);
  const [first, second] = await Promise.all(
    [real, embedded].map(async (databases) => {
      const db = await databases.create();
      await migrate(db);
      assert.deepEqual(await exportSpans(new PostgresSpanExporter({ connection: db }), spans), { code: 0 });
      return readRows(db, 'span_id');
    }),
  );
  assert.equal(first?.length, 200);
  assert.deepEqual(first, second);
});
