import { diag } from '@opentelemetry/api';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import { PostgresSpanExporter } from '../postgres/index.ts';
import { ObservatorySpanProcessor } from '../processor/index.ts';
import { flushOnExit, type RemoveExitHandlers } from './exit.ts';
import { resolveStartOptions, type StartOptions } from './options.ts';
import { createOtlpExporter } from './otlp-exporter.ts';
import { loadSdk, type ManagedProvider, registerGlobally } from './sdk.ts';

/** A running SDK; `await using` it, or call `shutdown()`. */
export interface Observatory extends AsyncDisposable {
  readonly tracerProvider: ManagedProvider;
  /** False when the application had registered a tracer provider before: then only ours is enriched and exported. */
  readonly isGlobal: boolean;
  /** Sends everything that has ended so far. */
  forceFlush(): Promise<void>;
  /** Flushes, closes the exporters and removes the exit handlers. Calling it again does nothing. */
  shutdown(): Promise<void>;
}

/**
 * Sets up OpenTelemetry for a program that has none: a tracer provider with the `ObservatorySpanProcessor`, batched
 * export to Postgres and over OTLP/HTTP, context across `await`, W3C propagation, and a bounded flush at exit.
 *
 * A program that runs an SDK already adds `ObservatorySpanProcessor` and `PostgresSpanExporter` to it instead.
 *
 * @throws ObservatoryError `INVALID_OPTION` for values that cannot be used, `MISSING_PEER` when an SDK or exporter
 *   package is not installed. Once started it does not throw: an unreachable database is told through `diag`.
 */
export async function startObservatory(options: StartOptions = {}): Promise<Observatory> {
  const resolved = resolveStartOptions(options, process.env);
  const sdk = await loadSdk();
  const exporters: SpanExporter[] = [];
  if (resolved.postgres !== undefined) {
    exporters.push(new PostgresSpanExporter({ connection: resolved.postgres, migrate: resolved.migrate }));
  }
  if (resolved.otlp !== undefined) exporters.push(await createOtlpExporter(resolved.otlp, process.env));
  const tracerProvider = sdk.createProvider(resolved.serviceName, [
    new ObservatorySpanProcessor(options),
    ...exporters.map((exporter) => sdk.createBatchProcessor(exporter)),
  ]);
  const isGlobal = await registerGlobally(tracerProvider);
  if (!isGlobal) {
    diag.warn(
      'mcp-observatory: a tracer provider is registered already; spans of that one are not exported by us',
    );
  }
  return manage(
    { tracerProvider, exporters, isGlobal },
    resolved.flushOnExit ? resolved.exitDeadlineMs : undefined,
  );
}

interface Parts {
  readonly tracerProvider: ManagedProvider;
  readonly exporters: readonly SpanExporter[];
  readonly isGlobal: boolean;
}

function manage(
  { tracerProvider, exporters, isGlobal }: Parts,
  exitDeadlineMs: number | undefined,
): Observatory {
  let removeExitHandlers: RemoveExitHandlers = () => {};
  let stopped: Promise<void> | undefined;
  const forceFlush = async () => {
    await tracerProvider.forceFlush();
    // The SDK's batch processor does not wait for a batch that is under way already; its exporter does.
    await Promise.all(exporters.map((exporter) => exporter.forceFlush?.()));
  };
  const stop = async () => {
    removeExitHandlers();
    await forceFlush();
    await tracerProvider.shutdown();
  };
  const observatory: Observatory = {
    tracerProvider,
    isGlobal,
    forceFlush,
    shutdown: () => {
      stopped ??= stop();
      return stopped;
    },
    [Symbol.asyncDispose]: () => observatory.shutdown(),
  };
  if (exitDeadlineMs !== undefined) removeExitHandlers = flushOnExit(observatory, exitDeadlineMs);
  return observatory;
}
