import { errorMessage, ObservatoryError, type ObservatoryErrorCode } from '../base/index.ts';

/** A SQLSTATE, as opposed to a system error code such as `EPIPE`: no SQLSTATE begins with E. */
const SQLSTATE = /^[0-9FHPX][0-9A-Z]{4}$/;
/** Connection lost, wrong password, shutting down, no such database, too many connections. */
const NO_CONNECTION = /^(?:08|28|57P|3D000|53300)/;
/**
 * Faults of the connection, the server, the statement or the tables, which other rows would meet too. All others may be
 * a row's: its data, its size, or a constraint, trigger or row policy (42501), or what a trigger runs into.
 */
const NOT_OF_A_ROW = /^(?:08|0A|25|26|28|34|3[BDF]|40|42(?!501)|53|55|57|58|72|F0|HV|XX)/;
const CHECK_VIOLATION = '23514';
/** No such table, function or column, or a column of another type. */
const OTHER_SCHEMA = /^(?:42P01|42703|42804|42883|42P10|3F000)/;

/** An error loses its fields when it is sent to another thread or process: what can be sent of it. */
export function errorFields(error: unknown): Record<string, unknown> {
  const fields: Record<string, unknown> = { message: errorMessage(error) };
  if (!(error instanceof Error)) return fields;
  for (const [name, value] of Object.entries(error))
    if (typeof value === 'string' || typeof value === 'number') fields[name] = value;
  if ('code' in error) fields.code = error.code;
  return fields;
}

/** The error again, with its fields. */
export function toError(fields: Readonly<Record<string, unknown>>): Error {
  return Object.assign(new Error(String(fields.message)), fields);
}

/** The server's five-character code; `undefined` for other errors. */
export function readSqlState(error: unknown): string | undefined {
  const code = readCode(error);
  return code !== undefined && SQLSTATE.test(code) ? code : undefined;
}

/** Whether the statement may succeed without some of its rows. Whether other rows fare better shows whose fault it is. */
export function isRowAtFault(error: unknown): boolean {
  const state = readSqlState(error);
  return state !== undefined && !NOT_OF_A_ROW.test(state);
}

/** Whether no partition takes the row: a violation of a check that has no name. */
export function isPartitionMissing(error: unknown): boolean {
  return readSqlState(error) === CHECK_VIOLATION && !(error as { readonly constraint?: unknown }).constraint;
}

/** The table refuses every row; `cause` says why. */
export class TableRefusal extends Error {
  constructor(cause: unknown) {
    super(describe(cause), { cause });
    this.name = 'TableRefusal';
  }
}

/** Whether tables are missing or of another schema version. */
export function isSchemaAtFault(error: unknown): boolean {
  return OTHER_SCHEMA.test(readSqlState(error) ?? '');
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
  const database = databaseName === undefined ? 'the database' : `the database ${databaseName}`;
  if (error instanceof TableRefusal) {
    return failure(
      'DATABASE_TABLE_REFUSES',
      `The table ${table} takes no rows in ${database}: ${error.message}. This holds for every row, so something was ` +
        'added to the table or is missing in it. Undo that, or run: npx mcp-observatory db status',
      error.cause,
    );
  }
  const state = readSqlState(error);
  const text = describe(error);
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
  const code = readCode(error);
  return code === undefined ? bare : Object.assign(bare, { code });
}

/** One line with the code. An AggregateError (several addresses of one host tried) has no message of its own. */
function describe(error: unknown): string {
  const message = errorMessage(error);
  const code = readCode(error);
  if (message === '') return code ?? 'unknown error';
  return code === undefined || message.includes(code) ? message : `${message} (${code})`;
}

function readCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
