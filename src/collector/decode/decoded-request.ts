import type { ReceivedSpan } from './received-span.ts';

/** A decoded `/v1/traces` request. */
export interface DecodedRequest {
  readonly spans: readonly ReceivedSpan[];
  /** Attributes, list items, events and links: a measure of the spans' memory. */
  readonly items: number;
}
