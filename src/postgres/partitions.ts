import { setTimeout as sleep } from 'node:timers/promises';
import { readSqlState } from './database-error.ts';
import { execScript, type Queryable } from './types.ts';

/** Days for which partitions are created in advance; rows of other days go to the default partition. */
const DAYS_AHEAD = 3;

/** Key of the advisory lock for creating and dropping partitions; also in `schema/001_traces.sql`. */
const LOCK_KEY = '7882267396523914869';

/** Waiting long for the lock of a partition would block its writers, which queue behind it. */
const DROP_LOCK_TIMEOUT = '2s';
const DROP_ATTEMPTS = 10;
const LOCK_NOT_AVAILABLE = '55P03';

/** A table with spans. */
export interface StoredTable {
  readonly name: string;
  /** The name in SQL: quoted, and with its schema where the search path finds none or another table of that name. */
  readonly table: string;
}

/** One partition of `mcp_traces`. */
export interface Partition extends StoredTable {
  /** Start, and end (exclusive), ISO 8601 UTC; null where unbounded. */
  readonly from: string | null;
  readonly to: string | null;
  /** Size with indexes, in bytes. */
  readonly bytes: number;
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
    SELECT c.relname AS name, c.oid::regclass::text AS table, ${bound('FROM')} AS from_time, ${bound('TO')} AS to_time,
      pg_total_relation_size(c.oid)::float8 AS bytes
    FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid WHERE inhparent = to_regclass('mcp_traces')
    ORDER BY to_time NULLS LAST`);
  return rows.map((row) => ({
    name: String(row.name),
    table: String(row.table),
    from: textOrNull(row.from_time),
    to: textOrNull(row.to_time),
    bytes: Number(row.bytes),
  }));
}

/** Runs statements that drop a table, one process at a time, and retries while others hold a lock on it. */
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
      if (readSqlState(error) !== LOCK_NOT_AVAILABLE || attempt === DROP_ATTEMPTS) throw error;
      await sleep(100 * attempt);
    }
  }
}

/** Text of a nullable column. */
export function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
