import { type Context, diag, type TracerProvider } from '@opentelemetry/api';
import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace';
import {
  errorMessage,
  loadSdk,
  type ManagedProvider,
  ObservatoryError,
  runningProvider,
  useStderrDiag,
} from '../base/index.ts';
import { drainShadows } from '../execution/index.ts';
import { openCalls, watchOwnWires } from '../instrumentation/index.ts';
import { DeferredEnrichment, Enricher, type ObservatorySpanProcessorOptions } from '../processor/index.ts';
import { FlushAfterResponse } from './after-response.ts';
import { joinSdk, type OtherProcessors } from './beside-sdk.ts';
import { createExitDeadline, type ExitDeadline, type ExitHandlers, flushOnExit } from './exit.ts';
import { type Destinations, exportNow } from './last-export.ts';
import { type ManagedMeterProvider, startMetrics, startMetricsBeside } from './meter-provider.ts';
import { type ResolvedStartOptions, resolveStartOptions, type StartOptions } from './options.ts';
import { registerGlobally } from './register-globally.ts';
import { hasNoHooks } from './registration/index.ts';
import { sendsElsewhere } from './sends-elsewhere.ts';
import { openSender, openStore } from './stores.ts';

/** A running SDK; `await using` it, or call `shutdown()`. */
export interface Observatory extends AsyncDisposable {
  readonly tracerProvider: ManagedProvider;
  /** Absent where this package does not export metrics. */
  readonly meterProvider: ManagedMeterProvider | undefined;
  /**
   * False if the application had registered a tracer provider before: its spans are enriched and stored as they are, and
   * that provider alone exports them over OTLP.
   */
  readonly isGlobal: boolean;
  /**
   * Exports all spans that have ended.
   * @throws ObservatoryError `SPANS_NOT_SAFE` when spans were lost.
   */
  forceFlush(): Promise<void>;
  /**
   * Ends the spans of unfinished calls, flushes, closes the exporters and removes the exit handlers, in 30 seconds at
   * most. What cannot be sent goes to the spool, or is dropped; one line on stderr says how many spans that were, and
   * why. The program does not fail because of them: `forceFlush` is for those who want to know. Idempotent.
   */
  shutdown(): Promise<void>;
}

/**
 * Sets up OpenTelemetry for a program without an SDK: a tracer provider with the `ObservatorySpanProcessor`, export to
 * Postgres and over OTLP/HTTP by a `DurableSpanProcessor` each (configured by `OTEL_BSP_*`), metrics over OTLP/HTTP, context across `await`, W3C propagation, and a bounded
 * flush at exit. An MCP server has spans, also a bundled one; other SDKs have them by `register` or the
 * instrumentations.
 *
 * Beside an SDK that runs already, its spans are enriched and stored; or add `ObservatorySpanProcessor` and
 * `PostgresSpanExporter` to it yourself.
 *
 * @throws ObservatoryError `INVALID_OPTION` for values that cannot be used, `MISSING_PEER` when an SDK or exporter
 * package is not installed. Once started it does not throw; an unreachable database is logged through
 * `diag`, to stderr unless the program has a logger (`OTEL_LOG_LEVEL`, default `warn`).
 */
export async function startObservatory(options: StartOptions = {}): Promise<Observatory> {
  const observatory = await start(options);
  useStderrDiag(process.env.OTEL_LOG_LEVEL);
  const from = await joinRunning(observatory);
  if (hasNoHooks) return observatory;
  const { shutdown } = observatory;
  const endWatch = watchOwnWires({ captureContent: options.captureContent }, from);
  return Object.assign(observatory, { shutdown: () => shutdown().finally(endWatch) });
}

/** The providers of the observatories of this process. */
const started = new WeakSet<TracerProvider>();

/** Joins an SDK that the application has started before. @returns where spans of ours start. */
async function joinRunning(observatory: RunningObservatory): Promise<TracerProvider> {
  const { tracerProvider, isGlobal } = observatory;
  started.add(tracerProvider);
  const running = isGlobal ? undefined : runningProvider();
  if (running === undefined) return tracerProvider;
  if (started.has(running)) {
    diag.warn('mcp-observatory: startObservatory() was called before; spans go on to that one');
    return tracerProvider;
  }
  const given = observatory.giveWayTo(running);
  await given.done.catch((error) =>
    diag.error(`mcp-observatory: could not join the SDK of the application: ${errorMessage(error)}`),
  );
  return given.tracerProvider;
}

