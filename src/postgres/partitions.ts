import { setTimeout as sleep } from 'node:timers/promises';
import { sqlStateOf, toObservatoryError } from './database-error.ts';
import { execScript, nameOfDatabase, type Queryable } from './types.ts';

/** Days for which partitions are created in advance; rows of other days go to the default partition. */
const DAYS_AHEAD = 3;

/** Key of the advisory lock for creating and dropping partitions; also in `schema/002_partitions.sql`. */
const LOCK_KEY = '7882267396523914869';

/** Waiting long for the lock of a partition would block its writers, which queue behind it. */
const DROP_LOCK_TIMEOUT = '2s';
const DROP_ATTEMPTS = 10;
const LOCK_NOT_AVAILABLE = '55P03';

/** Rows deleted by one statement. */
const DELETE_ROWS = 10_000;

/** One partition of `mcp_traces`. */
export interface Partition {
  readonly name: string;
  /** Start, and end (exclusive), ISO 8601 UTC; null where unbounded. */
  readonly from: string | null;
  readonly to: string | null;
  /** Size with indexes, in bytes. */
  readonly bytes: number;
}

/** Result of {@link prune}. */
export interface PruneResult {
  /** Partitions dropped, or in a dry run to be dropped. */
  readonly dropped: readonly string[];
  /** Rows deleted from partitions that also hold younger rows: those without a start. */
  readonly deletedRows: number;
}

/** Creates the partitions of today and the next days. @returns how many. @throws the driver's error. */
export async function createPartitions(db: Queryable): Promise<number> {
  const { rows } = await db.query(`SELECT mcp_traces_create_partitions(${DAYS_AHEAD}) AS made`);
  return Number(rows[0]?.made);
}

/** The partitions, oldest first. @throws the driver's error. */
export async function listPartitions(db: Queryable): Promise<Partition[]> {
  const bound = (word: string) =>
    `to_char((regexp_match(pg_get_expr(c.relpartbound, c.oid), '${word} \\(''([^'']+)''\\)'))[1]::timestamptz
      AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;
  const { rows } = await db.query(`
    SELECT c.relname AS name, ${bound('FROM')} AS from_time, ${bound('TO')} AS to_time,
      pg_total_relation_size(c.oid)::float8 AS bytes
    FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid WHERE inhparent = to_regclass('mcp_traces')
    ORDER BY to_time NULLS LAST`);
  return rows.map((row) => ({
    name: String(row.name),
    from: textOrNull(row.from_time),
    to: textOrNull(row.to_time),
    bytes: Number(row.bytes),
  }));
}

/**
 * Deletes the spans that started before a time by dropping whole partitions, which costs little and frees the disk at
 * once. The day that contains the time is kept. Single rows are deleted only from the default partition and from one
 * that holds rows from before partitions existed. Sessions and runs that ended before and the context tax are forgotten; other hourly roll-ups stay.
 * Processes may run it concurrently, and writers do not wait long.
 *
 * @param isDryRun only reports what would be dropped.
 * @throws ObservatoryError `DATABASE_UNREACHABLE`, `DATABASE_SCHEMA_MISSING`, or `DATABASE_REFUSED`, for instance
 *   because a long query reads from a partition to be dropped.
 */
export async function prune(db: Queryable, before: Date, isDryRun = false): Promise<PruneResult> {
  try {
    const cutoff = before.toISOString();
    const partitions = await listPartitions(db);
    const old = partitions.filter(({ to }) => to !== null && Date.parse(to) <= before.getTime());
    let deletedRows = 0;
    if (!isDryRun) {
      for (const { name } of old) await dropPartition(db, name);
      for (const { name, from } of partitions) {
        if (from === null && !old.some((dropped) => dropped.name === name)) {
          deletedRows += await deleteRows(db, name, cutoff);
        }
      }
      await createPartitions(db);
      await db.query('DELETE FROM mcp_sessions WHERE last_time < $1::text::timestamptz', [cutoff]);
      await db.query('DELETE FROM mcp_tax_hourly WHERE hour < $1::text::timestamptz', [cutoff]);
      await db.query(
        `DELETE FROM mcp_tool_sets s WHERE last_time < $1::text::timestamptz
          AND NOT EXISTS (SELECT FROM mcp_tax_hourly t WHERE t.offered_tools_hash = s.offered_tools_hash)`,
        [cutoff],
      );
      await db.query('DELETE FROM mcp_runs WHERE ended_at < $1::text::timestamptz', [cutoff]);
    }
    return { dropped: old.map(({ name }) => name), deletedRows };
  } catch (error) {
    throw toObservatoryError(error, nameOfDatabase(db));
  }
}

async function dropPartition(db: Queryable, name: string): Promise<void> {
  await dropWhenLockable(db, `DROP TABLE IF EXISTS ${quotedName(name)};`);
}

/** Runs statements that drop a table, one process at a time, and again while others hold a lock of it. */
export async function dropWhenLockable(db: Queryable, statements: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await execScript(
        db,
        `SET LOCAL lock_timeout = '${DROP_LOCK_TIMEOUT}';
        DO $$ BEGIN PERFORM pg_advisory_xact_lock(${LOCK_KEY}); END $$;
        ${statements}`,
      );
      return;
    } catch (error) {
      if (sqlStateOf(error) !== LOCK_NOT_AVAILABLE || attempt === DROP_ATTEMPTS) throw error;
      await sleep(100 * attempt);
    }
  }
}

async function deleteRows(db: Queryable, name: string, cutoff: string): Promise<number> {
  const table = quotedName(name);
  for (let total = 0; ; ) {
    const { rows } = await db.query(
      `WITH gone AS (
        DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
          SELECT ctid FROM ${table} WHERE start_time < $1::text::timestamptz LIMIT ${DELETE_ROWS})) RETURNING 1)
      SELECT count(*)::integer AS rows FROM gone`,
      [cutoff],
    );
    const deleted = Number(rows[0]?.rows);
    total += deleted;
    if (deleted < DELETE_ROWS) return total;
  }
}

/** A name as SQL quotes it. */
export function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Text of a nullable column. */
export function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
