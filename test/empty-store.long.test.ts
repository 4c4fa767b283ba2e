/** The store that is copied instead of being made. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { migrate, openDatabase } from '../src/postgres/index.ts';
import { LATEST_MIGRATION } from '../src/postgres/migrations.ts';
import { copyPrepared, packDirectory } from '../src/postgres/prepared-directory.ts';
import { tempDir } from './support/temp-dir.ts';

const TABLES = `SELECT relname::text AS name, relkind::text AS kind, reltuples::int AS rows FROM pg_class
  WHERE relnamespace = 'public'::regnamespace ORDER BY 1`;

test('a copy of the prepared store is what a new one is after its migrations', async () => {
  const folder = tempDir();
  const [made, copied] = [join(folder, 'made'), join(folder, 'copied')];
  let tables: unknown;
  {
    await using db = await openDatabase({ dataDir: made, isPrepared: false });
    await migrate(db);
    tables = (await db.query(TABLES)).rows;
  }
  const prepared = join(folder, 'empty-store.br');
  writeFileSync(prepared, await packDirectory(made));
  assert.ok(readFileSync(prepared).length < 1_500_000, 'it ships with the package');

  mkdirSync(copied);
  mkdirSync(`${copied}.unfinished.${randomUUID()}`);
  assert.equal(await copyPrepared(copied, undefined, prepared), true);
  assert.deepEqual(
    readdirSync(folder).sort(),
    ['copied', 'empty-store.br', 'made'],
    'what was cut off before is gone',
  );
  const used = join(folder, 'used');
  mkdirSync(used);
  writeFileSync(join(used, 'notes.txt'), 'mine');
  assert.equal(await copyPrepared(used, undefined, prepared), false);
  assert.deepEqual(readdirSync(used), ['notes.txt']);
  assert.ok(!readdirSync(folder).some((name) => name.includes('.unfinished.')));
  for (let opened = 1; opened <= 2; opened += 1) {
    await using db = await openDatabase({ dataDir: copied });
    assert.deepEqual(await migrate(db), { applied: [], remade: [], version: LATEST_MIGRATION });
    assert.deepEqual((await db.query(TABLES)).rows, tables);
    await db.query(`INSERT INTO mcp_traces (trace_id, span_id, service, span_name, span_kind, status_code, scope, start_time, end_time, attributes, resource, events, links)
      VALUES (gen_random_uuid(), gen_random_uuid(), 'a service', 'a span', 'internal', 'unset', 'a scope', now(), now(), '{}', '{}', '[]', '[]')`);
    const { rows } = await db.query('SELECT count(*)::int AS count FROM mcp_traces');
    assert.equal(rows[0]?.count, opened);
  }
});

test('nothing is made for another PGlite, or without a prepared store', async () => {
  const folder = tempDir();
  const prepared = join(folder, 'empty-store.br');
  writeFileSync(prepared, 'not packed at all');
  const empty = join(folder, 'empty');
  mkdirSync(empty);
  assert.equal(await copyPrepared(empty, 'file:///nowhere/index.js', prepared), false);
  assert.equal(await copyPrepared(empty, undefined, join(folder, 'missing.br')), false);
  assert.equal(existsSync(join(empty, 'PG_VERSION')), false);
});
