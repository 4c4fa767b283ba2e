import { type Context, context, createContextKey } from '@opentelemetry/api';

/** The key by which `@opentelemetry/core` suppresses tracing; context keys of one text are one key, in SDK 2 and 3. */
const SUPPRESS_TRACING = createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING');

/** Runs work of our own without spans, so that an instrumented `pg` does not trace the export of traces. */
export function withoutTracing<T>(work: () => T): T {
  return context.with(context.active().setValue(SUPPRESS_TRACING, true), work);
}

/** Whether the application (or an exporter) asked that nothing below this context be traced. */
export function isTracingSuppressed(where: Context): boolean {
  return where.getValue(SUPPRESS_TRACING) === true;
}
