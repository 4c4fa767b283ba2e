import type { HrTime } from '@opentelemetry/api';

/** Seconds since 1970 of the years 1 to 9999, which ISO 8601 text and Postgres both can say. */
const FIRST_SECOND = -62_135_596_800;
const LAST_SECOND = 253_402_300_799;

const NANOS_PER_SECOND = 1_000_000_000;

/**
 * An OpenTelemetry time as ISO 8601 UTC text with microseconds, e.g. `2026-11-20T10:00:00.123456Z`. The seconds and
 * the nanoseconds never meet in one float, so all six digits are exact; the last three of nine are cut off.
 *
 * @returns `undefined` for a time that is not a number or outside the years 1 to 9999.
 */
export function hrTimeToIso([seconds, nanos]: HrTime): string | undefined {
  const carry = Math.floor(nanos / NANOS_PER_SECOND);
  const second = seconds + carry;
  if (!Number.isInteger(second) || second < FIRST_SECOND || second > LAST_SECOND) return undefined;
  const micros = Math.floor((nanos - carry * NANOS_PER_SECOND) / 1000);
  return `${textOfSecond(second)}.${String(micros).padStart(6, '0')}Z`;
}

/** The spans of a batch fall into few seconds, so the last one is remembered. */
let lastSecond = 0;
let lastText = '1970-01-01T00:00:00';

function textOfSecond(second: number): string {
  if (second !== lastSecond) {
    lastText = new Date(second * 1000).toISOString().slice(0, 19);
    lastSecond = second;
  }
  return lastText;
}

/** Stands for a time that cannot be said; the row's mark tells so. */
export const UNKNOWN_TIME = '1970-01-01T00:00:00.000000Z';

/** Microseconds from 1970 to 2000-01-01, where Postgres counts from. */
const POSTGRES_EPOCH_MICROS = 946_684_800_000_000n;

/** The second that the last text began with, in Postgres' count; neighbouring rows mostly share it. */
let lastPrefix = '1970-01-01T00:00:00';
let lastMicros: bigint = -POSTGRES_EPOCH_MICROS;

/** The text of {@link hrTimeToIso} as `timestamptz` is sent in binary: microseconds since 2000, whole. */
export function isoToPostgresMicros(iso: string): bigint {
  const prefix = iso.slice(0, 19);
  if (prefix !== lastPrefix) {
    lastMicros = BigInt(Date.parse(`${prefix}Z`)) * 1000n - POSTGRES_EPOCH_MICROS;
    lastPrefix = prefix;
  }
  return lastMicros + BigInt(iso.slice(20, 26));
}
