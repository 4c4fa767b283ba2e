import {
  type ContextManager,
  context,
  createContextKey,
  diag,
  type Span,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api';
import type { SpanProcessor } from '@opentelemetry/sdk-trace';
import { ObservatoryError } from './errors.ts';
import { type Constructor, INSTALL_SDK, type Loaded, load, loadNow, locate } from './locate.ts';
import * as semconv from './semconv.ts';

/**
 * The OpenTelemetry SDK is the application's, not ours: SDK 2 and SDK 3 need different lines of the API package, so a
 * dependency on either would keep users of the other from installing. It is loaded on first use, from this package's
 * location or the application's folder.
 */
interface LoadedSdk {
  /** The resource detected from the environment, with this service name if given. */
  createResource(serviceName: string | undefined): unknown;
  /** Builds a provider with these processors. */
  createProvider(resource: unknown, processors: SpanProcessor[], idGenerator?: object): ManagedProvider;
}

/** A tracer provider with the life-cycle methods that both SDK lines have. */
export interface ManagedProvider extends TracerProvider {
  forceFlush(): Promise<void>;
  shutdown(): Promise<void>;
}

/** A tracer that asks for its provider each time: one kept from before the application has set its own is of that one. */
export class FollowingTracer implements Tracer {
  readonly #findProvider: () => TracerProvider;
  readonly #args: Parameters<TracerProvider['getTracer']>;
  #provider: TracerProvider | undefined;
  #tracer: Tracer | undefined;

  constructor(findProvider: () => TracerProvider, args: Parameters<TracerProvider['getTracer']>) {
    this.#findProvider = findProvider;
    this.#args = args;
  }

  startSpan(...args: Parameters<Tracer['startSpan']>): Span {
    return this.#current().startSpan(...args);
  }

  startActiveSpan(...args: unknown[]): never {
    const tracer = this.#current();
    return Reflect.apply(tracer.startActiveSpan, tracer, args) as never;
  }

  #current(): Tracer {
    const provider = this.#findProvider();
    if (this.#tracer === undefined || provider !== this.#provider) {
      this.#provider = provider;
      this.#tracer = provider.getTracer(...this.#args);
    }
    return this.#tracer;
  }
}

/** The tracer provider the application has registered, if it has. */
export function runningProvider(): TracerProvider | undefined {
  const proxy = trace.getTracerProvider() as { getDelegate?: () => TracerProvider };
  const delegate = proxy.getDelegate?.() ?? (proxy as unknown as TracerProvider);
  return delegate.constructor.name === 'NoopTracerProvider' ? undefined : delegate;
}

/**
 * Registers the SDK's context manager unless the program has one: without it no context lasts across `await`, so spans
 * have no parents and `govern` sets nothing.
 */
export function ensureContextManager(): void {
  const probe = createContextKey('mcp-observatory probe');
  const isKept = () => context.active().getValue(probe) === true;
  if (context.with(context.active().setValue(probe, true), isKept)) return;
  const hooks = loadNow(locateRequired('@opentelemetry/context-async-hooks', findSdk().file));
  context.setGlobalContextManager(contextManagerIn(hooks));
}

/** A started context manager of the SDK's package for it. */
function contextManagerIn(hooks: Loaded): ContextManager {
  const Manager = hooks.AsyncLocalStorageContextManager as unknown as Constructor<[], ContextManager>;
  return new Manager().enable();
}

/**
 * Loads the installed SDK: `@opentelemetry/sdk-trace-node` (SDK 2) or `@opentelemetry/sdk-trace` (SDK 3).
 * @throws ObservatoryError `MISSING_PEER` when neither is installed.
 */
export async function loadSdk(): Promise<LoadedSdk> {
  const { file, resources, isSdk2 } = findSdk();
  return usable(await load(file), await load(resources), isSdk2);
}

/** As `loadSdk`, at once. */
export function loadSdkNow(): LoadedSdk {
  const { file, resources, isSdk2 } = findSdk();
  return usable(loadNow(file), loadNow(resources), isSdk2);
}

