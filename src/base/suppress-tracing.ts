import { type Context, context, createContextKey } from '@opentelemetry/api';

/** The context key with which `@opentelemetry/core` (SDK 2 and 3) suppresses tracing; keys are equal by description. */
const SUPPRESS_TRACING = createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING');

/** Runs internal work untraced, so that an instrumented `pg` does not trace the export of traces. */
export function withoutTracing<T>(work: () => T): T {
  return context.with(context.active().setValue(SUPPRESS_TRACING, true), work);
}

/** Whether tracing is suppressed in this context, by the application or an exporter. */
export function isTracingSuppressed(where: Context): boolean {
  return where.getValue(SUPPRESS_TRACING) === true;
}
