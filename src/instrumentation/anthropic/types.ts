import type { ModelInstrumentationConfig } from '../shared/index.ts';

/** Options of `AnthropicInstrumentation`. */
export interface AnthropicInstrumentationConfig extends ModelInstrumentationConfig {
  /**
   * What to do where the SDK traces its calls itself, which it does since 0.134 unless its option `openTelemetry` or
   * `ANTHROPIC_OPEN_TELEMETRY=false` says otherwise:
   * - `prefer`: its span stays the only one; it is given what it lacks, and the metrics are recorded.
   * - `suppress`: its spans are switched off for each client that makes a call, and ours is the only one.
   * - `both`: two spans a call, ours outside. Usage and cost then count twice.
   *
   * Its spans go to the global tracer provider. With a provider set on this instrumentation alone, use `suppress`.
   * @default 'prefer'
   */
  native?: 'prefer' | 'suppress' | 'both' | undefined;
}
