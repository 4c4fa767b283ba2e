import type { Span } from '@opentelemetry/api';
import { beforeMethod } from '../shared/index.ts';

export interface ApiClient {
  readonly baseURL?: unknown;
  /** The SDK's own tracer, since 0.134; absent where its tracing is off. */
  _tracer?: unknown;
  /** In the words of the conventions. */
  readonly _genAIProviderName?: unknown;
}

/** What the SDK passes down from `messages.create` to the request when it has started a span of its own. */
interface RequestOptions {
  readonly __span?: { readonly span?: Span };
}

/** Set while `messages.create` runs, which reaches `post` before it returns; read right after it. */
let passed: Span | undefined;

/**
 * Notes the span that the SDK starts in `messages.create` and passes to `client.post`. That is the one place where it
 * can be reached before the call has ended.
 */
export function watchNativeSpans(exports: unknown): void {
  beforeMethod(exports, 'Anthropic', 'post', ([, options]) => {
    passed = (options as RequestOptions | undefined)?.__span?.span;
  });
}

/** The span passed on since the last time this was asked. */
export function takeNativeSpan(): Span | undefined {
  const span = passed;
  passed = undefined;
  return span;
}

/** Whether the SDK traces the calls of this client itself. */
export function tracesItself(client: ApiClient | undefined): boolean {
  return client?._tracer !== undefined;
}

let hidden: { readonly client: ApiClient; readonly tracer: unknown } | undefined;

/**
 * Switches the SDK's own spans off for one call: from here until {@link restoreTracer}, while `messages.create` runs,
 * which asks for the tracer before it returns.
 */
export function hideTracer(client: ApiClient): void {
  restoreTracer();
  hidden = { client, tracer: client._tracer };
  client._tracer = undefined;
}

export function restoreTracer(): void {
  if (hidden !== undefined) hidden.client._tracer = hidden.tracer;
  hidden = undefined;
}

/** Switches the SDK's own spans off for this client, for good. */
export function suppressNativeSpans(client: ApiClient | undefined): void {
  if (client !== undefined && tracesItself(client)) client._tracer = undefined;
}
