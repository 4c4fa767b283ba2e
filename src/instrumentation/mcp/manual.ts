/** Patching by hand, for bundled programs and for objects that were there before the hooks. */

import { diag, metrics, type TracerProvider, trace } from '@opentelemetry/api';
import { checkKinds, MCP_SCOPE, VERSION } from '../../base/index.ts';
import { reportHooked } from '../shared/index.ts';
import { watchTools } from './failure.ts';
import { type Method, patchMethod } from './patch-method.ts';
import { type PatchedMethods, patchProtocol } from './patch-protocol.ts';
import { Telemetry } from './telemetry.ts';
import type { McpInstrumentationConfig } from './types.ts';
import { MCP_KINDS } from './types.ts';
import { watchWires } from './wire.ts';

/** What a copy of the SDK is called in the report of hooked modules when the application has handed it over. */
export const BY_HAND = 'MCP SDK, by hand';

/** The exports of the SDK that are of use here; a namespace import has them. */
export interface McpModule {
  readonly Protocol?: unknown;
  readonly Client?: unknown;
  readonly Server?: unknown;
  readonly McpServer?: unknown;
}

export function patchModule(module: McpModule, telemetry: Telemetry): PatchedMethods {
  const patched: string[] = [];
  const missing: string[] = [];
  for (const exported of [module.Protocol, module.Client, module.Server]) {
    const prototype = findPrototype(exported);
    if (prototype === undefined) continue;
    const done = patchProtocol(prototype, telemetry);
    patched.push(...done.patched);
    missing.push(...done.missing);
  }
  const facade = findPrototype(module.McpServer);
  if (facade !== undefined) {
    if (patchMethod(facade, 'connect', telemetry, patchedFacade)) patched.push('McpServer.connect');
    patched.push(...watchTools(facade, telemetry));
  }
  return { patched, missing };
}

/** `McpServer` stands before a `Server` it makes for itself: that one's class is met when it connects. */
function patchedFacade(self: unknown, args: unknown[], original: Method, telemetry: Telemetry): unknown {
  telemetry.guard.run('mcp.facade', () => {
    const { server } = self as { readonly server?: unknown };
    if (typeof server === 'object' && server !== null) patchProtocol(server, telemetry);
  });
  return original.apply(self, args);
}

function findPrototype(exported: unknown): object | undefined {
  if (typeof exported !== 'function') return undefined;
  const prototype: unknown = exported.prototype;
  return typeof prototype === 'object' && prototype !== null ? prototype : undefined;
}

/** The telemetry behind the functions below; follows the global providers, which may be set after the first call. */
class SharedTelemetry extends Telemetry {
  readonly #config: McpInstrumentationConfig;
  #providers = globalProviders();

  constructor(config: McpInstrumentationConfig) {
    super(trace.getTracer(MCP_SCOPE, VERSION), metrics.getMeter(MCP_SCOPE, VERSION), config, true);
    this.#config = config;
  }

  override follow(): void {
    const providers = globalProviders();
    if (providers.every((provider, at) => provider === this.#providers[at])) return;
    this.#providers = providers;
    this.use(trace.getTracer(MCP_SCOPE, VERSION), metrics.getMeter(MCP_SCOPE, VERSION), this.#config);
  }
}

function globalProviders(): readonly unknown[] {
  const tracers = trace.getTracerProvider();
  const delegate = (tracers as { getDelegate?: () => unknown }).getDelegate?.() ?? tracers;
  return [delegate, metrics.getMeterProvider()];
}

/**
 * As `McpInstrumentation.watchWire`, for a program that hooks nothing.
 * @param provider where its spans start.
 * @returns a function that ends it.
 */
export function watchOwnWires(config: McpInstrumentationConfig, provider: TracerProvider): () => void {
  const meter = metrics.getMeter(MCP_SCOPE, VERSION);
  return watchWires(new Telemetry(provider.getTracer(MCP_SCOPE, VERSION), meter, config, true));
}

let shared: SharedTelemetry | undefined;

/**
 * Instruments an MCP client, and with it every client of the same copy of the SDK. Does nothing when a hook or an
 * earlier call has done so; what is connected already is traced from now on.
 *
 * @param config Used by the first of these calls in a program. A `McpInstrumentation` at work on the same SDK copy
 *   stays at work, with its own.
 * @returns The same client.
 */
export function instrumentMcpClient<T extends object>(client: T, config?: McpInstrumentationConfig): T {
  return instrument(client, config);
}

/** As {@link instrumentMcpClient}, for a `Server` or an `McpServer`. */
export function instrumentMcpServer<T extends object>(server: T, config?: McpInstrumentationConfig): T {
  return instrument(server, config);
}

function instrument<T extends object>(target: T, config: McpInstrumentationConfig | undefined): T {
  if (config !== undefined) checkKinds(config, MCP_KINDS, 'an instrumented MCP client or server');
  shared ??= new SharedTelemetry(config ?? {});
  const telemetry = shared;
  telemetry.follow();
  telemetry.guard.run('mcp.manual', () => {
    const inner = (target as { readonly server?: unknown }).server;
    const protocol = typeof inner === 'object' && inner !== null ? inner : target;
    if (typeof (protocol as { _onrequest?: unknown })._onrequest === 'function')
      reportHooked({ name: BY_HAND, version: undefined, ...patchProtocol(protocol, telemetry) });
    else diag.warn('mcp-observatory: expected an MCP Client, Server or McpServer; nothing was instrumented');
  });
  return target;
}
