/**
 * Base class of every error this package throws on purpose. `code` is stable and part of the public API; the message
 * names the problem, the value and the remedy.
 */
const BRAND: unique symbol = Symbol.for('mcp-observatory.error') as never;

/**
 * Codes of {@link ObservatoryError}:
 * - `INVALID_OPTION`: an option, flag, environment variable or argument has a value that cannot be used.
 * - `INVALID_INPUT`: a document or line given as input cannot be read.
 * - `MISSING_PEER`: an optional package is needed and is not installed; the message names the install command.
 * - `DATABASE_UNREACHABLE`: Postgres or ClickHouse cannot be reached, or the embedded database is missing or in use.
 * - `DATABASE_SCHEMA_MISSING`: the tables, or parts of them, do not exist; run `mcp-observatory db migrate`.
 * - `DATABASE_SCHEMA_TOO_NEW`: a newer version of this package has migrated the database.
 * - `DATABASE_TABLE_REFUSES`: the table takes no row, whatever is in it: a constraint, trigger, index or policy was added
 *   to it, or a partition is missing. Nothing is lost by trying again once that is mended.
 * - `DATABASE_REFUSED`: the database refused a statement, or some rows of one; `cause` holds its message and code.
 * - `SPANS_NOT_SAFE`: a flush or shutdown ended with spans neither stored nor on disk; the message has the count.
 * - `EXPORTER_SHUT_DOWN`: `export()` was called after `shutdown()`.
 * - `API_KEY_MISSING`: a model provider needs a key and none was found; the message lists where it was looked for.
 * - `PROVIDER_FAILED`: a model provider refused a request or could not be reached; the error is a `ProviderError`.
 * - `INVALID_SERVER_CONFIG`: a list of MCP servers cannot be used; the message names the server and the field.
 * - `REDIRECT_REFUSED`: a server or endpoint redirects to another origin; the message names it.
 * - `SERVER_UNAVAILABLE`: an MCP server could not be started, reached or initialized; `cause` holds the first reason.
 * - `TOOL_LIST_REFUSED`: the tool list of an MCP server exceeds a bound or does not end; see `ToolListError`.
 * - `TOOL_CALL_FAILED`: a tool call got no result: the server refused it, did not answer in time, or went away.
 * - `POLICY_INVALID`: a policy, allowlist or pin file is missing or cannot be used; everything is denied until it can.
 * - `POLICY_DENIED`: the policy gate refused a call or its result; see `PolicyDeniedError`.
 * - `AUDIT_UNAVAILABLE`: an audit record could not be written, so the call it belongs to was not made.
 * - `PLANNER_FAILED`: the planner's endpoint did not answer with a text.
 * - `GOLDEN_UNREADABLE`: a golden is missing, truncated or malformed.
 * - `GOLDEN_TOO_NEW`: a golden was written by a later version of this package.
 * - `GOLDEN_EDITED`: a golden was changed after it was written; the message names the places.
 * - `GOLDEN_EXPIRED`: a golden is past its expiry date.
 * - `GOLDEN_MISMATCH`: a replay requested something the golden lacks, left part of it unused, or ended with another
 *   result; see `GoldenMismatchError`.
 * - `TRACE_UNUSABLE`: a stored trace does not exist, or lacks what the conversion needs; the message says why.
 * - `UNKNOWN_TIER`: a call names a tier of execution that is not configured; the message lists those that are.
 * - `REVIEW_NOT_FOUND`: there is no review of that id.
 * - `REVIEW_CONFLICT`: the caller may not decide a review: it was decided (otherwise), expired, or claimed by someone else.
 * - `ARCHIVE_REFUSED`: a file of an archive cannot be written or read; what was to be archived is still in the database.
 * - `REVIEW_UNDECIDED`: waiting for a review ended first, by timeout, abort signal or close of the queue.
 */
export type ObservatoryErrorCode =
  | 'INVALID_OPTION'
  | 'INVALID_INPUT'
  | 'MISSING_PEER'
  | 'DATABASE_UNREACHABLE'
  | 'DATABASE_SCHEMA_MISSING'
  | 'DATABASE_SCHEMA_TOO_NEW'
  | 'DATABASE_TABLE_REFUSES'
  | 'DATABASE_REFUSED'
  | 'SPANS_NOT_SAFE'
  | 'EXPORTER_SHUT_DOWN'
  | 'API_KEY_MISSING'
  | 'PROVIDER_FAILED'
  | 'INVALID_SERVER_CONFIG'
  | 'REDIRECT_REFUSED'
  | 'SERVER_UNAVAILABLE'
  | 'TOOL_LIST_REFUSED'
  | 'TOOL_CALL_FAILED'
  | 'POLICY_INVALID'
  | 'POLICY_DENIED'
  | 'AUDIT_UNAVAILABLE'
  | 'PLANNER_FAILED'
  | 'GOLDEN_UNREADABLE'
  | 'GOLDEN_TOO_NEW'
  | 'GOLDEN_EDITED'
  | 'GOLDEN_EXPIRED'
  | 'GOLDEN_MISMATCH'
  | 'TRACE_UNUSABLE'
  | 'PROMPT_TEMPLATE_MISSING'
  | 'UNKNOWN_TIER'
  | 'REVIEW_NOT_FOUND'
  | 'REVIEW_CONFLICT'
  | 'ARCHIVE_REFUSED'
  | 'REVIEW_UNDECIDED';

export class ObservatoryError extends Error {
  /** Stable, machine-readable reason; see {@link ObservatoryErrorCode}. */
  readonly code: ObservatoryErrorCode;

  constructor(code: ObservatoryErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ObservatoryError';
    this.code = code;
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** Like `instanceof`, but also true for errors of another installed copy of this package. */
  static isInstance(value: unknown): value is ObservatoryError {
    return typeof value === 'object' && value !== null && Object.hasOwn(value, BRAND);
  }
}

/**
 * The error for an option that cannot be used.
 * @param option names it as the message should: the name in quotes.
 * @param shown stands for the value in the message. @defaultValue the value, or its type for what is long
 */
export function invalidOption(
  option: string,
  expected: string,
  value: unknown,
  shown: string = shownValue(value),
): ObservatoryError {
  return new ObservatoryError('INVALID_OPTION', `Expected ${option} to be ${expected}, got ${shown}`);
}

/** Longest text of a value in a message. */
const MAX_SHOWN = 80;

function shownValue(value: unknown): string {
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  return `${String(value).slice(0, MAX_SHOWN)} (${typeof value})`;
}

/** @throws ObservatoryError `INVALID_OPTION` when the value is not a whole number from `min` to `max`. */
export function wholeNumber(name: string, value: number, min: number, max?: number): number {
  if (Number.isSafeInteger(value) && value >= min && value <= (max ?? value)) return value;
  const upTo = max === undefined ? 'up' : `to ${max}`;
  throw invalidOption(`'${name}'`, `a whole number from ${min} ${upTo}`, value);
}

/** The message of an error, or the text of any other thrown value. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
