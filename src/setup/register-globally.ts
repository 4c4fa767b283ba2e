import { diag, propagation, trace } from '@opentelemetry/api';
import {
  type Constructor,
  ensureContextManager,
  load,
  locate,
  locateRequired,
  type ManagedProvider,
} from '../base/index.ts';

/**
 * Registers a global provider, with context across `await` and W3C propagation, in the same way for SDK 2 and 3.
 * Globals set by the application stay.
 * @returns whether the provider became the global one.
 */
export async function registerGlobally(provider: ManagedProvider): Promise<boolean> {
  const anchor = locate('@opentelemetry/sdk-trace-node') ?? locate('@opentelemetry/sdk-trace');
  const core = await load(locateRequired('@opentelemetry/core', anchor));
  const Composite = core.CompositePropagator as unknown as Constructor<[{ propagators: unknown[] }], never>;
  const registered = trace.setGlobalTracerProvider(provider);
  // An SDK without an exporter of spans sets these two and no provider. Setting them again is an error of the API.
  if (registered) ensureContextManager();
  if (registered && propagation.fields().length === 0) {
    const propagators = propagatorsIn(process.env).map(
      (name) => new (core[name] as unknown as Constructor<[], unknown>)(),
    );
    propagation.setGlobalPropagator(new Composite({ propagators }));
  }
  return registered;
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
