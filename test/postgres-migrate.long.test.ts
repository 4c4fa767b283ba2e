import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { ObservatoryError } from '../src/base/errors.ts';
import { databaseStatus, migrate, type Queryable } from '../src/postgres/index.ts';
import { LATEST_MIGRATION, MIGRATIONS } from '../src/postgres/migrations.ts';
import { schemaObjects } from '../src/postgres/schema-objects.ts';
import {
  findPsql,
  noPostgres,
  type PostgresServer,
  runSql,
  startPostgres,
} from './support/postgres-server.ts';
import { longTest, sized } from './support/size.ts';

const root = new URL('../../', import.meta.url);
const handAppliedFile = fileURLToPath(new URL('schema/postgres.sql', root));
const psqlProgram = findPsql();
const skip = psqlProgram === undefined && 'no psql';
const POOLS = sized(5, 20);
const allNames = MIGRATIONS.map((migration) => migration.name);

test('the list of migrations matches schema/ and is numbered without gaps', () => {
  const files = readdirSync(new URL('schema/', root)).filter((name) => /^\d/.test(name));
  assert.deepEqual(
    files.sort(),
    allNames.map((name) => `${name}.sql`),
  );
  assert.deepEqual(
    MIGRATIONS.map(({ id, name }) => [id, Number(name.slice(0, 3))]),
    MIGRATIONS.map((_, i) => [i + 1, i + 1]),
  );
});

