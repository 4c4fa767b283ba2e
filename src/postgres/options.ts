import type { ConnectionOptions } from 'node:tls';
import { ObservatoryError, wholeNumber } from '../base/index.ts';
import { nameOfConnectionString } from './connection-string.ts';
import { type ResolvedRowLimits, type RowLimits, resolveRowLimits } from './row-limits.ts';
import { nameOfDatabase, type PostgresConnection } from './types.ts';

/** Options of `PostgresSpanExporter`. */
export interface PostgresSpanExporterOptions extends RowLimits {
  /**
   * A connection string, whose pool the exporter opens and closes, or a `pg.Pool`, PGlite or other queryable, which
   * stays yours to close.
   */
  readonly connection: PostgresConnection;
  /** Create or update the tables before the first export. @defaultValue false */
  readonly migrate?: boolean | undefined;
  /** Connections opened for a connection string. @defaultValue 4 */
  readonly maxConnections?: number | undefined;
  /** How long to wait for a connection, in milliseconds, with a connection string. @defaultValue 10000 */
  readonly connectTimeoutMs?: number | undefined;
  /** How long to wait for a statement, in milliseconds, with a connection string. @defaultValue 30000 */
  readonly statementTimeoutMs?: number | undefined;
  /**
   * TLS with a connection string, as `pg` takes it: `true`, or options of `node:tls` such as `{ ca }`, which check the
   * server's certificate and name. What the connection string says by `sslmode`, `sslrootcert`, `sslcert` and `sslkey`
   * comes first. @defaultValue as the connection string says; none without a word in it
   */
  readonly ssl?: boolean | ConnectionOptions | undefined;
  /** Spans written by one statement. @defaultValue 1000 */
  readonly maxRowsPerStatement?: number | undefined;
  /**
   * Write by binary COPY where the connection is of the package `pg`: a connection string or a `pg.Pool`. `false`
   * writes by INSERT, as all other connections do. Both go through a pooler that hands out connections by transaction:
   * each statement is a transaction of its own and none is prepared. @defaultValue true
   */
  readonly copy?: boolean | undefined;
  /** Text written by one statement, in UTF-16 units; a single larger span still goes. @defaultValue 8388608 */
  readonly maxCharsPerStatement?: number | undefined;
}

export interface ResolvedExporterOptions extends ResolvedRowLimits {
  readonly connection: PostgresConnection;
  /** How to name the database in messages, when that is known. */
  readonly databaseName: string | undefined;
  readonly migrate: boolean;
  readonly maxConnections: number;
  readonly connectTimeoutMs: number;
  readonly statementTimeoutMs: number;
  readonly ssl: boolean | ConnectionOptions | undefined;
  readonly copy: boolean;
  readonly maxRowsPerStatement: number;
  readonly maxCharsPerStatement: number;
}

/** @throws ObservatoryError `INVALID_OPTION` when a value cannot be used. */
export function resolveExporterOptions(options: PostgresSpanExporterOptions): ResolvedExporterOptions {
  const { connection } = options;
  return {
    ...resolveRowLimits(options),
    connection,
    databaseName: nameOf(connection),
    migrate: options.migrate ?? false,
    maxConnections: wholeNumber('maxConnections', options.maxConnections ?? 4, 1),
    connectTimeoutMs: wholeNumber('connectTimeoutMs', options.connectTimeoutMs ?? 10_000, 0),
    statementTimeoutMs: wholeNumber('statementTimeoutMs', options.statementTimeoutMs ?? 30_000, 0),
    ssl: options.ssl,
    copy: options.copy ?? true,
    maxRowsPerStatement: wholeNumber('maxRowsPerStatement', options.maxRowsPerStatement ?? 1000, 1),
    maxCharsPerStatement: wholeNumber('maxCharsPerStatement', options.maxCharsPerStatement ?? 8_388_608, 1),
  };
}

function nameOf(connection: PostgresConnection): string | undefined {
  if (typeof connection === 'string') return nameOfConnectionString(connection);
  if (typeof connection === 'object' && connection !== null && typeof connection.query === 'function') {
    return nameOfDatabase(connection);
  }
  throw new ObservatoryError(
    'INVALID_OPTION',
    `Expected 'connection' to be a connection string or an object with a query method, got ${typeof connection}`,
  );
}
