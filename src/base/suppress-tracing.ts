import { type Context, context, createContextKey, propagation, ROOT_CONTEXT } from '@opentelemetry/api';

/** The context key with which `@opentelemetry/core` (SDK 2 and 3) suppresses tracing; keys are equal by description. */
const SUPPRESS_TRACING = createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING');

/**
 * Runs internal work untraced, so that an instrumented `pg` does not trace the export of traces.
 * @param from the context to run in. None by default: Sentry traces what runs below a span of its own all the same.
 */
export function withoutTracing<T>(work: () => T, from: Context = ROOT_CONTEXT): T {
  return context.with(from.setValue(SUPPRESS_TRACING, true), work);
}

/** Whether tracing is suppressed in this context, by the application or an exporter. */
export function isTracingSuppressed(where: Context): boolean {
  return where.getValue(SUPPRESS_TRACING) === true;
}

/**
 * Writes what a context holds into a carrier. Sentry's propagator does so for none but the active one, and prints that.
 * Without a context manager none but the root is ever active.
 */
export function injectWithin(where: Context, carrier: Record<string, string>): void {
  if (where === context.active()) propagation.inject(where, carrier);
  else
    context.with(where, () => {
      const active = context.active();
      propagation.inject(active === ROOT_CONTEXT ? where : active, carrier);
    });
}