describe('on Postgres', { skip: noPostgres() }, () => {
  let server: Promise<PostgresServer> | undefined;
  const newDatabase = async () => {
    server ??= startPostgres();
    return (await server).createDatabase();
  };
  after(async () => (await server)?.stop());

  test('psql -f schema/postgres.sql leaves the schema that migrate() leaves, and migrate() then has nothing to do', {
    skip,
  }, async () => {
    const byHand = await newDatabase();
    await psql(byHand, '-f', handAppliedFile);
    const byCode = await newDatabase();
    await withPool(byCode, migrate);
    const schema = await describeSchema(byHand);
    assert.deepEqual(schema, await describeSchema(byCode));
    assert.ok(schema.columns.length > 300 && schema.indexes.length > 30, 'the description is not empty');
    assert.deepEqual(await withPool(byHand, migrate), { applied: [], remade: [], version: LATEST_MIGRATION });
  });

  test('schema/postgres.sql may be applied again, and after migrate(), without losing a row', {
    skip,
  }, async () => {
    const url = await newDatabase();
    await withPool(url, migrate);
    await runSql(
      url,
      `INSERT INTO mcp_traces (trace_id, span_id, start_time, end_time, span_name, span_kind, status_code, attributes, resource, events, links)
       VALUES (gen_random_uuid(), gen_random_uuid(), now(), now(), 'n', 'internal', 'unset', '{}', '{}', '[]', '[]')`,
    );
    await psql(url, '-f', handAppliedFile);
    await psql(url, '-f', handAppliedFile);
    assert.deepEqual(await runSql(url, 'SELECT count(*)::integer AS rows FROM mcp_traces'), [{ rows: 1 }]);
  });

  test(`${POOLS} pools of one process all succeed, and each migration is applied once`, async () => {
    const url = await newDatabase();
    const results = await Promise.all(Array.from({ length: POOLS }, () => withPool(url, migrate)));
    // Which pool applied which is a matter of luck; that each was applied by one is not.
    assert.deepEqual(results.flatMap((result) => result.applied).sort(), allNames);
    for (const result of results) assert.equal(result.version, LATEST_MIGRATION);
  });

  longTest('four processes with five pools each all succeed', async () => {
    assert.deepEqual(await raceProcesses(await newDatabase(), 4, 5), allNames);
  });

  test('without the lock, losing the race to another process is not an error', async () => {
    const url = await newDatabase();
    await withPool(url, async (pool) => {
      let raced = false;
      const late: Queryable = {
        query: async (text, values) => {
          if (!raced && text.includes('CREATE TABLE mcp_traces')) {
            raced = true;
            await migrate(pool);
          }
          return pool.query(text, values as unknown[]);
        },
      };
      assert.deepEqual(await migrate(late), { applied: [], remade: [], version: LATEST_MIGRATION });
      assert.ok(raced);
    });
  });

  test('the objects that are looked for are those that the migrations leave', async () => {
    const url = await newDatabase();
    await withPool(url, migrate);
    const rows = await runSql(
      url,
      `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace
         AND (relkind IN ('r', 'p', 'v') OR relkind IN ('i', 'I') AND NOT relispartition)
         AND relname !~ '_pkey$|_key$|_\\d{8}(_|$)' AND relname <> 'mcp_observatory_migrations'
       UNION SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
       UNION SELECT tgname FROM pg_trigger WHERE NOT tgisinternal ORDER BY name`,
    );
    assert.deepEqual([...schemaObjects().keys()].sort(), rows.map(({ name }) => String(name)).sort());
  });

  test('what was dropped is made again and told, and what is there stays', async () => {
    const url = await newDatabase();
    await withPool(url, migrate);
    await runSql(url, `INSERT INTO mcp_runs_state (next_xid, refreshed_at) VALUES (7, now())`);
    const schema = await describeSchema(url);
    for (const [dropped, told] of [
      ['TABLE mcp_traces', /^table mcp_traces,table mcp_traces_default,view mcp_prompt_drift,/],
      ['TABLE mcp_runs', /^table mcp_runs,function mcp_runs_is_named_by,trigger mcp_runs_added,/],
      ['VIEW mcp_traces_hex', /^view mcp_traces_hex$/],
      ['FUNCTION mcp_traces_create_partitions', /^function mcp_traces_create_partitions$/],
      ['INDEX mcp_traces_errors', /^index mcp_traces_errors$/],
      ['TABLE mcp_traces_default', /^table mcp_traces_default$/],
    ] as const) {
      await runSql(url, `DROP ${dropped} CASCADE`);
      const status = await withPool(url, databaseStatus);
      assert.equal(status.state, 'incomplete');
      assert.match(status.missing.join(), told);
      const { applied, remade } = await withPool(url, migrate);
      assert.deepEqual([applied, remade], [[], status.missing], dropped);
    }
    const after = await describeSchema(url);
    assert.deepEqual(after.columns, schema.columns);
    assert.deepEqual(
      after.indexes.map((row) => (row as { indexname: string }).indexname),
      schema.indexes.map((row) => (row as { indexname: string }).indexname),
    );
    assert.deepEqual(after.rest, schema.rest);
    assert.deepEqual(await runSql(url, 'SELECT next_xid::integer AS xid FROM mcp_runs_state'), [{ xid: 7 }]);
    const [open] = await runSql(
      url,
      `SELECT has_function_privilege('public', 'mcp_traces_create_partitions(integer)', 'EXECUTE') AS may`,
    );
    assert.equal(open?.may, false);
    assert.deepEqual((await withPool(url, migrate)).remade, []);
  });

  test('what cannot be made again is named by a typed error', async () => {
    const url = await newDatabase();
    await withPool(url, migrate);
    await runSql(url, 'ALTER TABLE mcp_traces DROP COLUMN span_kind CASCADE');
    await assert.rejects(withPool(url, migrate), (error) => {
      assert.ok(ObservatoryError.isInstance(error));
      assert.equal(error.code, 'DATABASE_SCHEMA_MISSING');
      assert.match(error.message, /column span_kind is missing|column span_kind.*cannot be made again/);
      return true;
    });
  });

  test('a database newer than the code is refused with the remedy', async () => {
    const url = await newDatabase();
    await withPool(url, migrate);
    await runSql(
      url,
      `INSERT INTO mcp_observatory_migrations (id, name) VALUES (${LATEST_MIGRATION + 1}, 'future')`,
    );
    await assert.rejects(withPool(url, migrate), (error) => {
      assert.ok(ObservatoryError.isInstance(error));
      assert.equal(error.code, 'DATABASE_SCHEMA_TOO_NEW');
      assert.match(error.message, /npm install mcp-observatory@latest/);
      return true;
    });
  });

  test('a table of that name which is not ours is left alone and named', async () => {
    const url = await newDatabase();
    await runSql(url, 'CREATE TABLE mcp_traces (mine integer)');
    await assert.rejects(withPool(url, migrate), (error) => {
      assert.ok(ObservatoryError.isInstance(error));
      assert.equal(error.code, 'DATABASE_REFUSED');
      assert.match(error.message, /"mcp_traces" already exists.*in the way/);
      return true;
    });
    const migrations = await runSql(url, `SELECT to_regclass('mcp_observatory_migrations') AS name`);
    assert.deepEqual(migrations, [{ name: null }], 'nothing of the failed transaction is left');
  });

  async function psql(url: string, ...args: string[]): Promise<void> {
    assert.ok(psqlProgram);
    await promisify(execFile)(psqlProgram, [url, '-X', '-q', ...args], { env: { PATH: process.env.PATH } });
  }
});

