import type { Span } from '@opentelemetry/api';
import { beforeMethod } from '../shared/before-method.ts';
import type { ApiClient, RequestOptions } from './internal-types.ts';

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

/** Switches the SDK's own spans off for this client, for good. */
export function suppressNativeSpans(client: ApiClient | undefined): void {
  if (client !== undefined && tracesItself(client)) client._tracer = undefined;
}
