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
  { id: 1, name: '001_mcp_traces' },
  { id: 2, name: '002_partitions' },
  { id: 3, name: '003_rows_of_first_table' },
  { id: 4, name: '004_mcp_reviews' },
  { id: 5, name: '005_prompt_drift' },
  { id: 6, name: '006_rollups' },
  { id: 7, name: '007_evidence' },
  { id: 8, name: '008_identity' },
  { id: 9, name: '009_runs' },
  { id: 10, name: '010_evidence_partial' },
  { id: 11, name: '011_approvals' },
  { id: 12, name: '012_context_tax' },
  { id: 13, name: '013_approval_scopes' },
  { id: 14, name: '014_rollup_groups' },
  { id: 15, name: '015_run_figures' },
  { id: 16, name: '016_rollup_cost' },
  { id: 17, name: '017_decisions' },
  { id: 18, name: '018_span_key' },
];

/** Version of the schema that this code reads and writes. */
export const LATEST_MIGRATION: number = Math.max(...MIGRATIONS.map((migration) => migration.id));

/** Key of the advisory lock held while migrating: the bytes of "mcpobsvt". */
const LOCK_KEY = '7882267396523914868';

/**
 * Runs before any migration, under the lock, because IF NOT EXISTS alone can race. A table from before migrations
 * existed, recognized by its times without time zone, is renamed; migration 3 copies its rows.
 */
export const PREPARATION = `DO $$ BEGIN PERFORM pg_advisory_xact_lock(${LOCK_KEY}); END $$;
CREATE TABLE IF NOT EXISTS mcp_observatory_migrations (
  id integer PRIMARY KEY,
  name text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now()
);
DO $first$ BEGIN
  IF NOT EXISTS (SELECT FROM mcp_observatory_migrations) AND EXISTS (
    SELECT FROM pg_attribute WHERE attrelid = to_regclass('mcp_traces') AND attname = 'start_time'
      AND atttypid = 'timestamp'::regtype
  ) THEN
    ALTER TABLE mcp_traces RENAME TO mcp_traces_first;
  END IF;
END $first$;`;

/** SQL of one migration. */
export function readMigration(migration: Migration): string {
  return readFileSync(packageFile(`schema/${migration.name}.sql`), 'utf8').trim();
}

/**
 * One migration and its record, to be run in one transaction. The record comes first: if another process has applied
 * the migration, the key violation comes before any change.
 */
export function migrationScript(migration: Migration): string {
  return [
    PREPARATION,
    `INSERT INTO mcp_observatory_migrations (id, name) VALUES (${migration.id}, '${migration.name}');`,
    readMigration(migration),
  ].join('\n');
}