test('a server that is too old is refused', async () => {
  const old: Queryable = { query: async () => ({ rows: [{ version: 120_022 }] }) };
  await assert.rejects(migrate(old), { code: 'DATABASE_REFUSED', message: /PostgreSQL 12.*needs 13/ });
});

async function withPool<T>(connectionString: string, use: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const pool = new pg.Pool({ connectionString, max: 3 });
  try {
    return await use(pool);
  } finally {
    await pool.end();
  }
}

/** Starts processes, lets all migrate at once when all are ready, and returns what they applied together. */
async function raceProcesses(url: string, processes: number, pools: number): Promise<string[]> {
  const program = fileURLToPath(new URL('./support/migrate-process.js', import.meta.url));
  const children = Array.from({ length: processes }, () =>
    spawn(process.execPath, [program, url, String(pools)], { stdio: ['pipe', 'pipe', 'inherit'] }),
  );
  const outputs = children.map((child) => createInterface({ input: child.stdout })[Symbol.asyncIterator]());
  const exits = children.map((child) => new Promise((resolve) => child.once('exit', resolve)));
  try {
    for (const lines of outputs) assert.equal((await lines.next()).value, 'ready');
    for (const child of children) child.stdin.write('go\n');
    const applied = await Promise.all(
      outputs.map(async (lines) => JSON.parse((await lines.next()).value ?? '')),
    );
    assert.deepEqual(
      await Promise.all(exits),
      Array.from(exits, () => 0),
    );
    // Sorted: which process applied which is a matter of luck; that each was applied by one is not.
    return applied.flat().sort();
  } finally {
    for (const child of children) child.kill('SIGKILL');
  }
}

/** Everything psql and migrate() must agree on. */
async function describeSchema(url: string): Promise<Record<'columns' | 'indexes' | 'rest', unknown[]>> {
  return {
    columns: await runSql(
      url,
      `SELECT table_name, column_name, ordinal_position, data_type, is_nullable, column_default,
         col_description((table_schema || '.' || table_name)::regclass, ordinal_position) AS comment
       FROM information_schema.columns WHERE table_schema = 'public' ORDER BY table_name, ordinal_position`,
    ),
    indexes: await runSql(
      url,
      `SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1`,
    ),
    rest: [
      await runSql(url, `SELECT conname, pg_get_constraintdef(oid) AS def FROM pg_constraint ORDER BY 1`),
      await runSql(url, `SELECT viewname, definition FROM pg_views WHERE schemaname = 'public' ORDER BY 1`),
      await runSql(url, 'SELECT id, name FROM mcp_observatory_migrations ORDER BY id'),
    ],
  };
}
