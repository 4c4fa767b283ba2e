import type { JsonObject } from '../json/index.ts';

/**
 * The part of a span read here, common to all SDKs. Attribute values are `unknown` because SDK 3 allows structured
 * ones.
 */
export interface SpanView {
  readonly name: string;
  /** `SpanKind` of the API: 0 internal, 1 server, 2 client, 3 producer, 4 consumer. */
  readonly kind?: number | undefined;
  readonly attributes: JsonObject;
  /** Attributes that its limit left no room for. */
  readonly droppedAttributesCount?: number | undefined;
  readonly events?: readonly SpanEventView[] | undefined;
  readonly instrumentationScope?:
    | {
        readonly name: string;
        readonly version?: string | undefined;
        readonly schemaUrl?: string | undefined;
      }
    | undefined;
}

export interface SpanEventView {
  readonly name: string;
  readonly attributes?: JsonObject | undefined;
}
