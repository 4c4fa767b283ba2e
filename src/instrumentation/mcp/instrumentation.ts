import type { TracerProvider } from '@opentelemetry/api';
import {
  InstrumentationBase,
  InstrumentationNodeModuleDefinition,
  InstrumentationNodeModuleFile,
} from '@opentelemetry/instrumentation';
import type { Hook } from 'require-in-the-middle';
import { VERSION } from '../../base/index.ts';
import { lateTracerProvider, reportHooked } from '../shared/index.ts';
import { BY_HAND, type McpModule, patchModule } from './manual.ts';
import { hookV1Require, V1_PACKAGE } from './require-hook.ts';
import { SCOPE, Telemetry } from './telemetry.ts';
import type { McpInstrumentationConfig } from './types.ts';

const V1_RANGE = ['>=1.9.0 <2'];
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
    super(SCOPE, VERSION, config);
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

  override enable(): void {
    this.telemetry.enabled = true;
    super.enable();
    this.v1Hook ??= hookV1Require((exports, version) => this.patched(exports, V1_PACKAGE, version));
  }

  override disable(): void {
    this.telemetry.enabled = false;
    super.disable();
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
    const v1File = `${V1_PACKAGE}/dist/esm/shared/protocol.js`;
    return [
      new InstrumentationNodeModuleDefinition(V1_PACKAGE, V1_RANGE, undefined, undefined, [
        new InstrumentationNodeModuleFile(v1File, V1_RANGE, patch(V1_PACKAGE), keep),
      ]),
      ...V2_PACKAGES.map(
        (name) => new InstrumentationNodeModuleDefinition(name, V2_RANGE, patch(name), keep),
      ),
    ];
  }

  private get telemetry(): Telemetry {
    this.telemetryState ??= new Telemetry(this.tracer, this.meter, this.getConfig());
    return this.telemetryState;
  }

  private patched<T>(exports: T, name: string, version: string | undefined): T {
    this.telemetry.guard.run('mcp.hook', () =>
      reportHooked({ name, version, ...patchModule(exports as McpModule, this.telemetry) }),
    );
    return exports;
  }
}

/** Patches stay where they are: a disabled instrumentation is passed by, and can be enabled again. */
function keep<T>(exports: T): T {
  return exports;
}
