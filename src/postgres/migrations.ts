import { readFileSync } from 'node:fs';
import { packageFile } from '../base/index.ts';

/** One numbered file of `schema/`. Released files are never edited; a change is a new file. */
export interface Migration {
  readonly id: number;
  /** File name without `.sql`. */
  readonly name: string;
}

/** All migrations, in order; a test compares the list with the files in `schema/`. */
export const MIGRATIONS: readonly Migration[] = [
  { id: 1, name: '001_traces' },
  { id: 2, name: '002_first_table' },
  { id: 3, name: '003_prompt_drift' },
  { id: 4, name: '004_rollups' },
  { id: 5, name: '005_runs' },
  { id: 6, name: '006_context_tax' },
  { id: 7, name: '007_reviews_and_approvals' },
  { id: 8, name: '008_review_functions' },
  { id: 9, name: '009_counted_once' },
  { id: 10, name: '010_usage' },
  { id: 11, name: '011_failed_runs' },
  { id: 12, name: '012_settled_alike' },
  { id: 13, name: '013_settled_in_time' },
  { id: 14, name: '014_runs_told_apart' },
  { id: 15, name: '015_call_ledger' },
  { id: 16, name: '016_notes_and_views' },
  { id: 17, name: '017_model_calls' },
  { id: 18, name: '018_any_row' },
  { id: 19, name: '019_settled_without_statistics' },
  { id: 20, name: '020_finer_sums' },
  { id: 21, name: '021_untrue_answers' },
];

/** Version of the schema that this code reads and writes. */
export const LATEST_MIGRATION: number = Math.max(...MIGRATIONS.map((migration) => migration.id));

/** Key of the advisory lock held while migrating: the bytes of "mcpobsvt". */
const LOCK_KEY = '7882267396523914868';

/** Runs before any migration, under the lock, because IF NOT EXISTS alone can race. */
export const PREPARATION = `DO $$ BEGIN PERFORM pg_advisory_xact_lock(${LOCK_KEY}); END $$;
CREATE TABLE IF NOT EXISTS mcp_observatory_migrations (
  id integer PRIMARY KEY,
  name text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now()
);`;

/** SQL of one migration. */
export function readMigration(migration: Migration): string {
  return readFileSync(packageFile(`schema/${migration.name}.sql`), 'utf8').trim();
}

/** Notes that a migration is applied. */
export function recordStatement({ id, name }: Migration): string {
  return `INSERT INTO mcp_observatory_migrations (id, name) VALUES (${id}, '${name}');`;
}

/**
 * Migrations and their records, to be run in one transaction. A record comes before its migration: if another process has
 * applied it, the key violation comes before any change.
 */
export function migrationScript(migrations: readonly Migration[]): string {
  const steps = migrations.map((migration) => `${recordStatement(migration)}\n${readMigration(migration)}`);
  return [PREPARATION, ...steps].join('\n');
}
