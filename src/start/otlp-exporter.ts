import { diag } from '@opentelemetry/api';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import { ObservatoryError } from '../errors.ts';
import { type Constructor, load, locate } from './locate.ts';
import type { OtlpOptions } from './options.ts';
import { INSTALL_SDK } from './sdk.ts';

/** Packages that send OTLP over HTTP, by the protocol's name in `OTEL_EXPORTER_OTLP_PROTOCOL`. */
const PACKAGES: ReadonlyMap<string, string> = new Map([
  ['http/json', '@opentelemetry/exporter-trace-otlp-http'],
  ['http/protobuf', '@opentelemetry/exporter-trace-otlp-proto'],
]);

/**
 * Makes an OTLP/HTTP exporter for the protocol the environment names. One that is not available is told through
 * `diag`, and whichever exporter is installed takes its place: every OTLP/HTTP receiver reads both.
 *
 * @throws ObservatoryError `MISSING_PEER` when neither exporter package is installed.
 */
export async function createOtlpExporter(
  options: OtlpOptions,
  env: Readonly<Record<string, string | undefined>>,
): Promise<SpanExporter> {
  const asked = env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL || env.OTEL_EXPORTER_OTLP_PROTOCOL;
  const preferred = asked === undefined ? undefined : locateExporter(asked);
  const file = preferred ?? [...PACKAGES.keys()].map(locateExporter).find((found) => found !== undefined);
  if (file === undefined) {
    throw new ObservatoryError(
      'MISSING_PEER',
      `OTLP export needs a package that is not installed: ${INSTALL_SDK}`,
    );
  }
  if (asked && preferred === undefined) {
    const instead = file.includes('otlp-proto') ? 'http/protobuf' : 'http/json';
    diag.warn(`mcp-observatory: no exporter for the OTLP protocol '${asked}' is installed; using ${instead}`);
  }
  const module = await load(file);
  const Exporter = module.OTLPTraceExporter as unknown as Constructor<[OtlpOptions], SpanExporter>;
  return new Exporter({
    ...(options.url === undefined ? {} : { url: options.url }),
    ...(options.headers === undefined ? {} : { headers: { ...options.headers } }),
  });
}

function locateExporter(protocol: string): string | undefined {
  const name = PACKAGES.get(protocol.trim().toLowerCase());
  return name === undefined ? undefined : locate(name);
}
