import { ObservatoryError } from '../base/index.ts';
import { toObservatoryError } from './database-error.ts';
import { nameOfDatabase, type Queryable } from './types.ts';

/** The tables that the migrations make; a test compares the list with them. */
export const OWN_TABLES = [
  'mcp_observatory_migrations',
  'mcp_traces',
  'mcp_reviews',
  'mcp_approvals',
  'mcp_ledger_calls',
  'mcp_ledger_accounts',
  'mcp_traces_hourly',
  'mcp_traces_rollup_state',
  'mcp_traces_settle_state',
  'mcp_tools_hourly',
  'mcp_models_hourly',
  'mcp_definitions_hourly',
  'mcp_sessions',
  'mcp_runs',
  'mcp_runs_hourly',
  'mcp_runs_state',
  'mcp_tool_sets',
  'mcp_tax_hourly',
  'mcp_tax_state',
  'mcp_views',
] as const;

const FOUND = `unnest($1::text[]) AS own (name) JOIN pg_class c ON c.oid = to_regclass(own.name)`;

/** Size of the tables of this package with their partitions and indexes, in bytes. @throws the driver's error. */
export async function ownTablesBytes(db: Queryable): Promise<number> {
  const { rows } = await db.query(
    `SELECT coalesce(sum(pg_total_relation_size(relid)), 0)::float8 AS bytes
      FROM ${FOUND}, LATERAL (SELECT c.oid AS relid UNION SELECT relid FROM pg_partition_tree(c.oid)) AS part`,
    [OWN_TABLES],
  );
  return Number(rows[0]?.bytes);
}

/**
 * Checks that the search path finds the tables and functions of this package and not those of another program that are
 * called alike: statements name them without their schema.
 *
 * @throws ObservatoryError `DATABASE_REFUSED` when tables are found in several schemas, `DATABASE_UNREACHABLE`.
 */
export async function refuseOtherTables(db: Queryable): Promise<void> {
  const found = db.query(
    `WITH own AS (SELECT c.relnamespace AS schema, own.name::text FROM ${FOUND}
      UNION SELECT p.pronamespace, p.proname || '()' FROM pg_proc AS p, pg_proc AS o
        WHERE p.proname LIKE 'mcp\\_%' AND o.proname = p.proname
          AND o.pronamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('mcp_traces'))
          AND array_position(current_schemas(true), p.pronamespace::regnamespace::name)
            < array_position(current_schemas(true), o.pronamespace::regnamespace::name))
      SELECT schema::regnamespace::text AS schema, string_agg(name, ', ' ORDER BY name) AS tables FROM own GROUP BY 1 ORDER BY 1`,
    [OWN_TABLES],
  );
  const { rows } = await found.catch((error: unknown) => {
    throw toObservatoryError(error, nameOfDatabase(db));
  });
  if (rows.length <= 1) return;
  const places = rows.map(({ schema, tables }) => `${String(tables)} in schema ${String(schema)}`).join('; ');
  throw new ObservatoryError(
    'DATABASE_REFUSED',
    `The search path finds tables in several schemas, so that some may be those of another program (${places}). Nothing ` +
      'was changed. Set the search path to the schema of mcp_traces: ?options=-csearch_path%3DSCHEMA in the connection string',
  );
}
