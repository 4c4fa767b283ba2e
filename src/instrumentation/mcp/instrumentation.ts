import type { TracerProvider } from '@opentelemetry/api';
import {
  InstrumentationBase,
  InstrumentationNodeModuleDefinition,
  InstrumentationNodeModuleFile,
} from '@opentelemetry/instrumentation';
import { Hook } from 'require-in-the-middle';
import { checkKinds, MCP_SCOPE, readVersion, VERSION } from '../../base/index.ts';
import { keep, lateTracerProvider, reportHooked } from '../shared/index.ts';
import { AI_SDK_PACKAGE, AI_SDK_RANGE, patchAiSdkClient } from './ai-sdk-client.ts';
import { BY_HAND, type McpModule, patchModule } from './manual.ts';
import { Telemetry } from './telemetry.ts';
import type { McpInstrumentationConfig } from './types.ts';
import { MCP_KINDS } from './types.ts';
import { watchWires } from './wire.ts';

const V1_PACKAGE = '@modelcontextprotocol/sdk';
const V1_RANGE = ['>=1.9.0 <2'];
/** With the classes of all clients and servers, and with `McpServer`. */
const V1_FILES = ['shared/protocol', 'server/mcp'];
const V2_RANGE = ['>=2.0.0 <3'];
const V2_PACKAGES = ['@modelcontextprotocol/client', '@modelcontextprotocol/server'];

/**
 * Spans, context propagation and metrics for MCP clients and servers: `@modelcontextprotocol/sdk` 1.9 and later,
 * `@modelcontextprotocol/client` and `/server` 2.x, as ES modules and as CommonJS.
 */
export class McpInstrumentation extends InstrumentationBase<McpInstrumentationConfig> {
  // The super constructor calls init() and enable(), before initializers of a subclass would run: none here.
  declare private telemetryState: Telemetry | undefined;
  declare private v1Hook: Hook | undefined;

  constructor(config: McpInstrumentationConfig = {}) {
    checkKinds(config, MCP_KINDS, 'McpInstrumentation');
    super(MCP_SCOPE, VERSION, config);
    const late = lateTracerProvider();
    if (late !== undefined) this.setTracerProvider(late);
  }

  /** Faults of the instrumentation itself, by patch point; the calls concerned went on without telemetry. */
  get faults(): ReadonlyMap<string, number> {
    return this.telemetry.guard.faults;
  }

  /** For tests: see `Guard.injectFaults`. */
  injectFaults(injector: ((point: string) => void) | undefined): void {
    this.telemetry.guard.injectFaults(injector);
  }

  /**
   * Patches SDK classes that no module hook can see: bundled ones, or ones loaded before the hooks. Takes what the
   * SDK's modules export, whole or in part: `{ Client }`, `{ Server, McpServer }`, `{ Protocol }`, a namespace import.
   * Patching twice, or what a hook has patched already, does nothing.
   */
  manuallyInstrument(...modules: McpModule[]): void {
    for (const module of modules)
      reportHooked({ name: BY_HAND, version: undefined, ...patchModule(module, this.telemetry) });
  }

  /**
   * Watches the process's own stdin and stdout, and the requests to its HTTP servers, for a server whose SDK no hook can
   * see, for it is bundled; it gets the spans of a hooked one. Each message still has one span, and a program that is no
   * MCP server is left alone.
   * @returns a function that ends it.
   */
  watchWire(): () => void {
    return watchWires(this.telemetry);
  }

  override enable(): void {
    this.telemetry.enabled = true;
    // Neither is there for browsers and Cloudflare Workers, whose bundlers take another base class.
    super.enable?.();
    this.v1Hook ??= hookV1Require((exports, version) => this.patched(exports, V1_PACKAGE, version));
  }

  override disable(): void {
    this.telemetry.enabled = false;
    super.disable?.();
  }

  override setConfig(config: McpInstrumentationConfig = {}): void {
    super.setConfig(config);
    this.telemetryState?.configure(this.getConfig());
  }

  override setTracerProvider(provider: TracerProvider): void {
    super.setTracerProvider(provider);
    this._updateMetricInstruments();
  }

  protected override _updateMetricInstruments(): void {
    this.telemetryState?.use(this.tracer, this.meter, this.getConfig());
  }

  protected override init(): InstrumentationNodeModuleDefinition[] {
    const patch = (name: string) => (exports: unknown, version?: string) =>
      this.patched(exports, name, version);
    return [
      new InstrumentationNodeModuleDefinition(V1_PACKAGE, V1_RANGE, undefined, undefined, [
        ...V1_FILES.map(
          (file) =>
            new InstrumentationNodeModuleFile(
              `${V1_PACKAGE}/dist/esm/${file}.js`,
              V1_RANGE,
              patch(V1_PACKAGE),
              keep,
            ),
        ),
      ]),
      ...V2_PACKAGES.map(
        (name) => new InstrumentationNodeModuleDefinition(name, V2_RANGE, patch(name), keep),
      ),
      new InstrumentationNodeModuleDefinition(
        AI_SDK_PACKAGE,
        AI_SDK_RANGE,
        (exports) => this.telemetry.guard.run('mcp.hook', () => this.aiSdk(exports)) ?? exports,
        keep,
      ),
    ];
  }

  private get telemetry(): Telemetry {
    this.telemetryState ??= new Telemetry(this.tracer, this.meter, this.getConfig());
    return this.telemetryState;
  }

  private aiSdk<T>(exports: T): T {
    reportHooked({
      name: AI_SDK_PACKAGE,
      version: undefined,
      patched: ['createMCPClient'],
      missing: [],
    });
    return patchAiSdkClient(exports, this.telemetry);
  }

  private patched<T>(exports: T, name: string, version: string | undefined): T {
    this.telemetry.guard.run('mcp.hook', () =>
      reportHooked({ name, version, ...patchModule(exports as McpModule, this.telemetry) }),
    );
    return exports;
  }
}

/** First minor of v1 with Streamable HTTP as it is today; also the range the peers support. */
const FIRST_MINOR = 9;

/**
 * The CommonJS hook for v1 of the SDK. By package name none fires: `exports["."]` of `@modelcontextprotocol/sdk` points
 * at a file that is not in its tarball, so require-in-the-middle cannot resolve it and gives up. It does catch the
 * files by their resolved names, whichever entry point the application loads them through.
 * Calls `found` with the exports and version of every copy of {@link V1_FILES} as it is loaded.
 */
function hookV1Require(found: (exports: unknown, version: string) => void): Hook {
  return new Hook(
    V1_FILES.map((file) => `${V1_PACKAGE}/dist/cjs/${file}`),
    { internals: true },
    (exports, _name, basedir) => {
      const version = readVersion(basedir);
      if (version !== undefined && isSupported(version)) found(exports, version);
      return exports;
    },
  );
}

function isSupported(version: string): boolean {
  const [major, minor] = version.split('.').map(Number);
  return major === 1 && minor !== undefined && minor >= FIRST_MINOR;
}
