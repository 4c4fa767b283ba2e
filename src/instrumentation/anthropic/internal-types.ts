import type { Span } from '@opentelemetry/api';

/** The fields of an API resource of the SDK (`client.messages`, `client.beta.messages`) that are read. */
export interface ApiResource {
  readonly _client?: ApiClient;
}

export interface ApiClient {
  readonly baseURL?: unknown;
  /** The SDK's own tracer, since 0.134; absent where its tracing is off. */
  _tracer?: unknown;
}

/** What the SDK passes down from `messages.create` to the request when it has started a span of its own. */
export interface RequestOptions {
  readonly __span?: { readonly span?: Span };
}
