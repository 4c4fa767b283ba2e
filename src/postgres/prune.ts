import { countAll, dropCounted, type TransactionMark } from './closed-days.ts';
import { toObservatoryError } from './database-error.ts';
import { refuseOtherTables } from './own-tables.ts';
import { createPartitions, listPartitions } from './partitions.ts';
import { nameOfDatabase, type Queryable } from './types.ts';

const DAY_MS = 86_400_000;

/** Rows deleted by one statement. */
const DELETE_ROWS = 10_000;

/** Which rows of the tables that are derived from spans are too old; `$1` and `$2` are the bounds of {@link listBounds}. */
const DERIVED: Readonly<Record<string, string>> = {
  mcp_sessions: outside('first_time', 'last_time'),
  mcp_tax_hourly: outside('hour', 'hour'),
  mcp_tool_sets: `${outside('last_time', 'last_time')} AND NOT EXISTS (SELECT FROM mcp_tax_hourly t
    WHERE t.offered_tools_hash = mcp_tool_sets.offered_tools_hash AND NOT (${outside('t.hour', 't.hour')}))`,
  mcp_runs: outside('started_at', 'ended_at'),
};

/** The rows and tables that {@link prune} deletes, or in a dry run would delete. */
export interface PruneResult {
  /** Partitions of `mcp_traces`. */
  readonly dropped: readonly string[];
  readonly droppedSpans: number;
  /**
   * Partitions with old spans that stay, because a transaction on the server began before they were stored and is still
   * open: the roll-ups cannot count them yet. A later run deletes them. Empty in a dry run.
   */
  readonly kept: readonly string[];
  /** Spans deleted one by one, from partitions that also hold others. */
  readonly deletedRows: number;
  /** Rows of tables derived from spans, by table; those without such rows are absent. */
  readonly derivedRows: Readonly<Record<string, number>>;
}

/**
 * Deletes the spans that started before a time by dropping whole partitions, which costs little and frees the disk at
 * once. The day that contains the time is kept. Single rows are deleted only from the default partition. Sessions and
 * runs that ended before and the context tax are forgotten; other hourly roll-ups stay, and are brought up to date
 * first. Spans as far in the future as the time is in the past, and at least a day, are deleted too: a wrong clock must
 * not keep them for ever.
 *
 * Processes may run it concurrently, and writers do not wait long.
 *
 * @param isDryRun only reports what would be deleted.
 * @throws ObservatoryError `DATABASE_UNREACHABLE`, `DATABASE_SCHEMA_MISSING`, or `DATABASE_REFUSED`, for instance
 *   because a long query reads from a partition to be dropped, or because tables of another program are called alike.
 */
export async function prune(db: Queryable, before: Date, isDryRun = false): Promise<PruneResult> {
  try {
    await refuseOtherTables(db);
    const bounds = listBounds(before);
    const partitions = await listPartitions(db);
    const old = partitions.filter(({ to }) => to !== null && Date.parse(to) <= before.getTime());
    const mixed = partitions.filter((partition) => partition.from === null && !old.includes(partition));
    const mark = isDryRun ? undefined : await countAll(db);
    const dropped: string[] = [];
    const kept: string[] = [];
    let droppedSpans = 0;
    for (const { name, table } of old) {
      const spans = await countRows(db, table, 'true', []);
      if (mark !== undefined && !(await dropCounted(db, table, mark))) {
        kept.push(name);
        continue;
      }
      dropped.push(name);
      droppedSpans += spans;
    }
    let deletedRows = 0;
    for (const { name, table } of mixed) {
      const isOld = outside('start_time', 'start_time');
      deletedRows += await deleteRows(db, table, `${isOld}${below(mark)}`, bounds, isDryRun);
      if (mark !== undefined && (await countRows(db, table, isOld, bounds)) > 0) kept.push(name);
    }
    if (!isDryRun) await createPartitions(db);
    const derivedRows: Record<string, number> = {};
    for (const [table, condition] of Object.entries(DERIVED)) {
      const rows = await deleteRows(db, table, condition, bounds, isDryRun);
      if (rows > 0) derivedRows[table] = rows;
    }
    return { dropped, droppedSpans, kept, deletedRows, derivedRows };
  } catch (error) {
    throw toObservatoryError(error, nameOfDatabase(db));
  }
}

/** Rows between these times stay. */
function listBounds(before: Date): string[] {
  const now = Date.now();
  const ahead = now + Math.max(now - before.getTime(), DAY_MS);
  return [before.toISOString(), new Date(ahead).toISOString()];
}

/** Whether both ends of a row are outside the bounds. */
function outside(first: string, last: string): string {
  const isOutside = (column: string) =>
    `(${column} < $1::text::timestamptz OR ${column} > $2::text::timestamptz)`;
  return first === last ? isOutside(first) : `${isOutside(last)} AND ${isOutside(first)}`;
}

/** Only rows that the roll-ups have counted; all of them without a mark. */
function below(mark: TransactionMark | undefined): string {
  return mark === undefined ? '' : ` AND ingest_xid < ${BigInt(mark)}`;
}

/** @returns how many rows were deleted, or in a dry run would be. */
async function deleteRows(
  db: Queryable,
  table: string,
  condition: string,
  bounds: readonly string[],
  isDryRun: boolean,
): Promise<number> {
  if (isDryRun) return countRows(db, table, condition, bounds);
  for (let total = 0; ; ) {
    const { rows } = await db.query(
      `WITH gone AS (
        DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
          SELECT ctid FROM ${table} WHERE ${condition} LIMIT ${DELETE_ROWS})) RETURNING 1)
      SELECT count(*)::integer AS rows FROM gone`,
      bounds,
    );
    const deleted = Number(rows[0]?.rows);
    total += deleted;
    if (deleted < DELETE_ROWS) return total;
  }
}

async function countRows(
  db: Queryable,
  table: string,
  condition: string,
  bounds: readonly string[],
): Promise<number> {
  const { rows } = await db.query(`SELECT count(*)::float8 AS rows FROM ${table} WHERE ${condition}`, bounds);
  return Number(rows[0]?.rows);
}
