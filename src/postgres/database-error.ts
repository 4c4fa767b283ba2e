import { errorMessage, ObservatoryError, type ObservatoryErrorCode } from '../base/index.ts';

/** A SQLSTATE, as opposed to a system error code such as `EPIPE`: no SQLSTATE begins with E. */
const SQLSTATE = /^[0-9FHPX][0-9A-Z]{4}$/;
/** Connection lost, wrong password, shutting down, no such database, too many connections. */
const NO_CONNECTION = /^(?:08|28|57P|3D000|53300)/;
/** Faults of one row: its data, its size, or a constraint or trigger. */
const ROW_AT_FAULT = /^(?:22|23|44|54|P0)/;
/** No such table, function or column, or a column of another type. */
const OTHER_SCHEMA = /^(?:42P01|42703|42804|42883|42P10|3F000)/;

/** The server's five-character code; `undefined` for other errors. */
export function sqlStateOf(error: unknown): string | undefined {
  const code = codeOf(error);
  return code !== undefined && SQLSTATE.test(code) ? code : undefined;
}

/** Whether the statement may succeed without the row at fault. */
export function isRowAtFault(error: unknown): boolean {
  return ROW_AT_FAULT.test(sqlStateOf(error) ?? '');
}

/** Whether tables are missing or of another schema version. */
export function isSchemaAtFault(error: unknown): boolean {
  return OTHER_SCHEMA.test(sqlStateOf(error) ?? '');
}

/**
 * Says what a driver's or server's error means for the user; an `ObservatoryError` passes as it is.
 * @param table the one the statement was about.
 */
export function toObservatoryError(
  error: unknown,
  databaseName?: string | undefined,
  table = 'mcp_traces',
): ObservatoryError {
  if (ObservatoryError.isInstance(error)) return error;
  const state = sqlStateOf(error);
  const text = describe(error);
  const database = databaseName === undefined ? 'the database' : `the database ${databaseName}`;
  if (state === undefined || NO_CONNECTION.test(state)) {
    return failure(
      'DATABASE_UNREACHABLE',
      `Cannot reach ${database}: ${text}. Check that it runs, and the connection string`,
      error,
    );
  }
  if (isSchemaAtFault(error)) {
    return failure(
      'DATABASE_SCHEMA_MISSING',
      `The table ${table} is missing or not as this version needs it in ${database}: ${text}. Run: npx mcp-observatory db migrate`,
      error,
    );
  }
  return failure('DATABASE_REFUSED', `A statement was refused by ${database}: ${text}`, error);
}

function failure(code: ObservatoryErrorCode, message: string, error: unknown): ObservatoryError {
  return new ObservatoryError(code, message, { cause: withoutData(error) });
}

/** Message and code only: the `detail` of a Postgres error quotes the row, which may be private. */
export function withoutData(error: unknown): Error {
  const bare = new Error(describe(error));
  const code = codeOf(error);
  return code === undefined ? bare : Object.assign(bare, { code });
}

/** One line with the code. An AggregateError (several addresses of one host tried) has no message of its own. */
function describe(error: unknown): string {
  const message = errorMessage(error);
  const code = codeOf(error);
  if (message === '') return code ?? 'unknown error';
  return code === undefined || message.includes(code) ? message : `${message} (${code})`;
}

function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
