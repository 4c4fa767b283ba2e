import { createRequire } from 'node:module';
import * as imported from '@opentelemetry/api';
import { diag, type MeterProvider, type TracerProvider } from '@opentelemetry/api';
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace';
import { Hook as RequireHook } from 'require-in-the-middle';
import { readVersion } from '../../base/index.ts';

/**
 * Lets an SDK that the application starts later replace ours: `--import` runs before the application, so this is not
 * known in advance. `onReplaced` receives its provider, and that of an SDK that is set up after it, as where code is
 * reloaded. Context and propagation are replaced once; after that their API is restored.
 */
export function giveWay(onReplaced: (provider: TracerProvider) => void): void {
  const setProvider = (provider: TracerProvider, { trace }: Api, set: () => boolean, isFirst: boolean) => {
    if (isFirst) trace.disable();
    const done = set();
    diag.info(
      'mcp-observatory: the application has started its own SDK; from here on spans are those of that SDK',
    );
    if (isFirst || done) onReplaced(provider);
    return done;
  };
  replaceSetter('trace', 'setGlobalTracerProvider', setProvider, 'always');
  replaceSetter('context', 'setGlobalContextManager', (_value, { context }, set) => {
    context.disable();
    return set();
  });
  replaceSetter('propagation', 'setGlobalPropagator', (_value, { propagation }, set) => {
    propagation.disable();
    return set();
  });
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
  replaceSetter('metrics', 'setGlobalMeterProvider', (provider: MeterProvider, { metrics }, set) => {
    if (ours !== undefined && metrics.getMeterProvider() === ours) metrics.disable();
    const done = set();
    tell(provider);
    return done;
  });
}

type Setter<Value> = (value: Value) => boolean;

/** Replaces a setter in each module of the API, also those loaded later: until its first call, or for good. */
function replaceSetter<Value>(
  part: keyof Api,
  name: string,
  instead: (value: Value, api: Api, original: () => boolean, isFirst: boolean) => boolean,
  times: 'once' | 'always' = 'once',
): void {
  const restores = new Map<object, () => void>();
  let isDone = false;
  forEachApi((api, version) => {
    const owner = api[part];
    if ((isDone && times === 'once') || restores.has(owner)) return;
    const original = Reflect.get(owner, name) as Setter<Value>;
    restores.set(owner, () => Reflect.set(owner, name, original));
    const replaced: Setter<Value> = (value) => {
      const isFirst = !isDone;
      isDone = true;
      if (times === 'once') for (const restore of restores.values()) restore();
      const set = () => original.call(owner, value);
      return instead(value, api, isFirst ? () => withOwnVersion(version, set) : set, isFirst);
    };
    Reflect.set(owner, name, replaced);
  });
}

/** The global object that all copies of the API share: providers, and the version that set the first of them. */
interface Globals {
  readonly version: string;
  diag?: unknown;
}
const GLOBALS = Symbol.for('opentelemetry.js.api.1');
const globals = () => Reflect.get(globalThis, GLOBALS) as Globals | undefined;
const areGlobalsOurs = globals() === undefined;

/**
 * Lets a copy of the API set a global. The API refuses copies of another version than the first one, which is ours; then
 * our globals are removed, except for the logger.
 */
function withOwnVersion(version: string | undefined, set: () => boolean): boolean {
  const before = globals();
  if (version === undefined || !areGlobalsOurs || before === undefined || before.version === version)
    return set();
  Reflect.deleteProperty(globalThis, GLOBALS);
  const done = set();
  const now = globals();
  if (now !== undefined) now.diag ??= before.diag;
  return done;
}

/** The span processors of an application's SDK. */
export interface OtherProcessors {
  /** Adds a processor before all others, so that they see what it writes. */
  addFirst(processor: SpanProcessor): void;
  addLast(processor: SpanProcessor): void;
  /** Has a span of ours exported as one of theirs. It is enriched already. */
  take(span: ReadableSpan): void;
}

/**
 * Finds where a running provider keeps its span processors. Neither SDK line has a method for it, but both keep a list.
 * @returns undefined where it is not found: the application must add processors itself.
 */
export function findProcessors(provider: TracerProvider): OtherProcessors | undefined {
  const active: unknown = Reflect.get(provider, '_activeSpanProcessor');
  const list: unknown =
    typeof active === 'object' && active !== null ? Reflect.get(active, '_spanProcessors') : undefined;
  if (!Array.isArray(list)) return undefined;
  const processors = list as SpanProcessor[];
  const enrichers = new Set<SpanProcessor>();
  return {
    addFirst: (processor) => {
      enrichers.add(processor);
      processors.unshift(processor);
    },
    addLast: (processor) => void processors.push(processor),
    take: (span) => {
      const theirs = withResource(span, Reflect.get(provider, '_resource'));
      for (const processor of processors) {
        if (enrichers.has(processor)) continue;
        try {
          processor.onEnd(theirs);
        } catch (error) {
          diag.debug('mcp-observatory: a span processor of the application failed', error);
        }
      }
    },
  };
}

/** The same span, of the service that the application names in its SDK. */
function withResource(span: ReadableSpan, resource: unknown): ReadableSpan {
  if (typeof resource !== 'object' || resource === null) return span;
  return Object.create(span, {
    resource: { value: resource, enumerable: true },
    spanContext: { value: () => span.spanContext() },
  }) as ReadableSpan;
}

type Api = Pick<typeof imported, 'trace' | 'context' | 'propagation' | 'metrics'>;

/**
 * Calls `see` for the API as imported and as required, which from 1.10 on are two modules, and for other copies as they
 * are required, for instance of a package that has its own. They share registered providers but not the functions that
 * register them, and an application may use any.
 */
function forEachApi(see: (api: Api, version?: string) => void): void {
  see(imported);
  see(createRequire(import.meta.url)(API) as Api);
  new RequireHook([API], (exports, _name, folder) => {
    const api = exports as Partial<Api>;
    if (api.trace !== undefined && api.metrics !== undefined) see(api as Api, readVersion(folder));
    return exports;
  });
}

const API = '@opentelemetry/api';
