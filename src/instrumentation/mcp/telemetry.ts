import { diag, type Meter, type Tracer } from '@opentelemetry/api';
import { MCP_SCOPE } from '../../base/index.ts';
import { MAX_CONTENT_CHARS } from '../../interaction/index.ts';
import { Guard, resolveCaptureContent } from '../shared/index.ts';
import type { McpSettings } from './internal-types.ts';
import { McpMetrics } from './metrics.ts';
import type { McpInstrumentationConfig } from './types.ts';

const DEFAULT_MAX_METRIC_NAMES = 200;

/**
 * What the patches work with, one per instrumentation: options resolved once, the tracer, the metrics, and whether they
 * are wanted at all.
 */
export class Telemetry {
  readonly guard: Guard = new Guard(MCP_SCOPE);
  enabled = true;
  tracer: Tracer;
  metrics: McpMetrics;
  settings: McpSettings;
  /** True for the one behind `instrumentMcpClient`: an instrumentation of the application's own takes its place. */
  readonly yields: boolean;

  constructor(tracer: Tracer, meter: Meter, config: McpInstrumentationConfig, yields = false) {
    this.yields = yields;
    this.tracer = tracer;
    this.settings = resolveSettings(config);
    this.metrics = createMetrics(meter, config);
  }

  /** Called for each new connection, where there are providers to keep up with. */
  follow(): void {}

  use(tracer: Tracer, meter: Meter, config: McpInstrumentationConfig): void {
    this.tracer = tracer;
    this.metrics = createMetrics(meter, config);
  }

  configure(config: McpInstrumentationConfig): void {
    this.settings = resolveSettings(config);
  }
}

function createMetrics(meter: Meter, config: McpInstrumentationConfig): McpMetrics {
  return new McpMetrics(meter, countOr(config.maxMetricNames, DEFAULT_MAX_METRIC_NAMES, 'maxMetricNames'));
}

function resolveSettings(config: McpInstrumentationConfig): McpSettings {
  return Object.freeze({
    captureContent: resolveCaptureContent(config.captureContent),
    contentLimitChars: countOr(config.contentLimitChars, MAX_CONTENT_CHARS, 'contentLimitChars'),
    propagate: config.propagate,
  });
}

/** Telemetry does not throw into the host, not even over its own options: what cannot be used is warned of. */
function countOr(value: number | undefined, fallback: number, option: string): number {
  if (value === undefined) return fallback;
  if (Number.isSafeInteger(value) && value >= 0) return value;
  diag.warn(
    `mcp-observatory: ${option} must be a whole number from 0 up, got ${String(value)}; using ${fallback}`,
  );
  return fallback;
}
