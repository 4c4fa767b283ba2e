import { type Context, context, type Span, SpanStatusCode, trace } from '@opentelemetry/api';
import { ATTR_ERROR_TYPE } from '../base/index.ts';
import { ProviderError } from './providers/index.ts';

/** Runs with the span active in `parent`, and ends it. */
export async function inSpan<T>(span: Span, parent: Context, run: () => Promise<T>): Promise<T> {
  try {
    return await context.with(trace.setSpan(parent, span), run);
  } catch (error) {
    markFailed(span, error);
    throw error;
  } finally {
    span.end();
  }
}

/** The message of an error may hold content, so the span gets the type alone. @returns the type. */
export function markFailed(span: Span, error: unknown): string {
  const type =
    error instanceof ProviderError
      ? String(error.status ?? error.kind)
      : error instanceof Error
        ? error.name
        : 'Error';
  span.setAttribute(ATTR_ERROR_TYPE, type);
  span.setStatus({ code: SpanStatusCode.ERROR });
  return type;
}
