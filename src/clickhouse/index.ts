/**
 * Writes spans to ClickHouse in the form of the rows of Postgres. It may import `base` and `postgres`.
 */
export type { ClickHouseConnection, ClickHouseConnectionOptions, ClickHouseSettings } from './connection.ts';
export { ClickHouseSpanExporter } from './exporter.ts';
export { type ClickHouseStore, openClickHouseStore } from './migrate.ts';
export type { ClickHouseSpanExporterOptions } from './options.ts';
export { schemaStatements } from './schema.ts';