function findSdk(): { readonly file: string; readonly resources: string; readonly isSdk2: boolean } {
  const sdk2 = locate('@opentelemetry/sdk-trace-node');
  const file = sdk2 ?? locate('@opentelemetry/sdk-trace');
  if (file === undefined) {
    throw new ObservatoryError(
      'MISSING_PEER',
      `No OpenTelemetry SDK is installed. Install one: ${INSTALL_SDK}`,
    );
  }
  const base = sdk2 === undefined ? file : (locate('@opentelemetry/sdk-trace-base', file) ?? file);
  const resources = locateRequired('@opentelemetry/resources', base);
  return { file, resources, isSdk2: sdk2 !== undefined };
}

function usable(sdk: Loaded, resources: Loaded, isSdk2: boolean): LoadedSdk {
  const Provider = (isSdk2 ? sdk.NodeTracerProvider : sdk.TracerProvider) as unknown as Constructor<
    [object],
    ManagedProvider
  >;
  return {
    createResource: (serviceName) => toResource(resources, serviceName),
    createProvider: (resource, spanProcessors, idGenerator) => {
      const sampler = isSdk2 ? undefined : samplerIn(sdk, process.env);
      return new Provider({
        resource,
        spanProcessors,
        ...(sampler === undefined ? {} : { sampler }),
        ...(idGenerator === undefined ? {} : { idGenerator }),
      });
    },
  };
}

/** Precedence of the service name: code, `OTEL_SERVICE_NAME`, `service.name` in `OTEL_RESOURCE_ATTRIBUTES`. */
function toResource(resources: Loaded, serviceName: string | undefined): unknown {
  const { defaultResource, detectResources, envDetector, resourceFromAttributes } = resources as unknown as {
    defaultResource(): Resource;
    detectResources(config: { detectors: unknown[] }): unknown;
    envDetector: unknown;
    resourceFromAttributes(attributes: Record<string, string>): unknown;
  };
  const named = (name: string): unknown => resourceFromAttributes({ [semconv.ATTR_SERVICE_NAME]: name });
  const resource = defaultResource()
    .merge(named('unknown_service:node'))
    .merge(detectResources({ detectors: [envDetector] }));
  return serviceName === undefined ? resource : resource.merge(named(serviceName));
}

interface Resource {
  merge(other: unknown): Resource;
}

/** @throws ObservatoryError `MISSING_PEER` when a part of the SDK is not installed. */
export function locateRequired(name: string, from: string | undefined): string {
  const file = locate(name, from);
  if (file === undefined) {
    throw new ObservatoryError('MISSING_PEER', `The OpenTelemetry SDK needs ${name}: npm install ${name}`);
  }
  return file;
}

const PARENT_BASED = 'parentbased_';
const RATIO = 'traceidratio';
const SAMPLERS: ReadonlyMap<string, string> = new Map([
  ['always_on', 'AlwaysOnSampler'],
  ['always_off', 'AlwaysOffSampler'],
  [RATIO, 'TraceIdRatioBasedSampler'],
]);

/**
 * The sampler named by `OTEL_TRACES_SAMPLER`, for SDK 3, whose provider does not read the variable as SDK 2 does.
 * @returns undefined where the SDK's default applies.
 */
export function samplerIn(sdk: Loaded, env: Readonly<Record<string, string | undefined>>): unknown {
  const asked = env.OTEL_TRACES_SAMPLER?.trim().toLowerCase() ?? '';
  if (asked === '') return undefined;
  const isParentBased = asked.startsWith(PARENT_BASED);
  const name = isParentBased ? asked.slice(PARENT_BASED.length) : asked;
  const className = SAMPLERS.get(name);
  if (className === undefined) {
    diag.warn(`mcp-observatory: OTEL_TRACES_SAMPLER=${asked} is not known; every trace is recorded`);
    return undefined;
  }
  const make = (which: string, ...args: unknown[]): unknown =>
    new (sdk[which] as unknown as Constructor<unknown[], unknown>)(...args);
  const root = make(className, ...(name === RATIO ? [ratioIn(env.OTEL_TRACES_SAMPLER_ARG)] : []));
  return isParentBased ? make('ParentBasedSampler', { root }) : root;
}

function ratioIn(text: string | undefined): number {
  const ratio = Number(text?.trim() || '1');
  if (ratio >= 0 && ratio <= 1) return ratio;
  diag.warn(`mcp-observatory: OTEL_TRACES_SAMPLER_ARG=${text} is no ratio from 0 to 1; using 1`);
  return 1;
}
