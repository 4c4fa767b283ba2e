import type { HrTime } from '@opentelemetry/api';
import { isObject, type JsonObject } from '../json/index.ts';
import { malformed } from './decode-error.ts';
import { hrTimeOfDigits } from './time.ts';

const DIGITS = /^[0-9]{1,20}$/;
const INTEGER = /^-?[0-9]{1,20}$/;
const MAX_UINT64 = 18_446_744_073_709_551_615n;

// Absent and null mean the default, as in protobuf's JSON mapping; a wrong type is an error.

export function expectObject(value: unknown, name: string): JsonObject {
  if (value === undefined || value === null) return {};
  if (isObject(value)) return value;
  throw wrong(name, 'an object', value);
}

export function expectList(value: unknown, name: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  throw wrong(name, 'a list', value);
}

export function expectString(value: unknown, name: string): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  throw wrong(name, 'a string', value);
}

/** A 32-bit integer: an enum, a count, flags. A string of digits is accepted. */
export function expectUint32(value: unknown, name: string): number {
  const number = typeof value === 'string' && DIGITS.test(value) ? Number(value) : value;
  if (typeof number === 'number' && Number.isInteger(number) && number >= 0 && number < 2 ** 32)
    return number;
  throw wrong(name, 'a whole number of 32 bits', value);
}

/** Nanoseconds since 1970 as a string of digits or a number. */
export function expectTime(value: unknown, name: string): HrTime {
  const digits = typeof value === 'number' && Number.isInteger(value) ? BigInt(value).toString() : value;
  if (typeof digits === 'string' && DIGITS.test(digits) && BigInt(digits) <= MAX_UINT64) {
    return hrTimeOfDigits(digits);
  }
  throw wrong(name, 'nanoseconds since 1970', value);
}

/** A 64-bit integer from a string or number: a number if exact as a double, else a bigint. */
export function expectInt64(value: unknown, name: string): number | bigint {
  if (typeof value === 'number' && Number.isInteger(value)) return value;
  if (typeof value === 'string' && INTEGER.test(value)) {
    const exact = BigInt(value);
    const number = Number(exact);
    if (BigInt.asIntN(64, exact) === exact) return BigInt(number) === exact ? number : exact;
  }
  throw wrong(name, 'an integer of 64 bits', value);
}

/** A number, or the string for NaN or an infinity. */
export function expectDouble(value: unknown, name: string): number {
  if (typeof value === 'number') return value;
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN;
  if (!Number.isNaN(number) || value === 'NaN') return number;
  throw wrong(name, 'a number', value);
}

/** Names the type of the value, never the value itself, which may be a prompt. */
export function wrong(name: string, expected: string, value: unknown): Error {
  const got = value === null ? 'null' : Array.isArray(value) ? 'a list' : `a ${typeof value}`;
  return malformed(`Expected '${name}' to be ${expected}, got ${got}`);
}
