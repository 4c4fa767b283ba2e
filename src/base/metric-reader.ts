import { diag } from '@opentelemetry/api';
import type { Constructor, Loaded } from './locate.ts';

const DEFAULT_INTERVAL_MS = 60_000;
/** The reader's own default. It refuses a timeout above the interval. */
const MAX_TIMEOUT_MS = 30_000;

/** A reader of the SDK that exports at its interval, which the reader of SDK 2 does not find in the environment. */
export function periodicReader(
  sdk: Loaded,
  exporter: object,
  env: Readonly<Record<string, string | undefined>>,
): unknown {
  const Reader = sdk.PeriodicExportingMetricReader as unknown as Constructor<[object], unknown>;
  const exportIntervalMillis = intervalIn(env);
  const exportTimeoutMillis = Math.min(exportIntervalMillis, MAX_TIMEOUT_MS);
  return new Reader({ exporter, exportIntervalMillis, exportTimeoutMillis });
}

/** `OTEL_METRIC_EXPORT_INTERVAL` in milliseconds, a minute by default. */
function intervalIn(env: Readonly<Record<string, string | undefined>>): number {
  const text = env.OTEL_METRIC_EXPORT_INTERVAL?.trim() ?? '';
  if (text === '') return DEFAULT_INTERVAL_MS;
  const milliseconds = Number(text);
  if (Number.isSafeInteger(milliseconds) && milliseconds > 0) return milliseconds;
  diag.warn(`mcp-observatory: OTEL_METRIC_EXPORT_INTERVAL=${text} is no number of milliseconds; using 60000`);
  return DEFAULT_INTERVAL_MS;
}
