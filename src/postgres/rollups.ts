import { toObservatoryError } from './database-error.ts';
import { nameOfDatabase, type Queryable } from './types.ts';

/**
 * Adds the spans stored since the last refresh to `mcp_traces_hourly`, which the view `mcp_traces_daily` sums up by
 * day. Each span is counted once, however late it arrives, and stays counted when it is pruned. Processes may call it
 * concurrently: one works, the others return.
 *
 * Spans of an open transaction, or of one that began after it, are counted by a later refresh.
 *
 * @returns how many spans were counted, null when another process is refreshing.
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
