import { diag } from '@opentelemetry/api';
import {
  checkKinds,
  checkOptions,
  either,
  exactly,
  having,
  kinds,
  ObservatoryError,
  type OptionKinds,
  refuseUnknownOptions,
  secret,
} from '../base/index.ts';
import type { DurableSpanProcessorOptions, OtlpOptions } from '../durable/index.ts';
import type { PostgresConnection } from '../postgres/index.ts';
import { type ObservatorySpanProcessorOptions, PROCESSOR_OPTIONS } from '../processor/index.ts';

/** Options of `startObservatory`; precedence: option, environment, default. */
export interface StartOptions extends ObservatorySpanProcessorOptions {
  /**
   * Written as `service.name`. Env `OTEL_SERVICE_NAME`, or `service.name` in `OTEL_RESOURCE_ATTRIBUTES`.
   * @defaultValue `unknown_service:node`
   */
  readonly serviceName?: string | undefined;
  /**
   * The database of `mcp_traces`: a connection string, a `pg.Pool`, a PGlite, or `false` for no Postgres export. Env
   * `MCP_OBSERVATORY_DATABASE_URL`. @defaultValue `false` when the variable is not set
   */
  readonly postgres?: PostgresConnection | false | undefined;
  /**
   * Folder in which spans are kept that cannot be sent; this process or the next one sends them later. Env
   * `MCP_OBSERVATORY_SPOOL`. @defaultValue none: they wait in memory, and are dropped at exit
   */
  readonly spool?: string | undefined;
  /** Create or update the tables before the first export. @defaultValue true */
  readonly migrate?: boolean | undefined;
  /**
   * OTLP/HTTP export; `true` takes everything from the `OTEL_EXPORTER_OTLP_*` variables.
   * @defaultValue `true` when an OTLP endpoint variable is set, else `false`
   */
  readonly otlp?: boolean | OtlpOptions | undefined;
  /**
   * Export of the GenAI and MCP metrics over OTLP/HTTP, configured by the `OTEL_EXPORTER_OTLP_*` variables. It stays
   * off if packages are missing or the application has a meter provider; `diag` says so.
   * @defaultValue `true` when `OTEL_METRICS_EXPORTER` is `otlp`, or is not set and an OTLP endpoint variable is
   */
  readonly metrics?: boolean | undefined;
  /**
   * Flush on SIGTERM, SIGINT, end of stdin and before exit; after `process.exit()` or an uncaught exception, a second
   * process sends the last spans. @defaultValue true
   */
  readonly flushOnExit?: boolean | undefined;
  /**
   * How long the process may be kept from ending, in milliseconds; what is not sent by then goes to the spool, or is
   * dropped and counted. `shutdown()` may take 30 seconds. Env `MCP_OBSERVATORY_EXIT_DEADLINE_MS`.
   * @defaultValue 1000; 10000 while the tables of a database are being created or updated
   */
  readonly exitDeadlineMs?: number | undefined;
}

export interface ResolvedStartOptions {
  /** Absent if the environment names the service, or nothing does. */
  readonly serviceName: string | undefined;
  readonly postgres: PostgresConnection | undefined;
  readonly spool: string | undefined;
  readonly batches: BatchOptions;
  readonly migrate: boolean;
  readonly otlp: OtlpOptions | undefined;
  /** Of OTLP, where one is named. */
  readonly endpoint: string | undefined;
  /** `asked`: metrics were requested. `implied`: an endpoint is set for all signals. */
  readonly metrics: 'asked' | 'implied' | undefined;
  readonly flushOnExit: boolean;
  /** Undefined for the default. */
  readonly exitDeadlineMs: number | undefined;
}

/** Batching, as in the SDK's `BatchSpanProcessor`. */
export type BatchOptions = Pick<
  DurableSpanProcessorOptions,
  'scheduledDelayMs' | 'maxQueueSize' | 'maxExportBatchSize' | 'exportTimeoutMs'
>;

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Resolves options against the environment and the defaults.
 * @throws ObservatoryError `INVALID_OPTION` when a value cannot be used.
 */
