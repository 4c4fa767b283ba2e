import type { MeterProvider } from '@opentelemetry/api';
import { type Constructor, load, locate, ObservatoryError, periodicReader } from '../base/index.ts';

const PACKAGES = ['@opentelemetry/sdk-metrics', '@opentelemetry/exporter-metrics-otlp-http'] as const;

/** A periodic metrics export. */
export interface OwnMetrics {
  readonly meterProvider: MeterProvider;
  /** Flushes and stops. Never rejects. */
  close(): Promise<void>;
}

/**
 * Exports metrics over OTLP/HTTP with the OpenTelemetry SDK, at its interval (`OTEL_METRIC_EXPORT_INTERVAL`).
 * @throws ObservatoryError `MISSING_PEER` when the SDK's packages are not installed.
 */
export async function openMetrics(url: string): Promise<OwnMetrics> {
  const [sdkFile, exporterFile] = PACKAGES.map((name) => locate(name));
  if (sdkFile === undefined || exporterFile === undefined) {
    throw new ObservatoryError(
      'MISSING_PEER',
      `Metrics of the collector need packages that are not installed: npm install ${PACKAGES.join(' ')}`,
    );
  }
  const sdk = await load(sdkFile);
  const { OTLPMetricExporter } = await load(exporterFile);
  const Exporter = OTLPMetricExporter as unknown as Constructor<[object], object>;
  const Provider = sdk.MeterProvider as unknown as Constructor<
    [object],
    MeterProvider & { shutdown(): Promise<void> }
  >;
  const reader = periodicReader(sdk, new Exporter({ url }), process.env);
  const meterProvider = new Provider({ readers: [reader] });
  return { meterProvider, close: () => meterProvider.shutdown().catch(() => {}) };
}