/** An observatory that an application's own SDK can take over from. */
export interface RunningObservatory extends Observatory {
  /**
   * Leaves spans to the application's SDK, also those of ours that end later, and keeps writing rows. If that SDK takes
   * no processors, ours exports what it has begun.
   * @returns where spans of ours start from now on, and the end of the change.
   */
  giveWayTo(provider: TracerProvider): {
    readonly tracerProvider: TracerProvider;
    readonly done: Promise<void>;
  };
  stopMetrics(): Promise<void>;
}

/**
 * See {@link startObservatory}.
 * @param register makes a provider the global one; false if there is one.
 */
export async function start(
  options: StartOptions,
  register: (provider: ManagedProvider) => Promise<boolean> = registerGlobally,
): Promise<RunningObservatory> {
  const resolved = resolveStartOptions(options, process.env);
  const sdk = await loadSdk();
  const sender = await openSender(resolved);
  const store = await openStore(resolved);
  const to: Destinations = { postgres: store?.processor, otlp: sender };
  const resource = sdk.createResource(resolved.serviceName);
  const outlet = new Outlet([to.postgres, to.otlp?.processor].filter((processor) => processor !== undefined));
  const enricher = new Enricher(options);
  const enrichment = new DeferredEnrichment(enricher, [outlet]);
  const flush = async () => {
    await enrichment.settle();
    await outlet.forceFlush();
  };
  const tracerProvider = sdk.createProvider(resource, [enrichment, new FlushAfterResponse(flush)]);
  const isGlobal = await register(tracerProvider);
  const metrics =
    resolved.metrics === undefined || !isGlobal
      ? undefined
      : await startMetrics(resource, resolved.metrics === 'asked', process.env);
  const deadline = createExitDeadline(resolved.exitDeadlineMs, store?.exporter);
  const destinations = { ...to, metrics, enrichment };
  return manage(tracerProvider, isGlobal, outlet, destinations, resolved, deadline, options);
}

/** The exports beside an application's SDK. */
export interface Beside {
  /** Where spans of ours start: the application's, or one beside it. */
  readonly tracerProvider: TracerProvider;
  readonly meterProvider: ManagedMeterProvider | undefined;
  stopMetrics(): Promise<void>;
}

/**
 * Enriches the spans of an application's SDK and writes rows of them where there is a database, and sends them to the
 * endpoint in the environment where the application sends them elsewhere; exports metrics, which it does not.
 */
export async function startBeside(options: StartOptions, provider: TracerProvider): Promise<Beside> {
  const resolved = resolveStartOptions(options, process.env);
  const store = await openStore(resolved);
  const deadline = createExitDeadline(resolved.exitDeadlineMs, store?.exporter);
  const otlp = sendsElsewhere(provider, resolved.endpoint) ? await openSender(resolved) : undefined;
  const postgres = store?.processor;
  const stores = [postgres, otlp?.processor].filter((processor) => processor !== undefined);
  const { tracerProvider } = joinSdk(provider, stores, deadline);
  const metrics = await startMetricsBeside(resolved);
  const hasStores = stores.length > 0;
  if (!hasStores && metrics === undefined)
    return { tracerProvider, meterProvider: undefined, stopMetrics: async () => {} };
  const spans = (end: 'forceFlush' | 'shutdown', limitMs: number) =>
    both(postgres?.[end](limitMs), otlp?.processor[end](limitMs));
  const target = {
    forceFlush: (limitMs: number) => both(spans('forceFlush', limitMs), metrics?.flush(limitMs)),
    shutdown: async (limitMs: number) => {
      openCalls.abandonAll();
      await both(spans('shutdown', limitMs), metrics?.stop(limitMs));
    },
    exportNow: (deadlineMs: number) => exportNow({ postgres, otlp, metrics }, resolved, deadlineMs),
  };
  const handlers = flushOnExit(target, deadline);
  const stopMetrics = async () => {
    if (!hasStores) handlers.removeWaiting();
    await metrics?.stop(SHUTDOWN_MS);
    if (!hasStores) handlers.removeLast();
  };
  return { tracerProvider, meterProvider: metrics?.provider, stopMetrics };
}

/** How long `shutdown()` may take. */
const SHUTDOWN_MS = 30_000;

/** Where finished spans go, until an application's SDK takes them. */
class Outlet implements SpanProcessor {
  #processors: readonly SpanProcessor[];
  #take: ((span: ReadableSpan) => void) | undefined;

  constructor(processors: readonly SpanProcessor[]) {
    this.#processors = processors;
  }

  redirect(take: (span: ReadableSpan) => void): void {
    this.#take = take;
    this.#processors = [];
  }

