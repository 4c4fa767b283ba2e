export { type SpanWriter, type StoreTally, writeInBatches } from './batches.ts';
export { ByteWriter, joinPlaces, type Place } from './byte-writer.ts';
export { cleanText } from './clean-text.ts';
export {
  aloneArchiving,
  countAll,
  countLate,
  dropCounted,
  setLateAside,
  type TransactionMark,
  tablesSetAside,
} from './closed-days.ts';
export { type CopyPool, withClient } from './copy-in.ts';
export { copyOut } from './copy-out.ts';
export { DEFAULT_DATA_DIR, type OpenDatabaseOptions, openDatabase } from './database.ts';
export { isRowAtFault, toObservatoryError } from './database-error.ts';
export { PostgresSpanExporter } from './exporter.ts';
export { canonicalUuid, spanIdToUuid, traceIdToUuid, uuidToSpanId, uuidToTraceId } from './ids.ts';
export { type MigrationResult, migrate } from './migrate.ts';
export { IS_MODEL_CALL, IS_UNTEMPLATED } from './model-calls.ts';
export type { PostgresSpanExporterOptions } from './options.ts';
export { listPartitions, type Partition, prune, quotedName } from './partitions.ts';
export { type OwnPool, openPool } from './pool.ts';
export { reading } from './read-only.ts';
export { refreshRollups, refreshRuns } from './rollups.ts';
export { type ResolvedRowLimits, type RowLimits, resolveRowLimits } from './row-limits.ts';
export { type Cell, SpanCells } from './span-cells.ts';
export { JSON_COLUMNS, SpanJson } from './span-json.ts';
export {
  type DatabaseStatus,
  databaseBytes,
  databaseStatus,
  type NamedCount,
  type TableStatus,
} from './status.ts';
export { type ExporterStats, SpanStoreExporter } from './store-exporter.ts';
export { hrTimeToEpochMicros } from './time.ts';
export {
  type Database,
  nameOfDatabase,
  type PostgresConnection,
  type Queryable,
  type QueryResult,
  type ReadOnlyOptions,
  type Statement,
} from './types.ts';
