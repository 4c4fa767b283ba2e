import type { ReceivedLog } from './received-log.ts';
import type { ReceivedSpan } from './received-span.ts';

/** A decoded `/v1/traces` request. */
export interface DecodedRequest {
  readonly spans: readonly ReceivedSpan[];
  /** Attributes, list items, events and links: a measure of the spans' memory. */
  readonly items: number;
}

/** A decoded `/v1/logs` request. */
export interface DecodedLogs {
  readonly logs: readonly ReceivedLog[];
  /** As for {@link DecodedRequest}. */
  readonly items: number;
}

/** Why a request cannot be read: `malformed` or `too_large`. */
export class DecodeError extends Error {
  readonly reason: 'malformed' | 'too_large';

  constructor(reason: 'malformed' | 'too_large', message: string) {
    super(message);
    this.name = 'DecodeError';
    this.reason = reason;
  }
}

export function malformed(message: string): DecodeError {
  return new DecodeError('malformed', message);
}