  onStart(span: Span, parentContext: Context): void {
    for (const processor of this.#processors) processor.onStart(span, parentContext);
  }

  onEnd(span: ReadableSpan): void {
    this.#take?.(span);
    for (const processor of this.#processors) processor.onEnd(span);
  }

  async forceFlush(): Promise<void> {
    await Promise.all(this.#processors.map((processor) => processor.forceFlush()));
  }

  async shutdown(): Promise<void> {
    await Promise.all(this.#processors.map((processor) => processor.shutdown()));
  }
}

function manage(
  tracerProvider: ManagedProvider,
  isGlobal: boolean,
  outlet: Outlet,
  destinations: Destinations,
  options: ResolvedStartOptions,
  deadline: ExitDeadline,
  enrichmentOptions: ObservatorySpanProcessorOptions,
): RunningObservatory {
  const { metrics, enrichment, postgres } = destinations;
  let { otlp } = destinations;
  let exitHandlers: ExitHandlers | undefined;
  const forceFlush = async () => {
    // It records metrics too.
    await enrichment?.settle();
    await both(tracerProvider.forceFlush(), metrics?.provider.forceFlush());
  };
  const flushWithin = async (limitMs: number) => {
    await enrichment?.settle();
    const spans = both(postgres?.forceFlush(limitMs), otlp?.processor.forceFlush(limitMs));
    await both(spans, metrics?.flush(limitMs));
  };
  /** Ends running work, then the exports. */
  const stop = async (limitMs: number) => {
    const until = performance.now() + limitMs;
    // Half of the time is reserved for the spans of runs that did not end.
    await drainShadows(limitMs / 2);
    openCalls.abandonAll();
    await enrichment?.settle();
    const restMs = Math.max(0, until - performance.now());
    const stopSpans = async () => {
      await both(postgres?.shutdown(restMs), otlp?.processor.shutdown(restMs));
      await tracerProvider.shutdown();
    };
    await both(stopSpans(), metrics?.stop(restMs));
  };
  let stopped: Promise<void> | undefined;
  const shutdown = (limitMs: number) => {
    exitHandlers?.removeWaiting();
    stopped ??= stop(limitMs).finally(() => exitHandlers?.removeLast());
    return stopped;
  };
  const handOverTo = async (theirs: OtherProcessors, sends: boolean) => {
    outlet.redirect((span) => theirs.take(span));
    const sender = otlp?.processor;
    for (const span of sender?.handOver() ?? []) theirs.take(span);
    await enrichment?.settle();
    if (sends) return;
    // Our provider exports the spans that are still open, until the process ends, without delaying that.
    await sender?.settle();
    otlp = undefined;
    if (postgres === undefined && metrics === undefined) {
      exitHandlers?.removeWaiting();
      exitHandlers?.removeLast();
    }
    await sender?.shutdown();
  };
  const giveWayTo = (provider: TracerProvider) => {
    try {
      const sends = otlp !== undefined && sendsElsewhere(provider, options.endpoint);
      const stores = [postgres, sends ? otlp?.processor : undefined].filter((one) => one !== undefined);
      const joined = joinSdk(provider, stores, deadline, enrichmentOptions);
      const { tracerProvider: from, processors } = joined;
      return {
        tracerProvider: from,
        done: processors === undefined ? Promise.resolve() : handOverTo(processors, sends),
      };
    } catch (error) {
      return { tracerProvider: provider, done: Promise.reject(error as Error) };
    }
  };
  const observatory: RunningObservatory = {
    tracerProvider,
    meterProvider: metrics?.provider,
    isGlobal,
    forceFlush,
    shutdown: () => shutdown(SHUTDOWN_MS).catch(unlessLost),
    giveWayTo,
    stopMetrics: async () => metrics?.stop(SHUTDOWN_MS),
    [Symbol.asyncDispose]: () => observatory.shutdown(),
  };
  if (options.flushOnExit) {
    const now = (deadlineMs: number) =>
      exportNow({ postgres, otlp, metrics, enrichment }, options, deadlineMs);
    exitHandlers = flushOnExit({ forceFlush: flushWithin, shutdown, exportNow: now }, deadline);
  }
  return observatory;
}

/** Losses were logged when they were counted. */
function unlessLost(error: unknown): void {
  if (!(error instanceof ObservatoryError && error.code === 'SPANS_NOT_SAFE')) throw error;
}

/** Waits for both, even if one fails; an error of the first takes precedence. */
async function both(first: Promise<void> | undefined, second: Promise<void> | undefined): Promise<void> {
  const results = await Promise.allSettled([first, second]);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
