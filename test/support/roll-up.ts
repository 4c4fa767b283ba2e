import { type Queryable, refreshRollups } from '../../src/postgres/index.ts';
import { waitUntil } from './wait-until.ts';

/**
 * Settles what is stored and counts it into the roll-ups. A refresh leaves out what was stored since the oldest open
 * transaction of the server began, be it that of autovacuum, so it is repeated.
 */
export async function rollUpAll(db: Queryable): Promise<void> {
  const { rows } = await db.query('SELECT coalesce(max(ingest_xid), 0)::text AS newest FROM mcp_traces');
  const newest = BigInt(String(rows[0]?.newest));
  await waitUntil(async () => {
    await refreshRollups(db);
    const { rows: states } = await db.query(
      `SELECT least((SELECT next_xid FROM mcp_traces_settle_state), (SELECT next_xid FROM mcp_traces_rollup_state),
        (SELECT next_xid FROM mcp_runs_state), (SELECT next_xid FROM mcp_tax_state))::text AS next`,
    );
    return BigInt(String(states[0]?.next ?? 0)) > newest;
  });
}
