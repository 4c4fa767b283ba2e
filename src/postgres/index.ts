/**
 * Writes spans to `mcp_traces`, migrates, rolls up and prunes it, and runs the embedded database. It may import `base`
 * to `otlp`.
 */
export { type SpanWriter, writeInBatches } from './batches.ts';
export { DatabaseBehindDoor, databaseAt, isUnknownBehindDoor } from './behind-door.ts';
export { ByteWriter, joinPlaces, type Place } from './byte-writer.ts';
export { type CheckOptions, checkStore, type StoreCheck, type StoreFinding } from './check.ts';
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
export { nameOfConnectionString } from './connection-string.ts';
export { type CopyPool, withClient } from './copy-in.ts';
export { copyOut } from './copy-out.ts';
export { DEFAULT_DATA_DIR, findShared, type OpenDatabaseOptions, openDatabase } from './database.ts';
export { isRowAtFault, TableRefusal, toObservatoryError } from './database-error.ts';
export { PostgresSpanExporter } from './exporter.ts';
export { canonicalUuid, spanIdToUuid, traceIdToUuid, uuidToSpanId, uuidToTraceId } from './ids.ts';
export { firstNames, type MigrationResult, migrate, schemaVersion } from './migrate.ts';
export { LATEST_MIGRATION } from './migrations.ts';
export { IS_COUNTED_CALL, IS_MODEL_CALL, IS_MODEL_OPERATION, IS_UNTEMPLATED } from './model-calls.ts';
export type { PostgresSpanExporterOptions } from './options.ts';
export { ownTablesBytes, refuseOtherTables } from './own-tables.ts';
export { listPartitions, type Partition, type StoredTable, textOrNull } from './partitions.ts';
export { type OwnPool, openPool } from './pool.ts';
export { type PruneResult, prune } from './prune.ts';
export { reading } from './read-only.ts';
export { type RepriceOptions, type RepriceResult, reprice } from './reprice.ts';
export { refreshRollups, refreshRuns } from './rollups.ts';
export { type ResolvedRowLimits, type RowLimits, resolveRowLimits } from './row-limits.ts';
export type { StoreTally } from './row-sink.ts';
export { missingObjects } from './schema-objects.ts';
export { type Cell, SpanCells } from './span-cells.ts';
export { JSON_COLUMNS, SpanJson } from './span-json.ts';
export {
  type DatabaseStatus,
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
export { Witness } from './witness.ts';
