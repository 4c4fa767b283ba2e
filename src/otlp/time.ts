import type { HrTime } from '@opentelemetry/api';

const NANOS = 1_000_000_000;

/**
 * Nanoseconds since 1970, given as two unsigned halves of 64 bits, as seconds and nanoseconds. Long division by parts
 * of 16 bits: every step is exact in a double, and BigInts would cost more than the rest of the span.
 */
export function hrTimeOfHalves(low: number, high: number): HrTime {
  let seconds = 0;
  let rest = 0;
  for (const part of [high >>> 16, high & 0xffff, low >>> 16, low & 0xffff]) {
    const value = rest * 65_536 + part;
    const quotient = Math.floor(value / NANOS);
    seconds = seconds * 65_536 + quotient;
    rest = value - quotient * NANOS;
  }
  return [seconds, rest];
}

/** Nanoseconds since 1970, given as decimal digits. */
export function hrTimeOfDigits(digits: string): HrTime {
  const padded = digits.padStart(10, '0');
  return [Number(padded.slice(0, -9)), Number(padded.slice(-9))];
}

/** The time from one moment to another. */
export function hrDuration([fromSeconds, fromNanos]: HrTime, [toSeconds, toNanos]: HrTime): HrTime {
  const seconds = toSeconds - fromSeconds;
  const nanos = toNanos - fromNanos;
  return nanos < 0 ? [seconds - 1, nanos + NANOS] : [seconds, nanos];
}
