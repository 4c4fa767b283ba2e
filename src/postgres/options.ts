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
import { nameOfConnectionString } from './connection-string.ts';
import type { PoolOptions } from './pool.ts';
import { type ResolvedRowLimits, type RowLimits, resolveRowLimits } from './row-limits.ts';
import { nameOfDatabase, type PostgresConnection } from './types.ts';

export interface PostgresSpanExporterOptions extends RowLimits, PoolOptions {
  /**
   * A connection string, whose pool the exporter opens and closes, or a `pg.Pool`, PGlite or other queryable, which
   * stays yours to close.
   */
  readonly connection: PostgresConnection;
  /** Create or update the tables before the first export. @defaultValue false */
  readonly migrate?: boolean | undefined;
  /** How long to wait for a statement, in milliseconds, with a connection string. @defaultValue 30000 */
  readonly statementTimeoutMs?: number | undefined;
  /** Spans written by one statement. @defaultValue 1000 */
  readonly maxRowsPerStatement?: number | undefined;
  /**
   * Write with binary COPY if the connection is a connection string or a `pg.Pool`; `false` writes with INSERT, as for
   * all other connections. Both work behind a pooler in transaction mode: each statement is its own transaction and
   * none is prepared. @defaultValue true
   */
  readonly copy?: boolean | undefined;
  /** Text written by one statement, in UTF-16 units; a single larger span is still written. @defaultValue 8388608 */
  readonly maxCharsPerStatement?: number | undefined;
}

type Given = 'connection' | 'ssl';

/** With its defaults; `ssl` has none. */
export type ResolvedExporterOptions = ResolvedRowLimits &
  Pick<PostgresSpanExporterOptions, Given> & {
    readonly [K in Exclude<keyof PostgresSpanExporterOptions, Given>]-?: NonNullable<
      PostgresSpanExporterOptions[K]
    >;
  } & {
    /** Name of the database for messages, if known. */
    readonly databaseName: string | undefined;
  };

const OPTIONS: OptionKinds<PostgresSpanExporterOptions> = {
  connection: secret(
    required(
      either(
        { ...kinds.string, expected: 'a connection string' },
        having('an object with a method query()', 'query'),
      ),
    ),
  ),
  migrate: kinds.boolean,
  copy: kinds.boolean,
  holdsProcess: kinds.boolean,
  ssl: either(kinds.boolean, kinds.object),
  maxConnections: kinds.number,
  connectTimeoutMs: kinds.number,
  statementTimeoutMs: kinds.number,
  maxRowsPerStatement: kinds.number,
  maxCharsPerStatement: kinds.number,
  maxColumnChars: kinds.number,
  maxAttributeChars: kinds.number,
  maxJsonChars: kinds.number,
};

/** @throws ObservatoryError `INVALID_OPTION` when a value cannot be used. */
export function resolveExporterOptions(options: PostgresSpanExporterOptions): ResolvedExporterOptions {
  checkOptions(options, OPTIONS, 'PostgresSpanExporter');
  const { connection } = options;
  return {
    ...resolveRowLimits(options),
    connection,
    databaseName: findName(connection),
    migrate: options.migrate ?? false,
    maxConnections: wholeNumber('maxConnections', options.maxConnections ?? 4, 1),
    connectTimeoutMs: wholeNumber('connectTimeoutMs', options.connectTimeoutMs ?? 10_000, 0),
    statementTimeoutMs: wholeNumber('statementTimeoutMs', options.statementTimeoutMs ?? 30_000, 0),
    ssl: options.ssl,
    holdsProcess: options.holdsProcess ?? true,
    copy: options.copy ?? true,
    maxRowsPerStatement: wholeNumber('maxRowsPerStatement', options.maxRowsPerStatement ?? 1000, 1),
    maxCharsPerStatement: wholeNumber('maxCharsPerStatement', options.maxCharsPerStatement ?? 8_388_608, 1),
  };
}

function findName(connection: PostgresConnection): string | undefined {
  if (typeof connection === 'string') return nameOfConnectionString(connection);
  return nameOfDatabase(connection);
}
