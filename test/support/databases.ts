import type { PGlite } from '@electric-sql/pglite';
import pg from 'pg';
import { FIELDS, type TraceRow } from '../../src/base/fields.ts';
import { migrate, type Queryable } from '../../src/postgres/index.ts';
import { makePartitionsOfToday } from './partitions-of-today.ts';
import { noPostgres, type PostgresServer, startPostgres } from './postgres-server.ts';
import { newPGlite } from './templates.ts';

/** A kind of database that tests run against. */
export interface TestDatabases extends AsyncDisposable {
  readonly name: string;
  /** Why it cannot be had here, for `skip`. */
  readonly skip: string | false;
  /** An empty database; closed with the rest at the end. What the one before it held may be gone. */
  create(): Promise<Queryable>;
  /** The same with the current schema. */
  createMigrated(): Promise<Queryable>;
}

/**
 * The databases for tests that hold on each kind: PostgreSQL, where there is one, else PGlite.
 * `pglite.long.test.ts` runs the same tests on PGlite, which takes seconds to start.
 */
export function testDatabases(start = startPostgres): readonly TestDatabases[] {
  if (process.env.OBSERVATORY_TEST_DATABASE === 'pglite') return [pgliteDatabases()];
  const postgres = postgresDatabases(start);
  return postgres.skip === false ? [postgres] : [postgres, pgliteDatabases()];
}

/** Databases of a throwaway server, which starts when first asked for: the shared one, or one of the test's own. */
export function postgresDatabases(start = startPostgres): TestDatabases {
  let server: Promise<PostgresServer> | undefined;
  const pools: pg.Pool[] = [];
  const open = async (how: 'createDatabase' | 'createMigrated') => {
    server ??= start();
    const pool = new pg.Pool({ connectionString: await (await server)[how]() });
    pools.push(pool);
    return pool;
  };
  return {
    name: 'Postgres',
    skip: noPostgres(),
    create: () => open('createDatabase'),
    createMigrated: () => open('createMigrated'),
    [Symbol.asyncDispose]: async () => {
      for (const pool of pools) await pool.end();
      await (await server)?.stop();
    },
  };
}

/** An embedded PGlite, which starts when first asked for. */
export function pgliteDatabases(): TestDatabases {
  let embedded: PGlite | undefined;
  const create = async () => {
    // Starting one takes seconds, emptying it does not.
    if (embedded === undefined) {
      embedded = await newPGlite();
    } else {
      await embedded.exec('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
      await embedded.exec('DISCARD ALL');
    }
    return embedded as Queryable;
  };
  return {
    name: 'PGlite',
    skip: false,
    create,
    createMigrated: async () => {
      const db = await create();
      await migrate(db);
      await makePartitionsOfToday(db);
      return db;
    },
    [Symbol.asyncDispose]: async () => {
      await embedded?.close();
    },
  };
}

const TIME = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`;

/** Every column as JSON, which no driver parses in its own way. */
const SELECT_JSON = `SELECT json_build_object(${FIELDS.map(({ column, sqlType }) => {
  const value = sqlType === 'timestamptz' ? `to_char(${column} AT TIME ZONE 'UTC', ${TIME})` : column;
  return `'${column}', ${value}`;
})
  .slice(0, 40)
  .join(', ')})::text AS a, json_build_object(${FIELDS.slice(40)
  .map(({ column }) => `'${column}', ${column}`)
  .join(', ')})::text AS b FROM mcp_traces`;

/** The rows of `mcp_traces` in their wire form, as SQL gives them. */
export async function readRows(db: Queryable, orderBy = 'start_time, span_id'): Promise<TraceRow[]> {
  const { rows } = await db.query(`${SELECT_JSON} ORDER BY ${orderBy}`);
  return rows.map((row) => ({ ...JSON.parse(String(row.a)), ...JSON.parse(String(row.b)) }) as TraceRow);
}

/** Rows in `mcp_traces`. */
export async function countRows(db: Queryable): Promise<number> {
  const { rows } = await db.query('SELECT count(*)::integer AS rows FROM mcp_traces');
  return Number(rows[0]?.rows);
}
