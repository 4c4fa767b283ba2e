import { wholeNumber } from '../base/index.ts';
import {
  type ClickHouseConnection,
  nameOfClickHouseUrl,
  openClickHouse,
  runOnClickHouse,
} from './connection.ts';
import { toClickHouseError } from './errors.ts';
import { retentionStatement, schemaStatements } from './schema.ts';

/** A century: later expiry cannot be represented. */
const MOST_DAYS = 36_500;
const REQUEST_TIMEOUT_MS = 60_000;

/** Makes the tables, or adds what is missing in them. */
export async function createTables(
  connection: ClickHouseConnection,
  keepDays: number | undefined,
): Promise<void> {
  for (const query of schemaStatements()) await runOnClickHouse(connection, { query });
  if (keepDays !== undefined) await runOnClickHouse(connection, { query: retentionStatement(keepDays) });
}

/** @throws ObservatoryError `INVALID_OPTION` for a number of days that cannot be used. */
export function checkedKeepDays(days: number | undefined): number | undefined {
  return days === undefined ? undefined : wholeNumber('keepDays', days, 1, MOST_DAYS);
}

/** A ClickHouse that `mcp_traces` is, or shall be, in. */
export interface ClickHouseStore extends AsyncDisposable {
  /** Scheme, user, host and database, without the password. */
  readonly name: string;
  /**
   * Makes the tables, or adds what is missing in them.
   * @throws ObservatoryError `DATABASE_UNREACHABLE`, `DATABASE_SCHEMA_MISSING` (no such database) or `DATABASE_REFUSED`.
   */
  migrate(keepDays?: number): Promise<void>;
  /** @throws ObservatoryError as `migrate`, also when the table is missing. */
  check(): Promise<void>;
  close(): Promise<void>;
}

/** @throws ObservatoryError `INVALID_OPTION` for a URL that cannot be used, `MISSING_PEER` without the client. */
export async function openClickHouseStore(url: string): Promise<ClickHouseStore> {
  const name = nameOfClickHouseUrl(url);
  const options = { maxConnections: 1, requestTimeoutMs: REQUEST_TIMEOUT_MS, compress: false };
  const connection = await openClickHouse(url, options);
  const explained = async (work: Promise<unknown>) => {
    await work.catch((error: unknown) => {
      throw toClickHouseError(error, name);
    });
  };
  const close = () => connection.close();
  return {
    name,
    migrate: async (keepDays) => explained(createTables(connection, checkedKeepDays(keepDays))),
    check: () => explained(runOnClickHouse(connection, { query: 'SELECT 1 FROM mcp_traces LIMIT 0' })),
    close,
    [Symbol.asyncDispose]: close,
  };
}
