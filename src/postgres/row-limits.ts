import { wholeNumber } from '../base/index.ts';

/** Bounds of a row; values beyond them are cut, listed in the row and counted. */
export interface RowLimits {
  /**
   * Longest text of a text column, in UTF-16 units, 262,144 at most. A longer attribute stays in the JSON of `attributes`, its column
   * null; a longer name, status message or scope is cut. @defaultValue 65536
   */
  readonly maxColumnChars?: number | undefined;
  /** Longest text within `attributes`, `resource`, `events` and `links`, in UTF-16 units, 16,777,216 at most. @defaultValue 1048576 */
  readonly maxAttributeChars?: number | undefined;
  /** Text of all keys and values of one of those columns together, in UTF-16 units, 16,777,216 at most. @defaultValue 4194304 */
  readonly maxJsonChars?: number | undefined;
}

export type ResolvedRowLimits = { readonly [K in keyof RowLimits]-?: number };

/** Levels of nesting kept in JSON; Postgres's own limit depends on its stack and is in the thousands. */
export const MAX_DEPTH = 100;

/** Values kept in one JSON column: objects with many references to each other could otherwise expand endlessly. */
export const MAX_VALUES = 100_000;

/** UTF-16 units of a key in JSON. */
export const MAX_KEY_CHARS = 1024;

/**
 * Postgres closes a connection that sends a row of a gigabyte, and a character may take six bytes: with all texts and
 * all four JSON columns at their limits, a row has less than half of that.
 */
const MOST_COLUMN_CHARS = 262_144;
const MOST_JSON_CHARS = 16_777_216;

/** @throws ObservatoryError `INVALID_OPTION` when a value cannot be used. */
export function resolveRowLimits(limits: RowLimits): ResolvedRowLimits {
  return {
    maxColumnChars: wholeNumber('maxColumnChars', limits.maxColumnChars ?? 65_536, 1, MOST_COLUMN_CHARS),
    maxAttributeChars: wholeNumber(
      'maxAttributeChars',
      limits.maxAttributeChars ?? 1_048_576,
      1,
      MOST_JSON_CHARS,
    ),
    maxJsonChars: wholeNumber('maxJsonChars', limits.maxJsonChars ?? 4_194_304, 1, MOST_JSON_CHARS),
  };
}
