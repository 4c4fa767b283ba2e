import { toObservatoryError } from './database-error.ts';
import { nameOfDatabase, type Queryable } from './types.ts';

/**
 * Counts the spans that came since the last refresh into `mcp_traces_hourly`, which the view `mcp_traces_daily` sums up
 * by day. Every span is counted once, however late it came, and stays counted when it is pruned. Any number of processes
 * may call it at once; those that find another at it do nothing.
 *
 * Spans of a transaction that is open, or that began after one that still is, are counted by a later refresh.
 *
 * @returns how many spans were counted, null when another process is at it.
 * @throws ObservatoryError `DATABASE_UNREACHABLE`, `DATABASE_SCHEMA_MISSING` or `DATABASE_REFUSED`.
 */
export async function refreshRollups(db: Queryable): Promise<number | null> {
  try {
    const { rows } = await db.query('SELECT mcp_traces_refresh_rollups()::float8 AS counted');
    const counted = rows[0]?.counted;
    return counted === null || counted === undefined ? null : Number(counted);
  } catch (error) {
    throw toObservatoryError(error, nameOfDatabase(db));
  }
}
