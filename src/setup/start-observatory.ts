import { diag } from '@opentelemetry/api';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import { createOtlpExporter } from '../durable/index.ts';
import { drainShadows } from '../execution/index.ts';
import { openCalls } from '../instrumentation/index.ts';
import { PostgresSpanExporter } from '../postgres/index.ts';
import { ObservatorySpanProcessor } from '../processor/index.ts';
import { type ExitHandlers, flushOnExit } from './exit.ts';
import { ExportQueue } from './export-queue.ts';
import { exportNow } from './last-export.ts';
import { type ManagedMeterProvider, startMetrics } from './meter-provider.ts';
import { resolveStartOptions, type StartOptions } from './options.ts';
import { loadSdk, type ManagedProvider, registerGlobally } from './sdk.ts';

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
  /** Ends the spans of unfinished calls, flushes, closes the exporters and removes the exit handlers. Idempotent. */
  shutdown(): Promise<void>;
}

/**
 * Sets up OpenTelemetry for a program without an SDK: a tracer provider with the `ObservatorySpanProcessor`, batched
 * export to Postgres and over OTLP/HTTP, metrics over OTLP/HTTP, context across `await`, W3C propagation, and a bounded
 * flush at exit.
 *
 * With an existing SDK, add `ObservatorySpanProcessor` and `PostgresSpanExporter` to it instead.
 *
 * @throws ObservatoryError `INVALID_OPTION` for values that cannot be used, `MISSING_PEER` when an SDK or exporter
 * package is not installed. Once started it does not throw; an unreachable database is logged through `diag`.
 */
export async function startObservatory(options: StartOptions = {}): Promise<Observatory> {
  const resolved = resolveStartOptions(options, process.env);
  const sdk = await loadSdk();
  const { postgres: connection, migrate, otlp } = resolved;
  const queueOf = (exporter: SpanExporter) => new ExportQueue(exporter, sdk.createBatchProcessor);
  const queues = {
    postgres:
      connection === undefined ? undefined : queueOf(new PostgresSpanExporter({ connection, migrate })),
    otlp: otlp === undefined ? undefined : queueOf(await createOtlpExporter(otlp, process.env)),
  };
  const all = [queues.postgres, queues.otlp].filter((queue) => queue !== undefined);
  const resource = sdk.createResource(resolved.serviceName);
  const tracerProvider = sdk.createProvider(resource, [new ObservatorySpanProcessor(options), ...all]);
  const isGlobal = await registerGlobally(tracerProvider);
  if (!isGlobal) {
    diag.warn(
      'mcp-observatory: a tracer provider is registered already; spans of that one are not exported by us',
    );
  }
  const meterProvider =
    resolved.metrics === undefined || !isGlobal
      ? undefined
      : await startMetrics(resource, resolved.metrics === 'asked', process.env);
  return manage(
    {
      tracerProvider,
      meterProvider,
      queues: all,
      isGlobal,
      exportNow: (deadlineMs) => exportNow(queues, resolved, deadlineMs),
    },
    resolved.flushOnExit ? resolved.exitDeadlineMs : undefined,
  );
}

/** Twice the time that shadow runs get to end when a program shuts down. */
const DEFAULT_DRAIN_MS = 5_000;

interface Parts {
  readonly tracerProvider: ManagedProvider;
  readonly meterProvider: ManagedMeterProvider | undefined;
  readonly queues: readonly ExportQueue[];
  readonly isGlobal: boolean;
  /** See `Flushable.exportNow`. */
  readonly exportNow: (deadlineMs: number) => void;
}

function manage(
  { tracerProvider, meterProvider, queues, isGlobal, exportNow }: Parts,
  exitDeadlineMs: number | undefined,
): Observatory {
  let exitHandlers: ExitHandlers | undefined;
  let stopped: Promise<void> | undefined;
  const flushSpans = async () => {
    await tracerProvider.forceFlush();
    // The SDK's batch processor does not wait for a batch already being exported; its exporter does.
    await Promise.all(queues.map(({ exporter }) => exporter.forceFlush?.()));
  };
  const forceFlush = async () => {
    await both(flushSpans(), meterProvider?.forceFlush());
  };
  const stop = async () => {
    exitHandlers?.removeWaiting();
    // Half of the time is reserved for the spans of runs that did not end.
    await drainShadows((exitDeadlineMs ?? DEFAULT_DRAIN_MS) / 2);
    openCalls.abandonAll();
    await both(
      flushSpans().then(() => tracerProvider.shutdown()),
      meterProvider?.shutdown(),
    ).finally(() => exitHandlers?.removeLast());
  };
  const observatory: Observatory = {
    tracerProvider,
    meterProvider,
    isGlobal,
    forceFlush,
    shutdown: () => {
      stopped ??= stop();
      return stopped;
    },
    [Symbol.asyncDispose]: () => observatory.shutdown(),
  };
  if (exitDeadlineMs !== undefined) {
    exitHandlers = flushOnExit({ forceFlush, shutdown: observatory.shutdown, exportNow }, exitDeadlineMs);
  }
  return observatory;
}

/** Flushes spans and metrics independently; a failure of the spans takes precedence. */
async function both(spans: Promise<void>, meters: Promise<void> | undefined): Promise<void> {
  const results = await Promise.allSettled([spans, meters]);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