export function resolveStartOptions(options: StartOptions, env: Env): ResolvedStartOptions {
  checkKinds(options, KINDS, 'startObservatory()');
  refuseUnknownOptions(options, [...Object.keys(KINDS), ...PROCESSOR_OPTIONS], 'startObservatory()');
  const exitDeadlineMs = options.exitDeadlineMs ?? wholeIn(env, 'MCP_OBSERVATORY_EXIT_DEADLINE_MS', 0);
  if (exitDeadlineMs !== undefined && !(Number.isFinite(exitDeadlineMs) && exitDeadlineMs >= 0)) {
    throw new ObservatoryError(
      'INVALID_OPTION',
      `Expected 'exitDeadlineMs' to be a number of milliseconds from 0 up, got ${String(exitDeadlineMs)}`,
    );
  }
  return {
    serviceName: options.serviceName ?? nonEmpty(env.OTEL_SERVICE_NAME),
    postgres:
      options.postgres === false
        ? undefined
        : (options.postgres ?? nonEmpty(env.MCP_OBSERVATORY_DATABASE_URL)),
    spool: options.spool ?? nonEmpty(env.MCP_OBSERVATORY_SPOOL),
    batches: resolveBatches(env),
    migrate: options.migrate ?? true,
    otlp: resolveOtlp(options.otlp, env),
    endpoint: (typeof options.otlp === 'object' ? options.otlp.url : undefined) ?? endpointIn(env),
    metrics: resolveMetrics(options.metrics, env),
    flushOnExit: options.flushOnExit ?? true,
    exitDeadlineMs,
  };
}

const KINDS: OptionKinds<Omit<StartOptions, keyof ObservatorySpanProcessorOptions>> = {
  serviceName: kinds.string,
  postgres: secret(
    either(
      { ...kinds.string, expected: 'a connection string' },
      having('a pool with a method query()', 'query'),
      exactly(false),
    ),
  ),
  spool: kinds.string,
  migrate: kinds.boolean,
  otlp: either(kinds.boolean, kinds.object),
  metrics: kinds.boolean,
  flushOnExit: kinds.boolean,
  exitDeadlineMs: kinds.number,
};

function resolveBatches(env: Env): BatchOptions {
  return {
    scheduledDelayMs: wholeIn(env, 'OTEL_BSP_SCHEDULE_DELAY', 1),
    maxQueueSize: wholeIn(env, 'OTEL_BSP_MAX_QUEUE_SIZE', 1),
    maxExportBatchSize: wholeIn(env, 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 1),
    exportTimeoutMs: wholeIn(env, 'OTEL_BSP_EXPORT_TIMEOUT', 1),
  };
}

const OTLP_OPTIONS: OptionKinds<OtlpOptions> = { url: kinds.string, headers: kinds.object };

/** Values that are no whole numbers from `min` up are ignored with a warning, as in the SDK. */
function wholeIn(env: Env, name: string, min: number): number | undefined {
  const text = nonEmpty(env[name]);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= min) return value;
  diag.warn(`mcp-observatory: ${name}=${text} is no whole number from ${min} up; using the default`);
  return undefined;
}

function resolveOtlp(otlp: StartOptions['otlp'], env: Env): OtlpOptions | undefined {
  if (typeof otlp === 'object') {
    checkOptions(otlp, OTLP_OPTIONS, "'otlp' of startObservatory()");
    return otlp;
  }
  return (otlp ?? endpointIn(env) !== undefined) ? {} : undefined;
}

function endpointIn(env: Env): string | undefined {
  return nonEmpty(env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) ?? nonEmpty(env.OTEL_EXPORTER_OTLP_ENDPOINT);
}

function resolveMetrics(metrics: boolean | undefined, env: Env): ResolvedStartOptions['metrics'] {
  if (metrics !== undefined) return metrics ? 'asked' : undefined;
  const names = (env.OTEL_METRICS_EXPORTER ?? '').split(',').map((name) => name.trim().toLowerCase());
  if (names.includes('otlp')) return 'asked';
  if (names.some((name) => name !== '')) return undefined;
  if (nonEmpty(env.OTEL_EXPORTER_OTLP_METRICS_ENDPOINT) !== undefined) return 'asked';
  return nonEmpty(env.OTEL_EXPORTER_OTLP_ENDPOINT) === undefined ? undefined : 'implied';
}

function nonEmpty(value: string | undefined): string | undefined {
  return value === undefined || value.trim() === '' ? undefined : value;
}
