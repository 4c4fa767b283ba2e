import { ObservatoryError } from '../base/index.ts';
import { readSqlState, toObservatoryError, withoutData } from './database-error.ts';
import { LATEST_MIGRATION, MIGRATIONS, migrationScript } from './migrations.ts';
import { refuseOtherTables } from './own-tables.ts';
import { makeMissing, missingObjects } from './schema-objects.ts';
import { execScript, nameOfDatabase, type Queryable } from './types.ts';

/** The oldest server the schema is tested on. */
const MIN_SERVER_VERSION = 130_000;

/** unique_violation, duplicate_table, duplicate_object, duplicate_function: another process was faster, or it is in the way. */
const ALREADY_DONE: ReadonlySet<string> = new Set(['23505', '42P07', '42710', '42723']);

/** Missing objects named in a message. */
const MAX_LISTED = 8;

/** Result of {@link migrate}. */
export interface MigrationResult {
  /** Names of the migrations applied by this call; empty when the schema was up to date. */
  readonly applied: readonly string[];
  /** Missing objects of earlier migrations, such as `table mcp_traces`, that this call created again. */
  readonly remade: readonly string[];
  /** Resulting version of the schema. */
  readonly version: number;
}

/**
 * Creates or updates the tables in one transaction, and makes again, empty, what was made before and is missing.
 * Processes may run it concurrently: all succeed, and each migration is applied once. The table `mcp_traces` of the
 * Python package is taken over (`schema/002_first_table.sql`).
 *
 * @param db may use another connection for each call, as a pool does.
 * @throws ObservatoryError `DATABASE_SCHEMA_TOO_NEW` when a newer version of this package has migrated the database,
 *   `DATABASE_SCHEMA_MISSING` when something is missing and cannot be made again, `DATABASE_UNREACHABLE`, or `DATABASE_REFUSED` for an old server or a refused statement (for instance because an
 *   unrelated table has the name `mcp_traces`).
 */
export async function migrate(db: Queryable): Promise<MigrationResult> {
  try {
    await checkServerVersion(db);
    await refuseOtherTables(db);
    const { applied, version } = await applyPending(db);
    const missing = await missingObjects(db);
    if (missing.length > 0) await remake(db);
    return { applied, remade: missing, version };
  } catch (error) {
    throw toObservatoryError(error, nameOfDatabase(db));
  }
}

/**
 * The version of the schema: the highest migration applied, 0 when there is none.
 * @throws the driver's error.
 */
export async function schemaVersion(db: Queryable): Promise<number> {
  // Two queries, because a statement that names a missing table fails whatever its condition.
  const { rows } = await db.query(`SELECT to_regclass('mcp_observatory_migrations') IS NOT NULL AS present`);
  if (rows[0]?.present !== true) return 0;
  const migrations = await db.query(
    'SELECT coalesce(max(id), 0)::integer AS version FROM mcp_observatory_migrations',
  );
  return Number(migrations.rows[0]?.version ?? 0);
}

/** The error for a database that is ahead of this code. */
export function tooNew(version: number): ObservatoryError {
  return new ObservatoryError(
    'DATABASE_SCHEMA_TOO_NEW',
    `The database has schema version ${version}, and this version of mcp-observatory knows ${LATEST_MIGRATION}. ` +
      'Update the package: npm install mcp-observatory@latest',
  );
}

/** All migrations that are missing are one transaction, so a failure leaves the database as it was. */
async function applyPending(db: Queryable): Promise<Pick<MigrationResult, 'applied' | 'version'>> {
  for (;;) {
    const version = await schemaVersion(db);
    if (version > LATEST_MIGRATION) throw tooNew(version);
    const pending = MIGRATIONS.filter(({ id }) => id > version);
    if (pending.length === 0) return { applied: [], version };
    try {
      await execScript(db, migrationScript(pending));
      return { applied: pending.map(({ name }) => name), version: LATEST_MIGRATION };
    } catch (error) {
      if (!ALREADY_DONE.has(readSqlState(error) ?? '')) throw error;
      if ((await schemaVersion(db)) === version) throw inTheWay(error);
    }
  }
}

/** @throws ObservatoryError `DATABASE_SCHEMA_MISSING` */
async function remake(db: Queryable): Promise<void> {
  let cause: Error | undefined;
  try {
    await makeMissing(db);
  } catch (error) {
    cause = withoutData(error);
  }
  // Another process may have made it.
  const left = await missingObjects(db);
  if (left.length === 0) return;
  const reason = cause === undefined ? '' : `: ${cause.message}`;
  throw new ObservatoryError(
    'DATABASE_SCHEMA_MISSING',
    `Of the schema, ${firstNames(left)} is missing and cannot be made again${reason}. Restore it from a backup, or use another database or schema`,
    { cause },
  );
}

/** The first names of a list that may be long. */
export function firstNames(names: readonly string[]): string {
  const shown = names.slice(0, MAX_LISTED).join(', ');
  return names.length > MAX_LISTED ? `${shown} and ${names.length - MAX_LISTED} more` : shown;
}

function inTheWay(error: unknown): ObservatoryError {
  const cause = withoutData(error);
  return new ObservatoryError(
    'DATABASE_REFUSED',
    `The schema cannot be made: ${cause.message}. Something of that name, which mcp-observatory did not make, is in ` +
      'the way; rename it, or use another database or schema',
    { cause },
  );
}

async function checkServerVersion(db: Queryable): Promise<void> {
  const { rows } = await db.query(`SELECT current_setting('server_version_num')::integer AS version`);
  const version = Number(rows[0]?.version);
  if (version >= MIN_SERVER_VERSION) return;
  throw new ObservatoryError(
    'DATABASE_REFUSED',
    `The server is PostgreSQL ${Math.floor(version / 10_000)}; mcp-observatory needs ${MIN_SERVER_VERSION / 10_000} or newer`,
  );
}
