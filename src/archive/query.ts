import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ObservatoryError } from '../base/index.ts';
import type { CopyPool } from '../postgres/index.ts';
import { archivedFiles } from './archived-files.ts';
import { readCsv, writeCsv } from './csv-file.ts';
import { DUCK_COLUMNS, type DuckResult, literal, openDuckDb } from './duckdb.ts';

export interface ArchiveQuery {
  /** Folder of the archive. */
  readonly folder: string;
  /** A query of DuckDB's dialect over `mcp_traces`. */
  readonly sql: string;
  /** Also answers from the spans of this database. */
  readonly pool?: CopyPool | undefined;
  /** Spans of the database that started earlier are left out. */
  readonly since?: Date | undefined;
  /** @defaultValue 10000 */
  readonly maxRows?: number | undefined;
}

/**
 * Answers a query from the files of an archive and, with a pool, the spans that are in the database still; those are
 * copied to a temporary file first, about 0.7 kB each. A span that is in both, because an archiving process was killed or
 * the span was sent again, counts once.
 *
 * @throws ObservatoryError `MISSING_PEER` without DuckDB, `ARCHIVE_REFUSED` when the folder has no archive or DuckDB
 *   refuses the query; else the driver's error.
 */
export async function queryArchive(query: ArchiveQuery): Promise<DuckResult> {
  const { folder, sql, pool, since, maxRows = 10_000 } = query;
  const files = await archivedFiles(folder);
  if (files.length === 0) {
    throw new ObservatoryError(
      'ARCHIVE_REFUSED',
      `There are no files of an archive in ${folder}. Make some: npx mcp-observatory db archive --to ${folder} --older-than 30d`,
    );
  }
  const work = await mkdtemp(join(tmpdir(), 'mcp-observatory-query-'));
  try {
    await using duck = await openDuckDb(work);
    const names = DUCK_COLUMNS.map(([column]) => column);
    // Columns that the schema had not got when a day was archived are null.
    await duck.run(
      `CREATE TEMP TABLE shape (${DUCK_COLUMNS.map(([column, type]) => `${column} ${type}`).join(', ')});
      CREATE VIEW archived AS SELECT ${names.join(', ')} FROM (SELECT * FROM shape UNION ALL BY NAME
        SELECT * FROM read_parquet([${files.map(literal).join(', ')}], union_by_name = true, hive_partitioning = false))`,
    );
    if (pool === undefined) await duck.run('CREATE VIEW mcp_traces AS FROM archived');
    else {
      const from =
        since === undefined ? 'mcp_traces' : `mcp_traces WHERE start_time >= '${since.toISOString()}'`;
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
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
