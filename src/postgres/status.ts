import { toObservatoryError } from './database-error.ts';
import { schemaVersion } from './migrate.ts';
import { LATEST_MIGRATION } from './migrations.ts';
import { IS_MODEL_CALL, IS_UNTEMPLATED } from './model-calls.ts';
import { refuseOtherTables } from './own-tables.ts';
import { listPartitions, type Partition, textOrNull } from './partitions.ts';
import { missingObjects } from './schema-objects.ts';
import { nameOfDatabase, type Queryable } from './types.ts';

/** How many services and models are listed. */
const TOP = 5;

/** The schema of a database compared with this code. */
export type SchemaState = 'current' | 'missing' | 'incomplete' | 'behind' | 'too_new';

/** Rows of one service or model; `name` is null for rows without one. */
export interface NamedCount {
  readonly name: string | null;
  readonly rows: number;
}

/** Result of {@link databaseStatus}. */
export interface DatabaseStatus {
  /** Version of the server, e.g. `15.18`. */
  readonly serverVersion: string;
  /** Version of the schema in the database, 0 when there is none. */
  readonly schemaVersion: number;
  /** Version of the schema that this code knows. */
  readonly codeVersion: number;
  readonly state: SchemaState;
  /** Objects of the migrations that are missing, such as `table mcp_traces`; only for a schema of this version. */
  readonly missing: readonly string[];
  /** Figures of the table; absent when it is missing. */
  readonly table?: TableStatus | undefined;
}

/** Figures of `mcp_traces`. Times are ISO 8601 UTC text, null when the table is empty. */
export interface TableStatus {
  readonly rows: number;
  readonly firstStartTime: string | null;
  readonly lastStartTime: string | null;
  /**
   * Seconds since the latest span ended: how far the table lags behind a program that records continuously. Null when
   * none has ended by the server's clock.
   */
  readonly lagSeconds: number | null;
  /** Spans that start more than a day ahead of the server's clock: their sender's is wrong. Lists do not show them. */
  readonly aheadRows: number;
  /** Requests to models, and those of them without `prompt_template_id`. */
  readonly modelCalls: number;
  readonly untemplatedCalls: number;
  /** Size of the table with its out-of-line values, in bytes. */
  readonly tableBytes: number;
  /** Size of its indexes, in bytes. */
  readonly indexBytes: number;
  /** Table and indexes divided by the rows; null when the table is empty. */
  readonly bytesPerSpan: number | null;
  /** Oldest first; empty for a schema that has none. */
  readonly partitions: readonly Partition[];
  /** The server's estimate of rows outside the partitions of days. */
  readonly defaultPartitionRows: number;
  /** The server's estimate of deleted rows whose space is not free yet. */
  readonly deadRows: number;
  /** Their share of all rows (0..1): the bloat that vacuum has not removed yet. */
  readonly deadShare: number;
  /** Services with the most rows, then the models. */
  readonly services: readonly NamedCount[];
  readonly models: readonly NamedCount[];
}

const ISO_UTC = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`;

/**
 * Reads the state of schema and table. It counts all rows, which takes about a tenth of a second per million.
 * @throws ObservatoryError `DATABASE_UNREACHABLE` or `DATABASE_REFUSED`.
 */
export async function databaseStatus(db: Queryable): Promise<DatabaseStatus> {
  try {
    await refuseOtherTables(db);
    const version = await schemaVersion(db);
    const missing = version === LATEST_MIGRATION ? await missingObjects(db) : [];
    const { rows } = await db.query(
      `SELECT current_setting('server_version') AS version, to_regclass('mcp_traces') IS NOT NULL AS is_there`,
    );
    return {
      serverVersion: String(rows[0]?.version),
      schemaVersion: version,
      codeVersion: LATEST_MIGRATION,
      state: missing.length > 0 ? 'incomplete' : toState(version),
      missing,
      table: rows[0]?.is_there === true ? await tableStatus(db) : undefined,
    };
  } catch (error) {
    throw toObservatoryError(error, nameOfDatabase(db));
  }
}

function toState(version: number): SchemaState {
  if (version === 0) return 'missing';
  if (version === LATEST_MIGRATION) return 'current';
  return version < LATEST_MIGRATION ? 'behind' : 'too_new';
}

async function tableStatus(db: Queryable): Promise<TableStatus> {
  const { rows } = await db.query(`
    SELECT count(*)::float8 AS rows,
      (count(*) FILTER (WHERE start_time > now() + interval '1 day'))::float8 AS ahead_rows,
      (count(*) FILTER (WHERE ${IS_MODEL_CALL}))::float8 AS model_calls,
      (count(*) FILTER (WHERE ${IS_MODEL_CALL} AND ${IS_UNTEMPLATED}))::float8 AS untemplated_calls,
      to_char(min(start_time) AT TIME ZONE 'UTC', ${ISO_UTC}) AS first_start_time,
      to_char(max(start_time) AT TIME ZONE 'UTC', ${ISO_UTC}) AS last_start_time,
      extract(epoch FROM clock_timestamp() - max(end_time) FILTER (WHERE isfinite(end_time) AND end_time <= now()))::float8 AS lag_seconds,
      (SELECT sum(pg_table_size(relid)) FROM pg_partition_tree('mcp_traces'))::float8 AS table_bytes,
      (SELECT sum(pg_indexes_size(relid)) FROM pg_partition_tree('mcp_traces'))::float8 AS index_bytes,
      (SELECT sum(n_dead_tup) FROM pg_partition_tree('mcp_traces') JOIN pg_stat_user_tables USING (relid))::float8
        AS dead_rows,
      (SELECT n_live_tup FROM pg_stat_user_tables WHERE relid = to_regclass('mcp_traces_default'))::float8
        AS default_rows
    FROM mcp_traces`);
  const count = Number(rows[0]?.rows);
  const deadRows = Number(rows[0]?.dead_rows ?? 0);
  const tableBytes = Number(rows[0]?.table_bytes);
  const indexBytes = Number(rows[0]?.index_bytes);
  return {
    rows: count,
    firstStartTime: textOrNull(rows[0]?.first_start_time),
    lastStartTime: textOrNull(rows[0]?.last_start_time),
    lagSeconds: typeof rows[0]?.lag_seconds === 'number' ? rows[0].lag_seconds : null,
    aheadRows: Number(rows[0]?.ahead_rows),
    modelCalls: Number(rows[0]?.model_calls),
    untemplatedCalls: Number(rows[0]?.untemplated_calls),
    tableBytes,
    indexBytes,
    bytesPerSpan: count === 0 ? null : Math.round((tableBytes + indexBytes) / count),
    partitions: await listPartitions(db),
    defaultPartitionRows: Number(rows[0]?.default_rows ?? 0),
    deadRows,
    deadShare: deadRows === 0 ? 0 : deadRows / (count + deadRows),
    services: await readTop(db, 'service'),
    models: await readTop(db, 'model'),
  };
}

async function readTop(db: Queryable, column: 'service' | 'model'): Promise<NamedCount[]> {
  const { rows } = await db.query(
    `SELECT ${column} AS name, count(*)::float8 AS rows FROM mcp_traces
     GROUP BY ${column} ORDER BY 2 DESC, 1 LIMIT ${TOP}`,
  );
  return rows.map((row) => ({ name: textOrNull(row.name), rows: Number(row.rows) }));
}
