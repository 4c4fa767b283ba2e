import { createRequire } from 'node:module';
import * as imported from '@opentelemetry/api';
import { diag, type MeterProvider, type Tracer, type TracerProvider } from '@opentelemetry/api';

/**
 * Lets an SDK that the application starts later replace ours: `--import` runs before the application, so this is not
 * known in advance. `onReplaced` receives its provider. Only the first replacement is detected; after that the API is
 * restored.
 */
export function giveWay(onReplaced: (provider: TracerProvider) => void): void {
  replaceOnce(
    ({ trace }) => trace,
    'setGlobalTracerProvider',
    (provider: TracerProvider, { trace }, set) => {
      trace.disable();
      const done = set();
      diag.info('mcp-observatory: the application has started its own SDK; ours stops and only instruments');
      onReplaced(provider);
      return done;
    },
  );
  replaceOnce(
    ({ context }) => context,
    'setGlobalContextManager',
    (_value, { context }, set) => {
      context.disable();
      return set();
    },
  );
  replaceOnce(
    ({ propagation }) => propagation,
    'setGlobalPropagator',
    (_value, { propagation }, set) => {
      propagation.disable();
      return set();
    },
  );
}

/**
 * Notes the tracers that are taken from our provider, because instrumentations keep them: those of the application may
 * be created before its own provider is registered.
 * @returns a function that lets these tracers start spans of the provider that replaces ours.
 */
export function redirectTracers(ours: TracerProvider): (successor: TracerProvider) => void {
  const taken = new Map<Tracer, Parameters<TracerProvider['getTracer']>>();
  const original = ours.getTracer;
  ours.getTracer = (...args) => {
    const tracer = original.apply(ours, args);
    taken.set(tracer, args);
    return tracer;
  };
  return (successor) => {
    ours.getTracer = (...args) => successor.getTracer(...args);
    for (const [tracer, args] of taken) {
      const next = successor.getTracer(...args);
      // `startActiveSpan` of the SDK calls it.
      tracer.startSpan = next.startSpan.bind(next);
    }
    taken.clear();
  };
}

/**
 * The metrics API has no proxy: instruments created before the application sets its meter provider must be recreated.
 *
 * @param ours Our provider, which the application's replaces, if we have set one.
 */
export function onMeterProvider(
  ours: MeterProvider | undefined,
  tell: (provider: MeterProvider) => void,
): void {
  replaceOnce(
    ({ metrics }) => metrics,
    'setGlobalMeterProvider',
    (provider: MeterProvider, { metrics }, set) => {
      if (ours !== undefined && metrics.getMeterProvider() === ours) metrics.disable();
      const done = set();
      tell(provider);
      return done;
    },
  );
}

type Setter<Value> = (value: Value) => boolean;

/** Replaces a setter in each module of the API until its first call. */
function replaceOnce<Value>(
  part: (api: Api) => object,
  name: string,
  instead: (value: Value, api: Api, original: () => boolean) => boolean,
): void {
  const restores: (() => void)[] = [];
  for (const api of apiInstances()) {
    const owner = part(api);
    const original = Reflect.get(owner, name) as Setter<Value>;
    restores.push(() => Reflect.set(owner, name, original));
    const replaced: Setter<Value> = (value) => {
      for (const restore of restores) restore();
      return instead(value, api, () => original.call(owner, value));
    };
    Reflect.set(owner, name, replaced);
  }
}

/**
 * Adds a span processor to a running provider. Neither SDK line has a method for it, but both keep a list. Where the
 * list is not found, the application must add the processor itself.
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

/** The registries of the API. */
type Api = Pick<typeof imported, 'trace' | 'context' | 'propagation' | 'metrics'>;

/**
 * The API as imported and, if different, as required: from 1.10 on these are two modules. They share registered
 * providers but not the functions that register them, and an application may use either.
 */
function apiInstances(): readonly Api[] {
  const required = createRequire(import.meta.url)('@opentelemetry/api') as typeof imported;
  return required.trace === imported.trace ? [imported] : [imported, required];
}
