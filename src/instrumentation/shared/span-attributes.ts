import type { Attributes, Span } from '@opentelemetry/api';

/** What stands on a span already, where its SDK lets it be read: the API has no way to. */
export function attributesOf(span: Span | undefined): Readonly<Attributes> | undefined {
  return (span as { readonly attributes?: Attributes } | undefined)?.attributes;
}
