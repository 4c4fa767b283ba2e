import { createRequire } from 'node:module';
import * as imported from '@opentelemetry/api';
import { diag, type MeterProvider, type TracerProvider } from '@opentelemetry/api';
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
