import { errorMessage, ObservatoryError } from '../base/index.ts';
import { TableRefusal, toObservatoryError } from '../postgres/index.ts';

/** Codes of ClickHouse, from `src/Common/ErrorCodes.cpp`: no such column, table or database. */
const OTHER_SCHEMA: ReadonlySet<string> = new Set(['10', '16', '47', '60', '81']);
/**
 * Codes of faults of one row: data that does not fit its type, or a constraint that somebody put on the table.
 */
const ROW_AT_FAULT: ReadonlySet<string> = new Set(['27', '33', '69', '117', '131', '349', '469']);
/** Codes of a server that does not let us in: user, password, access, network. */
const NOT_FOR_US: ReadonlySet<string> = new Set(['192', '193', '194', '195', '209', '210', '497', '516']);

/** Maximum length at which a foreign answer, such as a proxy's, is quoted. */
const QUOTED_CHARS = 200;

/** The number of the server's error as text; `undefined` for other errors. */
function readCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' && /^\d{1,5}$/.test(error.code) ? error.code : undefined;
}

/** Whether an insert may succeed without the row at fault. */
export function isRowRefused(error: unknown): boolean {
  return ROW_AT_FAULT.has(readCode(error) ?? '');
}

/**
 * Says what an error of the client or the server means for the user; an `ObservatoryError` passes as it is.
 * @param database its name for messages.
 */
export function toClickHouseError(error: unknown, database: string): ObservatoryError {
  if (ObservatoryError.isInstance(error)) return error;
  if (error instanceof TableRefusal) return toObservatoryError(error, database);
  const code = readCode(error);
  const text = describe(error, code);
  const cause = Object.assign(new Error(text), code === undefined ? {} : { code });
  if (code === undefined || NOT_FOR_US.has(code)) {
    return new ObservatoryError(
      'DATABASE_UNREACHABLE',
      `Cannot reach ${database}: ${text}. Check that it runs, its URL, user and password`,
      { cause },
    );
  }
  if (OTHER_SCHEMA.has(code)) {
    return new ObservatoryError(
      'DATABASE_SCHEMA_MISSING',
      `The table mcp_traces is missing or not as this version needs it in ${database}: ${text}. ` +
        'Run: npx mcp-observatory db migrate --clickhouse-url URL',
      { cause },
    );
  }
  return new ObservatoryError('DATABASE_REFUSED', `A statement was refused by ${database}: ${text}`, {
    cause,
  });
}

/** The error of a fault of a row without the values that its message quotes; other errors as they are. */
export function withoutValues(error: unknown): unknown {
  const code = readCode(error);
  if (code === undefined || !ROW_AT_FAULT.has(code)) return error;
  return Object.assign(new Error(describe(error, code)), { code });
}

/** One line. The message of a fault of a row quotes its values, which may be private. */
function describe(error: unknown, code: string | undefined): string {
  if (code === undefined) return quoted(readMessage(error));
  const type =
    error instanceof Error && 'type' in error && typeof error.type === 'string' ? error.type : 'error';
  return ROW_AT_FAULT.has(code) ? `${type} (${code})` : `${quoted(readMessage(error))} (${type}, ${code})`;
}

/** An AggregateError (several addresses of one host tried) has no message of its own. */
function readMessage(error: unknown): string {
  const message = errorMessage(error).trim();
  if (message !== '') return message;
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}

function quoted(text: string): string {
  const line = text.slice(0, 4 * QUOTED_CHARS).replaceAll(/\s+/g, ' ');
  return line.length > QUOTED_CHARS ? `${line.slice(0, QUOTED_CHARS)}…` : line;
}
