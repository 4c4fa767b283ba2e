import { ObservatoryError } from '../../base/index.ts';
import { canonicalUuid } from '../../postgres/index.ts';
import type { ReviewStatus } from './types.ts';

/** Maximum size of a review's content. */
const MAX_JSON_BYTES = 1_048_576;
const MAX_NAME_CHARS = 200;
/** Ten years. */
const MAX_MS = 315_360_000_000;

/** @throws ObservatoryError `INVALID_OPTION` for what is not a positive number of milliseconds. */
export function checkMs(option: string, value: number | undefined, byDefault: number, most = MAX_MS): number {
  const ms = value ?? byDefault;
  if (ms > 0 && ms <= most) return ms;
  throw new ObservatoryError(
    'INVALID_OPTION',
    `Expected '${option}' to be a number of milliseconds above 0 and up to ${most}, got ${String(ms)}`,
  );
}

/** @returns ISO 8601 UTC text. @throws ObservatoryError `INVALID_OPTION` for an invalid date. */
export function checkDate(option: string, value: Date): string {
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString();
  throw new ObservatoryError(
    'INVALID_OPTION',
    `Expected '${option}' to be a valid Date, got ${String(value)}`,
  );
}

/** @throws ObservatoryError `INVALID_OPTION` for an empty name, one that is too long, or one that cannot be stored. */
export function checkName(option: string, value: string): string {
  const isName = typeof value === 'string' && value.trim() !== '' && value.length <= MAX_NAME_CHARS;
  if (isName && !value.includes('\0')) return value;
  throw new ObservatoryError(
    'INVALID_OPTION',
    `Expected '${option}' to be a name of at most ${MAX_NAME_CHARS} characters, got '${String(value).slice(0, 50)}'`,
  );
}

/** @throws ObservatoryError `INVALID_OPTION` for an invalid UUID. */
export function checkId(id: string): string {
  const uuid = canonicalUuid(String(id));
  if (uuid !== undefined) return uuid;
  throw new ObservatoryError(
    'INVALID_OPTION',
    `Expected the id of a review to be a UUID, got '${String(id)}'`,
  );
}

const STATUSES: readonly ReviewStatus[] = ['pending', 'claimed', 'approved', 'rejected', 'expired'];

/** @throws ObservatoryError `INVALID_OPTION` for an unknown status. */
export function checkStatus(status: string | undefined): ReviewStatus | undefined {
  if (status === undefined) return undefined;
  const known = STATUSES.find((each) => each === status);
  if (known !== undefined) return known;
  throw new ObservatoryError(
    'INVALID_OPTION',
    `Expected the status to be one of ${STATUSES.join(', ')}, got '${String(status)}'`,
  );
}

/** @throws ObservatoryError `INVALID_OPTION` for an invalid number of rows. */
export function checkLimit(limit: number, largest: number): number {
  if (Number.isSafeInteger(limit) && limit > 0) return Math.min(limit, largest);
  throw new ObservatoryError(
    'INVALID_OPTION',
    `Expected the limit to be a whole number from 1 up, got ${limit}`,
  );
}

/** @throws ObservatoryError `INVALID_INPUT` for a value that is not JSON, or too large. */
export function jsonOf(what: string, value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw new ObservatoryError('INVALID_INPUT', `The ${what} of a review must be a JSON value`, { cause });
  }
  if (text === undefined) {
    throw new ObservatoryError(
      'INVALID_INPUT',
      `The ${what} of a review must be a JSON value, got ${typeof value}`,
    );
  }
  const bytes = Buffer.byteLength(text);
  if (bytes <= MAX_JSON_BYTES) return text;
  throw new ObservatoryError(
    'INVALID_INPUT',
    `The ${what} of a review may have ${MAX_JSON_BYTES} bytes as JSON, got ${bytes}; shorten it with the route's 'content'`,
  );
}
