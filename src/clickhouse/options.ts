import {
  checkOptions,
  either,
  having,
  kinds,
  type OptionKinds,
  required,
  secret,
  wholeNumber,
} from '../base/index.ts';
import { type ResolvedRowLimits, type RowLimits, resolveRowLimits } from '../postgres/index.ts';
import {
  type ClickHouseConnection,
  type ClickHouseConnectionOptions,
  type ClickHouseSettings,
  nameOfClickHouseUrl,
  type ResolvedConnectionOptions,
} from './connection.ts';
import { checkedKeepDays } from './migrate.ts';

export interface ClickHouseSpanExporterOptions extends RowLimits, ClickHouseConnectionOptions {
  /**
   * `http://user:password@host:8123/database`, whose connections the exporter opens and closes, or a client of
   * `@clickhouse/client`, which stays yours to close.
   */
  readonly connection: string | ClickHouseConnection;
  /** Create or update the tables before the first export. @defaultValue false */
  readonly migrate?: boolean | undefined;
  /** With `migrate`: spans are deleted this many days after they started. @defaultValue as in the table; a new one keeps all */
  readonly keepDays?: number | undefined;
  /** Spans written by one insert. @defaultValue 10000 */
  readonly maxRowsPerInsert?: number | undefined;
  /** Bytes written by one insert; a single larger span is still written. @defaultValue 33554432 */
  readonly maxBytesPerInsert?: number | undefined;
  /** Settings of each insert, e.g. `{ insert_quorum: 2 }`. @defaultValue none beyond those the exporter needs */
  readonly settings?: ClickHouseSettings | undefined;
}

export interface ResolvedClickHouseOptions extends ResolvedRowLimits {
  readonly connection: string | ClickHouseConnection;
  readonly connecting: ResolvedConnectionOptions;
  /** Name of the database for messages. */
  readonly databaseName: string;
  readonly migrate: boolean;
  readonly keepDays: number | undefined;
  readonly maxRowsPerStatement: number;
  readonly maxCharsPerStatement: number;
  readonly settings: ClickHouseSettings;
}

/** Settings that make an insert durable and idempotent. */
const SETTINGS: ClickHouseSettings = {
  // Answered when the rows are written, not when they are in the server's memory.
  async_insert: 0,
  wait_end_of_query: 1,
  // A batch from the spool may hold many days.
  max_partitions_per_insert_block: 0,
};

const OPTIONS: OptionKinds<ClickHouseSpanExporterOptions> = {
  connection: secret(
    required(
      either({ ...kinds.string, expected: 'a URL' }, having('a client of @clickhouse/client', 'exec')),
    ),
  ),
  migrate: kinds.boolean,
  compress: kinds.boolean,
  settings: kinds.object,
  keepDays: kinds.number,
  maxRowsPerInsert: kinds.number,
  maxBytesPerInsert: kinds.number,
  maxColumnChars: kinds.number,
  maxAttributeChars: kinds.number,
  maxJsonChars: kinds.number,
  maxConnections: kinds.number,
  requestTimeoutMs: kinds.number,
};

/** @throws ObservatoryError `INVALID_OPTION` when a value cannot be used. */
export function resolveClickHouseOptions(options: ClickHouseSpanExporterOptions): ResolvedClickHouseOptions {
  checkOptions(options, OPTIONS, 'ClickHouseSpanExporter');
  const { connection } = options;
  return {
    ...resolveRowLimits(options),
    connection,
    connecting: {
      maxConnections: wholeNumber('maxConnections', options.maxConnections ?? 4, 1),
      requestTimeoutMs: wholeNumber('requestTimeoutMs', options.requestTimeoutMs ?? 30_000, 1),
      compress: options.compress ?? false,
    },
    databaseName: toName(connection),
    migrate: options.migrate ?? false,
    keepDays: checkedKeepDays(options.keepDays),
    maxRowsPerStatement: wholeNumber('maxRowsPerInsert', options.maxRowsPerInsert ?? 10_000, 1),
    maxCharsPerStatement: wholeNumber('maxBytesPerInsert', options.maxBytesPerInsert ?? 33_554_432, 1),
    settings: { ...SETTINGS, ...options.settings },
  };
}

function toName(connection: ClickHouseSpanExporterOptions['connection']): string {
  return typeof connection === 'string' ? nameOfClickHouseUrl(connection) : 'ClickHouse';
}
