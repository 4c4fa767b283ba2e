import { join } from 'node:path';
import { diag } from '@opentelemetry/api';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import { loadSdk, type ManagedProvider, useStderrDiag } from '../base/index.ts';
import { createOtlpExporter, DurableSpanProcessor } from '../durable/index.ts';
import { drainShadows } from '../execution/index.ts';
import { openCalls } from '../instrumentation/index.ts';
import type { PostgresSpanExporterOptions } from '../postgres/index.ts';
import { DeferredEnrichment, ObservatorySpanProcessor, withEvidence } from '../processor/index.ts';
import { type ExitHandlers, flushOnExit } from './exit.ts';
import { type Destinations, exportNow } from './last-export.ts';
import { type ManagedMeterProvider, type RunningMetrics, startMetrics } from './meter-provider.ts';
import { type ResolvedStartOptions, resolveStartOptions, type StartOptions } from './options.ts';
import { registerGlobally } from './register-globally.ts';

/** A running SDK; `await using` it, or call `shutdown()`. */
export interface Observatory extends AsyncDisposable {
  readonly tracerProvider: ManagedProvider;
  /** Absent where this package does not export metrics. */
  readonly meterProvider: ManagedMeterProvider | undefined;
  /**
   * False if the application had registered a tracer provider before; then only spans of this package's provider are
   * enriched and exported.
   */
  readonly isGlobal: boolean;
  /** Exports all spans that have ended. */
  forceFlush(): Promise<void>;
  /**
   * Ends the spans of unfinished calls, flushes, closes the exporters and removes the exit handlers, in 10 seconds at
   * most. What cannot be sent goes to the spool, or is dropped and counted. Idempotent.
   * @throws ObservatoryError `SPANS_NOT_SAFE` when spans were lost.
   */
  shutdown(): Promise<void>;
}

/**
 * Sets up OpenTelemetry for a program without an SDK: a tracer provider with the `ObservatorySpanProcessor`, export to
 * Postgres and over OTLP/HTTP by a `DurableSpanProcessor` each (configured by `OTEL_BSP_*`), metrics over OTLP/HTTP, context across `await`, W3C propagation, and a bounded
 * flush at exit.
 *
 * With an existing SDK, add `ObservatorySpanProcessor` and `PostgresSpanExporter` to it instead.
 *
 * @throws ObservatoryError `INVALID_OPTION` for values that cannot be used, `MISSING_PEER` when an SDK or exporter
 * package is not installed. Once started it does not throw; an unreachable database is logged through
 * `diag`, to stderr unless the program has a logger (`OTEL_LOG_LEVEL`, default `warn`).
 */
export async function startObservatory(options: StartOptions = {}): Promise<Observatory> {
  const observatory = await start(options);
  useStderrDiag(process.env.OTEL_LOG_LEVEL);
  return observatory;
}

/** An observatory whose parts can be stopped one by one, where an application brings its own. */
export interface RunningObservatory extends Observatory {
  /** Stops sending spans, as `shutdown()` does; metrics go on. */
  stopSpans(): Promise<void>;
  stopMetrics(): Promise<void>;
}

/** See {@link startObservatory}. */
export async function start(options: StartOptions): Promise<RunningObservatory> {
  const resolved = resolveStartOptions(options, process.env);
  const sdk = await loadSdk();
  const { postgres: connection, migrate, otlp } = resolved;
  const sendWith = (exporter: SpanExporter, name: string) => {
    const spool = resolved.spool === undefined ? undefined : { directory: join(resolved.spool, name) };
    return new DurableSpanProcessor({ exporter, spool, ...resolved.batches });
  };
  const sender = otlp === undefined ? undefined : await createOtlpExporter(otlp, process.env);
  const store =
    connection === undefined
      ? undefined
      : await createPostgresExporter({ connection, migrate, holdsProcess: !resolved.flushOnExit });
  const to: Destinations = {
    postgres: store === undefined ? undefined : sendWith(store, 'postgres'),
    otlp: sender === undefined ? undefined : { processor: sendWith(sender, 'otlp'), exporter: sender },
  };
  const all = [to.postgres, to.otlp?.processor].filter((processor) => processor !== undefined);
  const resource = sdk.createResource(resolved.serviceName);
  const enricher = new ObservatorySpanProcessor(withEvidence(options));
  const enrichment = new DeferredEnrichment(enricher, all);
  const tracerProvider = sdk.createProvider(resource, [enrichment]);
  const isGlobal = await registerGlobally(tracerProvider);
  if (!isGlobal) {
    diag.warn(
      'mcp-observatory: a tracer provider is registered already; spans of that one are not exported by us',
    );
  }
  const metrics =
    resolved.metrics === undefined || !isGlobal
      ? undefined
      : await startMetrics(resource, resolved.metrics === 'asked', process.env);
  return manage(tracerProvider, isGlobal, { ...to, metrics, enrichment }, resolved);
}

