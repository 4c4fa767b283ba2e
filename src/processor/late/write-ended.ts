import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { EndedSpan, type WritableSpan } from '../set-fields.ts';

/** How the spans of all SDK lines remember that they have ended; from then on they ignore what is set. */
interface SdkSpan extends WritableSpan {
  _ended: boolean;
}

/**
 * Runs `write` with a target for a span of our own pipeline that has ended, and that nobody has exported yet. It is the
 * span itself, opened for that time, so that the limits of the SDK hold as they do in `onEnding`: number of attributes,
 * length of values, events.
 */
export function writeEnded<T>(span: ReadableSpan, write: (target: WritableSpan) => T): T {
  const own = span as unknown as SdkSpan;
  const hasEnded = own._ended;
  if (typeof hasEnded !== 'boolean' || typeof own.setAttribute !== 'function' || !reopen(own))
    return write(new EndedSpan(span));
  try {
    return write(own);
  } finally {
    own._ended = hasEnded;
  }
}

/** @returns false for a span that somebody has frozen. */
function reopen(span: SdkSpan): boolean {
  try {
    span._ended = false;
    return true;
  } catch {
    return false;
  }
}
