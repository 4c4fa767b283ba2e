import type { ReceivedSpan } from './received-span.ts';

/** What a request for `/v1/traces` holds. */
export interface DecodedRequest {
  readonly spans: readonly ReceivedSpan[];
  /** Attributes, list items, events and links: a measure of the memory that the spans take. */
  readonly items: number;
}
