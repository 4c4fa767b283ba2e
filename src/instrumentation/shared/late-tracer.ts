import { type TracerProvider, trace } from '@opentelemetry/api';
import { FollowingTracer, runningProvider } from '../../base/index.ts';

/**
 * A provider for instrumentations that are made before any is registered. The base class asks the API that it
 * requires for a tracer to come; from API 1.10 on that is another module than the one which is imported, and never
 * hears of a provider registered there. What is registered itself is common to both, so it is asked for late.
 */
const LATE: TracerProvider = {
  getTracer: (...args) => new FollowingTracer(() => trace.getTracerProvider(), args),
};

/** What an instrumentation starts with: nothing to change when a provider is registered already. */
export function lateTracerProvider(): TracerProvider | undefined {
  return runningProvider() === undefined ? LATE : undefined;
}
