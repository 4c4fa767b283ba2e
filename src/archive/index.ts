export { type ArchivedTable, type ArchiveOptions, archive } from './archive.ts';
export type { DuckResult } from './duckdb.ts';
export { type ArchiveQuery, queryArchive } from './query.ts';
export type { ArchiveCache, DayRange } from './store/index.ts';
