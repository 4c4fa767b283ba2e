import {
  context,
  diag,
  type MeterProvider,
  metrics,
  propagation,
  type TracerProvider,
  trace,
} from '@opentelemetry/api';

/** The tracer provider the application has registered, if it has. */
export function runningProvider(): TracerProvider | undefined {
  const proxy = trace.getTracerProvider() as { getDelegate?: () => TracerProvider };
  const delegate = proxy.getDelegate?.() ?? (proxy as unknown as TracerProvider);
  return delegate.constructor.name === 'NoopTracerProvider' ? undefined : delegate;
}

/**
 * Lets an SDK that the application starts later take our SDK's place: `--import` comes before the application, so
 * nobody can know sooner. `onReplaced` is told its provider. Only the first replacement is watched for; after that
 * the API is as it was.
 */
export function giveWay(onReplaced: (provider: TracerProvider) => void): void {
  const setProvider = trace.setGlobalTracerProvider;
  const setManager = context.setGlobalContextManager;
  const setPropagator = propagation.setGlobalPropagator;
  trace.setGlobalTracerProvider = (provider) => {
    trace.setGlobalTracerProvider = setProvider;
    trace.disable();
    const done = setProvider.call(trace, provider);
    diag.info('mcp-observatory: the application has started its own SDK; ours stops and only instruments');
    onReplaced(provider);
    return done;
  };
  context.setGlobalContextManager = (manager) => {
    context.setGlobalContextManager = setManager;
    context.disable();
    return setManager.call(context, manager);
  };
  propagation.setGlobalPropagator = (propagator) => {
    propagation.setGlobalPropagator = setPropagator;
    propagation.disable();
    return setPropagator.call(propagation, propagator);
  };
}

/**
 * The metrics API has no proxy: instruments made before the application sets its meter provider must be made again.
 *
 * @param ours The provider that gives way to the application's, where we have set one.
 */
export function onMeterProvider(
  ours: MeterProvider | undefined,
  tell: (provider: MeterProvider) => void,
): void {
  const setProvider = metrics.setGlobalMeterProvider;
  metrics.setGlobalMeterProvider = (provider) => {
    metrics.setGlobalMeterProvider = setProvider;
    if (ours !== undefined && metrics.getMeterProvider() === ours) metrics.disable();
    const done = setProvider.call(metrics, provider);
    tell(provider);
    return done;
  };
}

/**
 * Adds a span processor to a provider that is running. Neither SDK line has a method for it; both keep a list, and
 * where that is not found the application adds the processor itself.
 * @returns whether it was added.
 */
export function addSpanProcessor(provider: TracerProvider, processor: object): boolean {
  const active: unknown = Reflect.get(provider, '_activeSpanProcessor');
  const list: unknown =
    typeof active === 'object' && active !== null ? Reflect.get(active, '_spanProcessors') : undefined;
  if (!Array.isArray(list)) return false;
  // First, so that every exporter sees what it adds.
  list.unshift(processor);
  return true;
}
