import {
  MIGRATIONS,
  type Migration,
  PREPARATION,
  readMigration,
  recordStatement,
} from '../src/postgres/migrations.ts';

/**
 * All migrations as one file for psql, equivalent to `migrate()`. It may be applied again and does not change a newer
 * database.
 */
export function handAppliedScript(): string {
  return [
    '-- The schema of mcp-observatory in one file: psql "$DATABASE_URL" -f schema/postgres.sql',
    '-- It may be applied again, and leaves what `mcp-observatory db migrate` leaves. Generated from the numbered',
    '-- files of this folder by `npm run generate`; do not edit.',
    '\\set ON_ERROR_STOP on',
    'BEGIN;',
    'SET LOCAL client_min_messages = warning;',
    PREPARATION,
    ...MIGRATIONS.map(applyUnlessRecorded),
    'COMMIT;',
    '',
  ].join('\n');
}

function applyUnlessRecorded(migration: Migration): string {
  const tag = `$migration_${migration.id}$`;
  return `
DO $guard$
BEGIN
  IF EXISTS (SELECT FROM mcp_observatory_migrations WHERE id = ${migration.id}) THEN
    RETURN;
  END IF;
  ${recordStatement(migration)}
  EXECUTE ${tag}
${readMigration(migration)}
${tag};
END
$guard$;`;
}
