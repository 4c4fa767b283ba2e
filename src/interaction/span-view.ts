import type { JsonObject } from '../json/index.ts';

/**
 * The part of a span that is read here. Every SDK's span has it; attribute values are not trusted to have a type,
 * since SDK 3 lets them be structured.
 */
export interface SpanView {
  readonly name: string;
  /** `SpanKind` of the API: 0 internal, 1 server, 2 client, 3 producer, 4 consumer. */
  readonly kind?: number | undefined;
  readonly attributes: JsonObject;
  readonly events?: readonly SpanEventView[] | undefined;
  readonly instrumentationScope?: { readonly name: string } | undefined;
}

export interface SpanEventView {
  readonly name: string;
  readonly attributes?: JsonObject | undefined;
}
