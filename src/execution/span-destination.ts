import { type Tracer, type TracerProvider, trace } from '@opentelemetry/api';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import {
  ensureContextManager,
  loadSdkNow,
  type ManagedProvider,
  ObservatoryError,
  runningProvider,
  useStderrDiag,
  VERSION,
  warnVisibly,
} from '../base/index.ts';
import { DurableSpanProcessor } from '../durable/index.ts';

interface SpanDestination {
  tracer(): Tracer;
  forceFlush(): Promise<void>;
  shutdown(): Promise<void>;
}

/** Exports at once to an exporter of others; that of OTLP refuses more than 30. */
const MAX_HANDED_OVER = 24;

/**
 * The given tracer provider, a new one that exports to the given exporter, or the registered one.
 * @throws ObservatoryError `INVALID_OPTION` for an unusable exporter or both; `MISSING_PEER` without an SDK to export.
 */
export function openSpans(
  serviceName: string,
  given: TracerProvider | undefined,
  exporter: SpanExporter | undefined,
): SpanDestination {
  if (exporter === undefined) return given === undefined ? registered() : providedBy(given);
  if (given !== undefined) {
    throw new ObservatoryError('INVALID_OPTION', "Give either 'exporter' or 'tracerProvider', not both");
  }
  // Exported at once: an exporter of others does not wait for what waits here, where a program closes it itself.
  const maxConcurrentExports = 'beforeShutdown' in exporter ? undefined : MAX_HANDED_OVER;
  const processor = new DurableSpanProcessor({ exporter, scheduledDelayMs: 0, maxConcurrentExports });
  const sdk = loadSdkNow();
  // This is the program's whole set-up of OpenTelemetry, so it does what `startObservatory` would.
  ensureContextManager();
  useStderrDiag(process.env.OTEL_LOG_LEVEL);
  const provider = sdk.createProvider(sdk.createResource(serviceName), [processor]);
  let stopped: Promise<void> | undefined;
  const stop = async () => {
    await processor.shutdown();
    await provider.shutdown();
  };
  return {
    tracer: () => readTracer(provider),
    forceFlush: () => processor.forceFlush(),
    shutdown: () => {
      stopped ??= stop();
      return stopped;
    },
  };
}

function providedBy(provider: TracerProvider): SpanDestination {
  return { tracer: () => readTracer(provider), forceFlush: () => flush(provider), shutdown: async () => {} };
}

/** Looked up per call: the application may register its provider later. */
function registered(): SpanDestination {
  return {
    tracer: () => {
      const provider = runningProvider();
      if (provider === undefined) warnOnce();
      return readTracer(provider ?? trace);
    },
    forceFlush: () => flush(runningProvider()),
    shutdown: async () => {},
  };
}

let hasWarned = false;

function warnOnce(): void {
  if (hasWarned || process.env.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true') return;
  hasWarned = true;
  warnVisibly(
    'mcp-observatory: calls are recorded, but no OpenTelemetry SDK is registered, so their spans go nowhere. Call ' +
      'startObservatory() first, or give instrument() an exporter',
  );
}

function readTracer(provider: Pick<TracerProvider, 'getTracer'>): Tracer {
  return provider.getTracer('mcp-observatory', VERSION);
}

/** The API has no method for it; the providers of SDKs do. */
async function flush(provider: TracerProvider | undefined): Promise<void> {
  await (provider as Partial<ManagedProvider> | undefined)?.forceFlush?.();
}
