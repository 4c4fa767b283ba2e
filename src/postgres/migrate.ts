import { setTimeout as sleep } from 'node:timers/promises';
import { ObservatoryError } from '../base/index.ts';
import { sqlStateOf, toObservatoryError, withoutData } from './database-error.ts';
import { LATEST_MIGRATION, MIGRATIONS, type Migration, migrationScript } from './migrations.ts';
import { refuseOtherTables } from './own-tables.ts';
import { makeMissing, missingObjects } from './schema-objects.ts';
import { execScript, nameOfDatabase, type Queryable } from './types.ts';

/** The oldest server the schema is tested on. */
const MIN_SERVER_VERSION = 130_000;

/** unique_violation, duplicate_schema, duplicate_table, duplicate_object: another process was faster. */
const ALREADY_DONE: ReadonlySet<string> = new Set(['23505', '42P06', '42P07', '42710']);

/** How often a migration may find its objects present without its version being recorded. */
const MAX_FRUITLESS_ATTEMPTS = 5;

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
 * Creates or updates the tables, and makes again, empty, what was made before and is missing. Processes may run it
 * concurrently: all succeed, and each migration is applied once. A migration and its record are one transaction.
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

async function applyPending(db: Queryable): Promise<Pick<MigrationResult, 'applied' | 'version'>> {
  const applied: string[] = [];
  let version = await schemaVersion(db);
  let fruitless = 0;
  while (version < LATEST_MIGRATION) {
    const migration = migrationAfter(version);
    try {
      await execScript(db, migrationScript(migration));
      applied.push(migration.name);
    } catch (error) {
      if (!ALREADY_DONE.has(sqlStateOf(error) ?? '')) throw error;
      fruitless += 1;
      if (fruitless > MAX_FRUITLESS_ATTEMPTS) throw inTheWay(migration, error);
      await sleep(20 * fruitless);
    }
    const before = version;
    version = await schemaVersion(db);
    if (version > before) fruitless = 0;
  }
  if (version > LATEST_MIGRATION) throw tooNew(version);
  return { applied, version };
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

function migrationAfter(version: number): Migration {
  const next = MIGRATIONS.find((migration) => migration.id > version);
  if (next === undefined) throw new RangeError(`No migration follows ${version}`);
  return next;
}

function inTheWay(migration: Migration, error: unknown): ObservatoryError {
  const cause = withoutData(error);
  return new ObservatoryError(
    'DATABASE_REFUSED',
    `Migration ${migration.name} cannot be applied: ${cause.message}. Something of that name, which mcp-observatory ` +
      'did not make, is in the way; rename it, or use another database or schema',
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
