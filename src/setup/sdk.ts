import { context, diag, propagation, type TracerProvider, trace } from '@opentelemetry/api';
import type { SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace';
import { type Constructor, INSTALL_SDK, type Loaded, load, locate, ObservatoryError } from '../base/index.ts';

/**
 * The OpenTelemetry SDK is the application's, not ours: SDK 2 and SDK 3 need different lines of the API package, so a
 * dependency on either would keep users of the other from installing. It is loaded on first use, from this package's
 * location or the application's folder.
 */
export interface LoadedSdk {
  /** The resource detected from the environment, with this service name if given. */
  createResource(serviceName: string | undefined): unknown;
  /** Builds a provider with these processors. */
  createProvider(resource: unknown, processors: SpanProcessor[]): ManagedProvider;
  createBatchProcessor(exporter: SpanExporter): SpanProcessor;
}

/** A tracer provider with the life-cycle methods that both SDK lines have. */
export interface ManagedProvider extends TracerProvider {
  forceFlush(): Promise<void>;
  shutdown(): Promise<void>;
}

/**
 * Loads the installed SDK: `@opentelemetry/sdk-trace-node` (SDK 2) or `@opentelemetry/sdk-trace` (SDK 3).
 * @throws ObservatoryError `MISSING_PEER` when neither is installed.
 */
export async function loadSdk(): Promise<LoadedSdk> {
  const sdk2 = locate('@opentelemetry/sdk-trace-node');
  if (sdk2 !== undefined) return sdk2Adapter(sdk2);
  const sdk3 = locate('@opentelemetry/sdk-trace');
  if (sdk3 !== undefined) return sdk3Adapter(sdk3);
  throw new ObservatoryError(
    'MISSING_PEER',
    `No OpenTelemetry SDK is installed. Install one: ${INSTALL_SDK}`,
  );
}

async function sdk2Adapter(file: string): Promise<LoadedSdk> {
  const sdk = await load(file);
  const base = locate('@opentelemetry/sdk-trace-base', file) ?? file;
  const resources = await load(required('@opentelemetry/resources', base));
  const Provider = sdk.NodeTracerProvider as unknown as Constructor<
    [object],
    ManagedProvider & { register(): void }
  >;
  const Batch = sdk.BatchSpanProcessor as unknown as Constructor<[SpanExporter], SpanProcessor>;
  return {
    createResource: (serviceName) => resourceOf(resources, serviceName),
    createProvider: (resource, spanProcessors) => new Provider({ resource, spanProcessors }),
    createBatchProcessor: (exporter) => new Batch(exporter),
  };
}

async function sdk3Adapter(file: string): Promise<LoadedSdk> {
  const sdk = await load(file);
  const resources = await load(required('@opentelemetry/resources', file));
  const Provider = sdk.TracerProvider as unknown as Constructor<[object], ManagedProvider>;
  const Batch = sdk.BatchSpanProcessor as unknown as Constructor<[{ exporter: SpanExporter }], SpanProcessor>;
  return {
    createResource: (serviceName) => resourceOf(resources, serviceName),
    createProvider: (resource, spanProcessors) => {
      const sampler = samplerIn(sdk, process.env);
      return new Provider({ resource, spanProcessors, ...(sampler === undefined ? {} : { sampler }) });
    },
    createBatchProcessor: (exporter) => new Batch({ exporter }),
  };
}

/**
 * Registers a global provider, with context across `await` and W3C propagation, in the same way for SDK 2 and 3.
 * Globals set by the application stay.
 * @returns whether the provider became the global one.
 */
export async function registerGlobally(provider: ManagedProvider): Promise<boolean> {
  const anchor = locate('@opentelemetry/sdk-trace-node') ?? locate('@opentelemetry/sdk-trace');
  const core = await load(required('@opentelemetry/core', anchor));
  const hooks = await load(required('@opentelemetry/context-async-hooks', anchor));
  const Manager = hooks.AsyncLocalStorageContextManager as unknown as Constructor<[], { enable(): never }>;
  const Composite = core.CompositePropagator as unknown as Constructor<[{ propagators: unknown[] }], never>;
  const registered = trace.setGlobalTracerProvider(provider);
  if (registered) {
    context.setGlobalContextManager(new Manager().enable());
    const propagators = propagatorsIn(process.env).map(
      (name) => new (core[name] as unknown as Constructor<[], unknown>)(),
    );
    propagation.setGlobalPropagator(new Composite({ propagators }));
  }
  return registered;
}

/** Precedence of the service name: code, `OTEL_SERVICE_NAME`, `service.name` in `OTEL_RESOURCE_ATTRIBUTES`. */
function resourceOf(resources: Loaded, serviceName: string | undefined): unknown {
  const { defaultResource, detectResources, envDetector, resourceFromAttributes } = resources as unknown as {
    defaultResource(): Resource;
    detectResources(config: { detectors: unknown[] }): unknown;
    envDetector: unknown;
    resourceFromAttributes(attributes: Record<string, string>): unknown;
  };
  const named = (name: string): unknown => resourceFromAttributes({ 'service.name': name });
  const resource = defaultResource()
    .merge(named('unknown_service:node'))
    .merge(detectResources({ detectors: [envDetector] }));
  return serviceName === undefined ? resource : resource.merge(named(serviceName));
}

interface Resource {
  merge(other: unknown): Resource;
}

function required(name: string, from: string | undefined): string {
  const file = locate(name, from);
  if (file === undefined) {
    throw new ObservatoryError('MISSING_PEER', `The OpenTelemetry SDK needs ${name}: npm install ${name}`);
  }
  return file;
}

/** Propagators in the core of both SDK lines, by their names in `OTEL_PROPAGATORS`. */
const PROPAGATORS: ReadonlyMap<string, string> = new Map([
  ['tracecontext', 'W3CTraceContextPropagator'],
  ['baggage', 'W3CBaggagePropagator'],
]);

/**
 * Class names for `OTEL_PROPAGATORS`: both by default, none for `none`. Other names cause a warning; an application
 * that needs another propagator sets it globally, and it stays.
 */
function propagatorsIn(env: Readonly<Record<string, string | undefined>>): string[] {
  const names = (env.OTEL_PROPAGATORS ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '');
  if (names.length === 0) return [...PROPAGATORS.values()];
  const asked: string[] = [];
  for (const name of new Set(names)) {
    const className = PROPAGATORS.get(name);
    if (className !== undefined) asked.push(className);
    else if (name !== 'none') {
      diag.warn(
        `mcp-observatory: OTEL_PROPAGATORS=${name} is not supported here; use tracecontext, baggage or none`,
      );
    }
  }
  return asked;
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
