export { type ArchivedTable, type ArchiveOptions, archive } from './archive.ts';
export type { DuckResult } from './duckdb.ts';
export type { DayRange } from './file-names.ts';
export { type ArchiveQuery, queryArchive } from './query.ts';