/**
 * Starts the export of metrics alone, for an application whose own SDK sends the spans and no metrics.
 * @returns undefined if they are not wanted or cannot be exported.
 */
export async function startMetricsAlone(options: StartOptions): Promise<RunningMetrics | undefined> {
  const resolved = resolveStartOptions(options, process.env);
  if (resolved.metrics === undefined) return undefined;
  const resource = (await loadSdk()).createResource(resolved.serviceName);
  const metrics = await startMetrics(resource, resolved.metrics === 'asked', process.env);
  if (metrics === undefined) return undefined;
  const target = {
    forceFlush: () => metrics.provider.forceFlush(),
    shutdown: async (limitMs: number) => {
      openCalls.abandonAll();
      await metrics.stop(limitMs);
    },
    exportNow: (deadlineMs: number) => exportNow({ metrics }, resolved, deadlineMs),
  };
  const handlers = flushOnExit(target, resolved.exitDeadlineMs);
  const stop = async (limitMs: number) => {
    handlers.removeWaiting();
    await metrics.stop(limitMs).finally(handlers.removeLast);
  };
  return { ...metrics, stop };
}

/** How long `shutdown()` may take. */
const SHUTDOWN_MS = 10_000;

function manage(
  tracerProvider: ManagedProvider,
  isGlobal: boolean,
  to: Destinations,
  options: ResolvedStartOptions,
): RunningObservatory {
  const { metrics, enrichment } = to;
  const exporting = [to.postgres, to.otlp?.processor].filter((processor) => processor !== undefined);
  let exitHandlers: ExitHandlers | undefined;
  const forceFlush = async () => {
    // It records metrics too.
    await enrichment?.settle();
    await both(tracerProvider.forceFlush(), metrics?.provider.forceFlush());
  };
  /** Ends what is under way, then the export of spans and, if `all`, of metrics. */
  const stop = async (limitMs: number, all: boolean) => {
    const deadline = performance.now() + limitMs;
    // Half of the time is reserved for the spans of runs that did not end.
    await drainShadows(limitMs / 2);
    openCalls.abandonAll();
    await enrichment?.settle();
    const restMs = Math.max(0, deadline - performance.now());
    const stopSpans = async () => {
      await Promise.all(exporting.map((processor) => processor.shutdown(restMs)));
      await tracerProvider.shutdown();
    };
    await both(stopSpans(), all ? metrics?.stop(restMs) : undefined);
  };
  let stopped: Promise<void> | undefined;
  let spansStopped: Promise<void> | undefined;
  const shutdown = (limitMs: number) => {
    exitHandlers?.removeWaiting();
    stopped ??= (
      spansStopped === undefined ? stop(limitMs, true) : both(spansStopped, metrics?.stop(limitMs))
    ).finally(() => exitHandlers?.removeLast());
    return stopped;
  };
  const observatory: RunningObservatory = {
    tracerProvider,
    meterProvider: metrics?.provider,
    isGlobal,
    forceFlush,
    shutdown: () => shutdown(SHUTDOWN_MS),
    stopSpans: () => {
      if (metrics === undefined) return observatory.shutdown();
      spansStopped ??= stop(SHUTDOWN_MS, false);
      return spansStopped;
    },
    stopMetrics: async () => metrics?.stop(SHUTDOWN_MS),
    [Symbol.asyncDispose]: () => observatory.shutdown(),
  };
  if (options.flushOnExit) {
    const now = (deadlineMs: number) => exportNow(to, options, deadlineMs);
    exitHandlers = flushOnExit({ forceFlush, shutdown, exportNow: now }, options.exitDeadlineMs);
  }
  return observatory;
}

/** Flushes spans and metrics independently; a failure of the spans takes precedence. */
async function both(spans: Promise<void>, meters: Promise<void> | undefined): Promise<void> {
  const results = await Promise.allSettled([spans, meters]);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

/** Loaded here, so that a program that only sends spans over OTLP does not load the exporter. */
async function createPostgresExporter(options: PostgresSpanExporterOptions): Promise<SpanExporter> {
  const { PostgresSpanExporter } = await import('../postgres/index.ts');
  return new PostgresSpanExporter(options);
}
