import { FIELDS, importPeer, loadPeer, ObservatoryError, type SqlType } from '../base/index.ts';

/** DuckDB in memory; larger sorts use temporary files beside the archive. */
export interface DuckDb extends AsyncDisposable {
  /** Runs a statement. */
  run(sql: string): Promise<void>;
  /** The names of the columns of a query, and its rows as JSON values, `maxRows` at most. */
  read(sql: string, maxRows: number): Promise<DuckResult>;
}

export interface DuckResult {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
  /** There are more rows. */
  readonly isCut: boolean;
}

/**
 * Opens DuckDB, from the optional package `@duckdb/node-api`.
 * @param folder for temporary files.
 * @throws ObservatoryError `MISSING_PEER` when it is not installed.
 */
export async function openDuckDb(folder: string): Promise<DuckDb> {
  const { DuckDBInstance } = await loadPeer(
    '@duckdb/node-api',
    () => importPeer<typeof import('@duckdb/node-api')>('@duckdb/node-api'),
    { neededFor: 'An archive' },
  );
  const instance = await DuckDBInstance.create(':memory:', {
    temp_directory: folder,
    // Nothing is fetched: all that is used here is built in.
    autoinstall_known_extensions: 'false',
  });
  const connection = await instance.connect();
  return {
    run: async (sql) => {
      await connection.run(sql).catch(refused);
    },
    read: async (sql, maxRows) => {
      const reader = await connection.streamAndReadUntil(sql, maxRows + 1).catch(refused);
      const rows = reader.getRowsJson();
      return { columns: reader.columnNames(), rows: rows.slice(0, maxRows), isCut: rows.length > maxRows };
    },
    [Symbol.asyncDispose]: async () => {
      connection.closeSync();
      instance.closeSync();
    },
  };
}

function refused(cause: unknown): never {
  const message = cause instanceof Error ? cause.message : String(cause);
  // Without the statement, which DuckDB repeats.
  const reason = message
    .replace(/\n+LINE \d+:.*/s, '')
    .replace(/\s+/g, ' ')
    .trim();
  throw new ObservatoryError('ARCHIVE_REFUSED', `DuckDB refused a statement: ${reason}`, { cause });
}

const TYPES: Readonly<Record<SqlType, string>> = {
  uuid: 'UUID',
  text: 'VARCHAR',
  timestamptz: 'TIMESTAMPTZ',
  integer: 'INTEGER',
  'double precision': 'DOUBLE',
  boolean: 'BOOLEAN',
  jsonb: 'JSON',
};

/** The columns of `mcp_traces`, as DuckDB declares them. */
export const DUCK_COLUMNS: readonly (readonly [column: string, type: string])[] = FIELDS.map(
  ({ column, sqlType }) => [column, TYPES[sqlType]],
);

/** Text as a literal of SQL. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
