import { toObservatoryError } from './database-error.ts';
import { nameOfDatabase, type Queryable } from './types.ts';

/**
 * Adds the spans stored since the last refresh to the roll-ups: `mcp_traces_hourly`, which the view `mcp_traces_daily`
 * sums up by day, `mcp_tools_hourly`, `mcp_models_hourly`, `mcp_definitions_hourly`, `mcp_tax_hourly`, `mcp_sessions` and
 * `mcp_runs`. Each span is counted once, however late it arrives, and stays counted when it is pruned. Processes may call it concurrently: one
 * works, the others return.
 *
 * Spans of an open transaction, or of one that began after it, are counted by a later refresh.
 *
 * @returns how many spans were counted, null when another process is refreshing.
 * @throws ObservatoryError `DATABASE_UNREACHABLE`, `DATABASE_SCHEMA_MISSING` or `DATABASE_REFUSED`.
 */
export async function refreshRollups(db: Queryable): Promise<number | null> {
  await refreshRuns(db);
  await refreshTax(db);
  return refresh(db, 'mcp_traces_refresh_rollups');
}

/**
 * Adds the spans stored since the last refresh to `mcp_runs` alone, as often as a list of runs should be fresh. Before
 * that `mcp_traces_settle` (`schema/013_settled_in_time.sql`) finds the spans that repeat a call; spans are counted after that.
 * @returns how many spans were counted, null when another process is refreshing.
 * @throws ObservatoryError `DATABASE_UNREACHABLE`, `DATABASE_SCHEMA_MISSING` or `DATABASE_REFUSED`.
 */
export async function refreshRuns(db: Queryable): Promise<number | null> {
  const settled = await refresh(db, 'mcp_traces_settle');
  const counted = await refresh(db, 'mcp_runs_refresh');
  return settled === null ? null : counted;
}

/**
 * Adds the model calls stored since the last refresh to `mcp_tax_hourly` alone.
 * @returns how many calls were counted, null when another process is refreshing.
 * @throws ObservatoryError `DATABASE_UNREACHABLE`, `DATABASE_SCHEMA_MISSING` or `DATABASE_REFUSED`.
 */
export function refreshTax(db: Queryable): Promise<number | null> {
  return refresh(db, 'mcp_tax_refresh');
}

const refreshText = (name: string) => `SELECT ${name}()::float8 AS counted`;

/** The statements of the above, which anybody may have run who may read. */
export const REFRESHES: ReadonlySet<string> = new Set(
  ['mcp_traces_settle', 'mcp_runs_refresh', 'mcp_tax_refresh', 'mcp_traces_refresh_rollups'].map(refreshText),
);

async function refresh(db: Queryable, name: string): Promise<number | null> {
  try {
    const { rows } = await db.query(refreshText(name));
    const counted = rows[0]?.counted;
    return counted === null || counted === undefined ? null : Number(counted);
  } catch (error) {
    throw toObservatoryError(error, nameOfDatabase(db));
  }
}
