/** The database side of an archive: drops tables only once all their rows are known to be archived. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CopyClient, type CopyPool, withClient } from './copy-in.ts';
import { dropWhenLockable, type StoredTable } from './partitions.ts';
import { refreshRollups } from './rollups.ts';
import { execScript, type Queryable } from './types.ts';

/** Key of the session lock of an archiving process. */
const ARCHIVE_LOCK = '7882267396523914879';
/** How long to wait for another process that counts: half a minute. */
const COUNT_ATTEMPTS = 120;
const COUNT_WAIT_MS = 250;
const LATE_PREFIX = 'mcp_traces_late_';
const SCHEMA_OF_TRACES = `(SELECT relnamespace FROM pg_class WHERE oid = 'mcp_traces'::regclass)`;

/** Rows of transactions from this number on may not be counted, and may not be visible to a statement, yet. */
export type TransactionMark = string;

/**
 * Counts all spans into the roll-ups, which outlive them.
 * @returns the mark below which all rows are counted and visible.
 */
export async function countAll(db: Queryable): Promise<TransactionMark> {
  for (let attempt = 1; (await refreshRollups(db)) === null && attempt < COUNT_ATTEMPTS; attempt += 1) {
    await sleep(COUNT_WAIT_MS);
  }
  const { rows } = await db.query(
    `SELECT least((SELECT next_xid FROM mcp_traces_rollup_state), (SELECT next_xid FROM mcp_runs_state),
      (SELECT next_xid FROM mcp_tax_state))::text AS mark`,
  );
  return String(rows[0]?.mark);
}

/**
 * Drops a table, if it has no row from the mark on, or is gone already.
 * @param name in SQL.
 * @returns whether it is gone.
 */
export async function dropCounted(db: Queryable, name: string, mark: TransactionMark): Promise<boolean> {
  const literal = `'${name.replaceAll("'", "''")}'`;
  // The parent first, as writers do: two orders of locks would be a deadlock.
  await dropWhenLockable(
    db,
    `LOCK TABLE ONLY mcp_traces IN ACCESS EXCLUSIVE MODE;
    DO $$ BEGIN
      IF to_regclass(${literal}) IS NULL THEN RETURN; END IF;
      LOCK TABLE ONLY ${name} IN ACCESS EXCLUSIVE MODE;
      IF NOT EXISTS (SELECT FROM ${name} WHERE ingest_xid >= ${BigInt(mark)}) THEN DROP TABLE ${name}; END IF;
    END $$;`,
  );
  const { rows } = await db.query('SELECT to_regclass($1) IS NULL AS gone', [name]);
  return rows[0]?.gone === true;
}

/**
 * Moves spans that arrived when their day had no partition any more, and that are counted, to a table of their own.
 * @returns its name, `undefined` without such spans.
 */
export async function setLateAside(
  db: Queryable,
  before: Date,
  mark: TransactionMark,
): Promise<string | undefined> {
  const name = `${LATE_PREFIX}${before.toISOString().slice(0, 10).replaceAll('-', '')}_${randomBytes(4).toString('hex')}`;
  const late = `${startedBefore(before)} AND ingest_xid < ${BigInt(mark)}`;
  const { rows } = await db.query(`SELECT EXISTS (SELECT FROM mcp_traces_default WHERE ${late}) AS found`);
  if (rows[0]?.found !== true) return undefined;
  const { rows: found } = await db.query(
    `SELECT quote_ident(nspname) AS schema FROM pg_namespace WHERE oid = ${SCHEMA_OF_TRACES}`,
  );
  // In the schema where it is found, not where new tables are created.
  const table = `${String(found[0]?.schema)}.${name}`;
  await execScript(
    db,
    `CREATE TABLE ${table} (LIKE mcp_traces);
    WITH gone AS (DELETE FROM mcp_traces_default WHERE ${late} RETURNING *) INSERT INTO ${table} SELECT * FROM gone;`,
  );
  return name;
}

/** A statement that is not prepared takes no parameters. Rows without a start have the time '-infinity'. */
const startedBefore = (time: Date): string =>
  `start_time < '${time.toISOString()}' AND start_time > '-infinity'`;

/** Spans that {@link setLateAside} has left, because a transaction that began before theirs is still open. */
export async function countLate(db: Queryable, before: Date): Promise<number> {
  const { rows } = await db.query(
    `SELECT count(*)::int AS late FROM mcp_traces_default WHERE ${startedBefore(before)}`,
  );
  return Number(rows[0]?.late);
}

/** Tables of {@link setLateAside}, also of a process that was killed before it archived them. */
export async function tablesSetAside(db: Queryable): Promise<StoredTable[]> {
  const { rows } = await db.query(
    `SELECT relname AS name, oid::regclass::text AS table FROM pg_class
      WHERE relkind = 'r' AND relname ~ $1 AND relnamespace = ${SCHEMA_OF_TRACES}
      ORDER BY relname`,
    [`^${LATE_PREFIX}[0-9]{8}_[0-9a-f]{8}$`],
  );
  return rows.map(({ name, table }) => ({ name: String(name), table: String(table) }));
}

/**
 * Runs work that one process does at a time, over a connection that is its own: not behind a pooler in transaction mode.
 * @returns `undefined` while another process archives.
 */
export function aloneArchiving<T>(pool: CopyPool, work: () => Promise<T>): Promise<T | undefined> {
  return withClient(pool, async (client) => {
    const [row] = await listRows(client, `SELECT pg_try_advisory_lock(${ARCHIVE_LOCK}) AS got`);
    if (row?.got !== true) return undefined;
    try {
      return await work();
    } finally {
      await listRows(client, `SELECT pg_advisory_unlock(${ARCHIVE_LOCK})`);
    }
  });
}

function listRows(client: CopyClient, sql: string): Promise<readonly Record<string, unknown>[]> {
  return new Promise((resolve, reject) => {
    (client as unknown as PlainClient).query(sql, (error, result) => {
      if (error) reject(error);
      else resolve(result?.rows ?? []);
    });
  });
}

interface PlainClient {
  query(
    sql: string,
    done: (error: Error | null, result?: { readonly rows: readonly Record<string, unknown>[] }) => void,
  ): void;
}
