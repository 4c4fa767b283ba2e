import { diag, type MeterProvider, metrics } from '@opentelemetry/api';
import { type Constructor, errorMessage, load, loadSdk, locate, periodicReader } from '../base/index.ts';
import { createOtlpMetricExporter, locateExporter, type OtlpRequest, postOtlp } from '../durable/index.ts';
import { isObject, type JsonObject } from '../json/index.ts';
import type { ResolvedStartOptions } from './options.ts';

/** A meter provider with the life-cycle methods of the SDK. */
export interface ManagedMeterProvider extends MeterProvider {
  forceFlush(): Promise<void>;
  shutdown(): Promise<void>;
}

/** The meter provider, and how to shut it down within a time. */
export interface RunningMetrics {
  readonly provider: ManagedMeterProvider;
  /** Sends what was recorded once, in `limitMs` at most, whereas a flush of the provider takes the timeout of an export. */
  flush(limitMs: number): Promise<void>;
  /** Exports the recorded metrics and shuts down; the export ends after `limitMs`. Idempotent. */
  stop(limitMs: number): Promise<void>;
  /** Metrics that `stop` did not export, as a request for another process to send. */
  requestNow(): OtlpRequest | undefined;
}

const INSTALL =
  'npm install @opentelemetry/sdk-metrics@^2.12.0 @opentelemetry/exporter-metrics-otlp-http@^0.223.0';

/**
 * Sets up the export of metrics over OTLP/HTTP, as the global meter provider. Optional: if the application has a
 * provider, or packages are missing, nothing is set up and `diag` says so.
 *
 * @param resource The resource of the spans, used for the metrics too.
 * @param isAskedFor Whether metrics were requested explicitly, not only OTLP. Missing packages then cause a warning.
 */
export async function startMetrics(
  resource: unknown,
  isAskedFor: boolean,
  env: Readonly<Record<string, string | undefined>>,
): Promise<RunningMetrics | undefined> {
  if (metrics.getMeterProvider().constructor.name !== 'NoopMeterProvider') return undefined;
  const protocol = env.OTEL_EXPORTER_OTLP_METRICS_PROTOCOL || env.OTEL_EXPORTER_OTLP_PROTOCOL;
  const exporterFile = locateExporter('metrics', protocol);
  const sdkFile = locate('@opentelemetry/sdk-metrics', exporterFile);
  if (exporterFile === undefined || sdkFile === undefined) {
    const message = `mcp-observatory: metrics are not exported; that needs ${INSTALL}`;
    if (isAskedFor) diag.warn(message);
    else diag.info(message);
    return undefined;
  }
  const [sdk, exporter] = await Promise.all([load(sdkFile), createOtlpMetricExporter(exporterFile, env)]);
  const Provider = sdk.MeterProvider as unknown as Constructor<[object], ManagedMeterProvider>;
  const reader = periodicReader(sdk, exporter, env);
  const provider = new Provider({ resource, readers: [reader] });
  metrics.setGlobalMeterProvider(provider);
  let stopped: Promise<void> | undefined;
  let isDone = false;
  const stop = (limitMs: number): Promise<void> => {
    const late = setTimeout(() => void exporter.shutdown().catch(() => {}), limitMs);
    stopped ??= provider.shutdown().finally(() => {
      isDone = true;
    });
    return stopped.finally(() => clearTimeout(late));
  };
  const requestNow = (): OtlpRequest | undefined => {
    const collected = isDone ? undefined : collectNow(reader);
    return collected === undefined ? undefined : exporter.requestOf?.(collected);
  };
  const flush = async (limitMs: number): Promise<void> => {
    const request = requestNow();
    if (request !== undefined) await postOtlp({ ...request.target, timeoutMs: limitMs }, request.body);
  };
  return { provider, flush, stop, requestNow };
}

/** As {@link startMetrics}, beside an application's SDK. Never rejects. */
export async function startMetricsBeside(
  resolved: ResolvedStartOptions,
): Promise<RunningMetrics | undefined> {
  if (resolved.metrics === undefined) return undefined;
  try {
    const resource = (await loadSdk()).createResource(resolved.serviceName);
    return await startMetrics(resource, resolved.metrics === 'asked', process.env);
  } catch (error) {
    diag.error(`mcp-observatory: could not export metrics: ${errorMessage(error)}`);
    return undefined;
  }
}

/** What has been recorded since the start, or since the last export where the back end wants differences. */
interface CollectedMetrics {
  readonly resource: unknown;
  readonly scopeMetrics: readonly { readonly scope: unknown; readonly metrics: readonly unknown[] }[];
}

/**
 * Collects what a metric reader would export now, without observable instruments, whose callbacks may be asynchronous:
 * as the process exits, the SDK's own `collect()` gives nothing any more. Both SDK lines keep the same state; where it is
 * not found, metrics of the last interval are lost.
 * @returns undefined if there is nothing, or the reader has another form.
 */
function collectNow(reader: unknown): CollectedMetrics | undefined {
  const collector = at(reader, '_sdkMetricProducer');
  const state = at(collector, '_sharedState');
  const meters = at(state, 'meterSharedStates');
  if (!(meters instanceof Map)) return undefined;
  const now = Date.now();
  const time = [Math.floor(now / 1000), (now % 1000) * 1_000_000];
  const scopeMetrics = [...meters.values()].flatMap((meter: unknown) => {
    const metrics = readStorages(meter, collector)
      .map((storage) => storage.collect(collector, time))
      .filter(
        (metric) => isObject(metric) && Array.isArray(metric.dataPoints) && metric.dataPoints.length > 0,
      );
    return metrics.length === 0 ? [] : [{ scope: at(meter, '_instrumentationScope'), metrics }];
  });
  return scopeMetrics.length === 0 ? undefined : { resource: at(state, 'resource'), scopeMetrics };
}

interface Storage {
  collect(collector: unknown, time: readonly number[]): unknown;
}

function readStorages(meter: unknown, collector: unknown): readonly Storage[] {
  const registry = at(meter, 'metricStorageRegistry') as { getStorages?(of: unknown): unknown } | undefined;
  const storages = registry?.getStorages?.(collector);
  return Array.isArray(storages) ? storages.filter((each) => typeof each?.collect === 'function') : [];
}

function at(value: unknown, key: string): unknown {
  return isObject(value) ? (value as JsonObject)[key] : undefined;
}
