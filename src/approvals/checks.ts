import { invalidOption, ObservatoryError, wholeNumber } from '../base/index.ts';
import { canonicalUuid } from '../postgres/index.ts';
import { MAX_REVIEW_BYTES } from './approval-parts.ts';
import type { ReviewStatus } from './types.ts';

const MAX_NAME_CHARS = 200;
/** Ten years. */
const MAX_MS = 315_360_000_000;

/** @throws ObservatoryError `INVALID_OPTION` for what is not a positive number of milliseconds. */
export function checkMs(option: string, value: number | undefined, byDefault: number, most = MAX_MS): number {
  const ms = value ?? byDefault;
  if (ms > 0 && ms <= most) return ms;
  throw invalidOption(`'${option}'`, `a number of milliseconds above 0 and up to ${most}`, ms);
}

/** @returns ISO 8601 UTC text. @throws ObservatoryError `INVALID_OPTION` for an invalid date. */
export function checkDate(option: string, value: Date): string {
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString();
  throw invalidOption(`'${option}'`, 'a valid Date', String(value));
}

/** @throws ObservatoryError `INVALID_OPTION` for an empty name, one that is too long, or one that cannot be stored. */
export function checkName(option: string, value: string): string {
  const isName = typeof value === 'string' && value.trim() !== '' && value.length <= MAX_NAME_CHARS;
  if (isName && !value.includes('\0')) return value;
  const expected = `a name of at most ${MAX_NAME_CHARS} characters`;
  throw invalidOption(`'${option}'`, expected, String(value).slice(0, 50));
}

/** @throws ObservatoryError `INVALID_OPTION` for an invalid UUID. */
export function checkId(id: string): string {
  const uuid = canonicalUuid(String(id));
  if (uuid !== undefined) return uuid;
  throw invalidOption('the id of a review', 'a UUID', id);
}

const STATUSES: readonly ReviewStatus[] = ['pending', 'claimed', 'approved', 'rejected', 'expired'];

/** @throws ObservatoryError `INVALID_OPTION` for an unknown status. */
export function checkStatus(status: string | undefined): ReviewStatus | undefined {
  if (status === undefined) return undefined;
  const known = STATUSES.find((each) => each === status);
  if (known !== undefined) return known;
  throw invalidOption('the status', `one of ${STATUSES.join(', ')}`, status);
}

/** @throws ObservatoryError `INVALID_OPTION` for an invalid number of rows. */
export function checkLimit(limit: number, largest: number): number {
  return Math.min(wholeNumber('limit', limit, 1), largest);
}

/** @throws ObservatoryError `INVALID_INPUT` for a value that is not JSON, or too large. */
export function toJson(what: string, value: unknown): string {
  let text: string | undefined;
  let cause: unknown;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    cause = error;
  }
  if (text === undefined) {
    const message = `The ${what} of a review must be a JSON value, got ${typeof value}`;
    throw new ObservatoryError('INVALID_INPUT', message, { cause });
  }
  const bytes = Buffer.byteLength(text);
  if (bytes <= MAX_REVIEW_BYTES) return text;
  throw new ObservatoryError(
    'INVALID_INPUT',
    `The ${what} of a review may have ${MAX_REVIEW_BYTES} bytes as JSON, got ${bytes}; shorten it with the route's 'content'`,
  );
}
