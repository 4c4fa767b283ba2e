export { cleanText } from './clean-text.ts';
export { DEFAULT_DATA_DIR, type OpenDatabaseOptions, openDatabase } from './database.ts';
export { isRowAtFault, toObservatoryError } from './database-error.ts';
export { type ExporterStats, PostgresSpanExporter, RefusedSpansError } from './exporter.ts';
export { canonicalUuid, spanIdToUuid, traceIdToUuid, uuidToSpanId, uuidToTraceId } from './ids.ts';
export { SANITIZED_ATTRIBUTE, TRUNCATED_ATTRIBUTE } from './marks.ts';
export { type MigrationResult, migrate } from './migrate.ts';
export { handAppliedScript, LATEST_MIGRATION, MIGRATIONS } from './migrations.ts';
export type { PostgresSpanExporterOptions } from './options.ts';
export { createPartitions, listPartitions, type Partition, type PruneResult, prune } from './partitions.ts';
export { refreshRollups } from './rollups.ts';
export { spanToRow } from './row-encoder.ts';
export type { RowLimits } from './row-limits.ts';
export { type DatabaseStatus, databaseStatus, type NamedCount, type TableStatus } from './status.ts';
export {
  type Database,
  nameOfDatabase,
  type PostgresConnection,
  type Queryable,
  type QueryResult,
} from './types.ts';
