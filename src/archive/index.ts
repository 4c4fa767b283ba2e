/**
 * Moves days of spans from Postgres to Parquet files in a folder or a bucket, and answers questions about both. It may
 * import `base` and `postgres`; DuckDB is loaded when it is needed.
 */
export { type ArchivedTable, type ArchiveOptions, archive } from './archive.ts';
export type { DuckResult } from './duckdb.ts';
export type { DayRange } from './file-names.ts';
export { type ArchiveQuery, queryArchive } from './query.ts';
