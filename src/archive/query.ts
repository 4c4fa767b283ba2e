import { join } from 'node:path';
import { ObservatoryError } from '../base/index.ts';
import { type CopyPool, refuseOtherTables } from '../postgres/index.ts';
import { readCsv, writeCsv } from './csv-file.ts';
import { DUCK_COLUMNS, type DuckResult, literal } from './duckdb.ts';
import { type DayRange, mayHaveDays } from './file-names.ts';
import { openArchive } from './open-archive.ts';

const DAY_MS = 86_400_000;

export interface ArchiveQuery {
  /** Address of the archive: a folder, or `s3://bucket/prefix`. */
  readonly archive: string;
  /** A query of DuckDB's dialect over `mcp_traces`. */
  readonly sql: string;
  /** Also answers from the spans of this database. */
  readonly pool?: CopyPool | undefined;
  /** Spans of the database that started earlier are left out. */
  readonly since?: Date | undefined;
  /** Spans that started on other days (UTC) are left out, and files of other days are not read. */
  readonly days?: DayRange | undefined;
  /** @defaultValue 10000 */
  readonly maxRows?: number | undefined;
}

/**
 * Answers a query from the files of an archive and, with a pool, the spans that are in the database still; those are
 * copied to a temporary file first, about 0.7 kB each. A span that is in both, because an archiving process was killed or
 * the span was sent again, counts once. Of files in a bucket, only the columns and row groups that the query needs are read.
 *
 * @throws ObservatoryError `MISSING_PEER` without DuckDB or its extension for S3, `ARCHIVE_REFUSED` when there is no archive
 *   or DuckDB refuses the query; else the driver's error.
 */
export async function queryArchive(query: ArchiveQuery): Promise<DuckResult> {
  const { archive, sql, pool, days, maxRows = 10_000 } = query;
  await using opened = await openArchive(archive, false);
  const { store, duck, work } = opened;
  const all = await store.list();
  if (all.length === 0) {
    throw new ObservatoryError(
      'ARCHIVE_REFUSED',
      `There are no files of an archive in ${store.name}. Make some: npx mcp-observatory db archive --to ${store.name} --older-than 30d`,
    );
  }
  const paths = all.filter((name) => days === undefined || mayHaveDays(name, days)).map(store.pathOf);
  const names = DUCK_COLUMNS.map(([column]) => column);
  // Columns added to the schema after a day was archived are null for that day.
  const files =
    paths.length === 0
      ? ''
      : `UNION ALL BY NAME SELECT * FROM read_parquet([${paths.map(literal).join(', ')}], union_by_name = true, hive_partitioning = false)`;
  await duck.run(
    `CREATE TEMP TABLE shape (${DUCK_COLUMNS.map(([column, type]) => `${column} ${type}`).join(', ')});
    CREATE VIEW archived AS SELECT ${names.join(', ')} FROM (SELECT * FROM shape ${files}) ${where(startingOn(days))}`,
  );
  if (pool === undefined) await duck.run('CREATE VIEW mcp_traces AS FROM archived');
  else {
    await refuseOtherTables(pool);
    const since = query.since === undefined ? [] : [`start_time >= '${query.since.toISOString()}'`];
    const from = `mcp_traces ${where([...since, ...startingOn(days)])}`;
    const csv = await writeCsv(pool, from, join(work, 'recent.csv'));
    await duck.run(
      `CREATE TABLE recent AS SELECT * FROM ${readCsv(csv)};
      CREATE TABLE both_hold AS SELECT trace_id, span_id FROM recent SEMI JOIN
        (SELECT trace_id, span_id FROM archived WHERE start_time >= (SELECT min(start_time) FROM recent)) USING (trace_id, span_id);
      CREATE VIEW mcp_traces AS SELECT * FROM archived UNION ALL
        SELECT * FROM recent ANTI JOIN both_hold USING (trace_id, span_id)`,
    );
  }
  return await duck.read(sql, maxRows);
}

/** Conditions that Postgres and DuckDB read alike. */
function startingOn(days: DayRange | undefined): readonly string[] {
  if (days === undefined) return [];
  const [from, end] = [Date.parse(days.from), Date.parse(days.to) + DAY_MS].map((time) =>
    new Date(time).toISOString(),
  );
  return [`start_time >= '${from}'::timestamptz`, `start_time < '${end}'::timestamptz`];
}

function where(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
}
