import type { HrTime } from '@opentelemetry/api';

/** Seconds since 1970 of the years 1 to 9999, which both ISO 8601 text and Postgres can represent. */
const FIRST_SECOND = -62_135_596_800;
const LAST_SECOND = 253_402_300_799;

const NANOS_PER_SECOND = 1_000_000_000;
const NANOS_PER_MICRO = 1000;
const MICROS_PER_SECOND = 1_000_000;

/** Seconds from 1970 to 2000-01-01, the epoch of Postgres. */
const POSTGRES_EPOCH = 946_684_800;

/** Replaces a time that cannot be represented; the row is marked. */
export const UNKNOWN_TIME: HrTime = [0, 0];

/** Whether a time is in the years 1 to 9999. */
export function isRepresentable([seconds, nanos]: HrTime): boolean {
  const second = seconds + Math.floor(nanos / NANOS_PER_SECOND);
  return Number.isInteger(second) && second >= FIRST_SECOND && second <= LAST_SECOND;
}

/**
 * An OpenTelemetry time as ISO 8601 UTC text with microseconds, e.g. `2026-11-20T10:00:00.123456Z`. Seconds
 * and nanoseconds are never combined in one float, so all six digits are exact; the last three of nine are cut off.
 *
 * @param time for which {@link isRepresentable} holds.
 */
export function hrTimeToIso(time: HrTime): string {
  const { second, micros } = divided(time);
  return `${textOfSecond(second)}.${String(micros).padStart(6, '0')}Z`;
}

/**
 * The same time as `timestamptz` is sent in binary: microseconds since 2000, whole, as two halves of 32 bits.
 *
 * @param time for which {@link isRepresentable} holds.
 */
export function hrTimeToPostgres(time: HrTime): [high: number, low: number] {
  const { second, micros } = divided(time);
  const total = (second - POSTGRES_EPOCH) * MICROS_PER_SECOND + micros;
  if (Number.isSafeInteger(total)) {
    const high = Math.floor(total / 2 ** 32);
    return [high, total - high * 2 ** 32];
  }
  // Before 1714 and after 2285 a float cannot hold the microseconds.
  const exact = BigInt(second - POSTGRES_EPOCH) * BigInt(MICROS_PER_SECOND) + BigInt(micros);
  return [Number(exact >> 32n), Number(exact & 0xffffffffn)];
}

/** Microseconds since 1970, whole, as two halves of 32 bits; of the years 1970 to 2255, where a float holds them. */
export function hrTimeToEpochMicros(time: HrTime): [high: number, low: number] {
  const { second, micros } = divided(time);
  const total = second * MICROS_PER_SECOND + micros;
  const high = Math.floor(total / 2 ** 32);
  return [high, total - high * 2 ** 32];
}

function divided([seconds, nanos]: HrTime): { readonly second: number; readonly micros: number } {
  const carry = Math.floor(nanos / NANOS_PER_SECOND);
  return {
    second: seconds + carry,
    micros: Math.floor((nanos - carry * NANOS_PER_SECOND) / NANOS_PER_MICRO),
  };
}

/** Spans of a batch share few different seconds, so the last one is cached. */
let lastSecond = 0;
let lastText = '1970-01-01T00:00:00';

function textOfSecond(second: number): string {
  if (second !== lastSecond) {
    lastText = new Date(second * 1000).toISOString().slice(0, 19);
    lastSecond = second;
  }
  return lastText;
}
