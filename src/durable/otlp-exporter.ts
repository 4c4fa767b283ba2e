import { diag } from '@opentelemetry/api';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import { type Constructor, INSTALL_SDK, load, locate, ObservatoryError } from '../base/index.ts';

/** Where and how spans go out over OTLP/HTTP. */
export interface OtlpOptions {
  /**
   * Full URL of the traces endpoint, e.g. `http://localhost:4318/v1/traces`.
   * @defaultValue what the exporter makes of `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` or `OTEL_EXPORTER_OTLP_ENDPOINT`
   */
  readonly url?: string | undefined;
  /** Headers sent with each request, e.g. an API key of the back end. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

type Env = Readonly<Record<string, string | undefined>>;

/** The signals that are sent, in the words of the exporters' package names. */
type Signal = 'trace' | 'metrics';

/** Ends of the names of the packages that send OTLP over HTTP, by the protocol's name in `OTEL_EXPORTER_OTLP_PROTOCOL`. */
const ENDINGS: ReadonlyMap<string, string> = new Map([
  ['http/json', 'http'],
  ['http/protobuf', 'proto'],
]);

/**
 * Makes an OTLP/HTTP exporter of spans for the protocol the environment names.
 * @throws ObservatoryError `MISSING_PEER` when no exporter package is installed.
 */
export async function createOtlpExporter(options: OtlpOptions, env: Env): Promise<SpanExporter> {
  const asked = env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL || env.OTEL_EXPORTER_OTLP_PROTOCOL;
  const file = locateExporter('trace', asked);
  if (file === undefined) {
    throw new ObservatoryError(
      'MISSING_PEER',
      `OTLP export needs a package that is not installed: ${INSTALL_SDK}`,
    );
  }
  const module = await load(file);
  const Exporter = module.OTLPTraceExporter as unknown as Constructor<[OtlpOptions], SpanExporter>;
  return new Exporter({
    ...(options.url === undefined ? {} : { url: options.url }),
    ...(options.headers === undefined ? {} : { headers: { ...options.headers } }),
  });
}

/**
 * The file of the exporter for a protocol. One that is not there is told through `diag`, and whichever exporter is
 * installed takes its place: every OTLP/HTTP receiver reads both.
 */
export function locateExporter(signal: Signal, protocol: string | undefined): string | undefined {
  const located = (name: string): string | undefined => {
    const ending = ENDINGS.get(name.trim().toLowerCase());
    return ending === undefined ? undefined : locate(`@opentelemetry/exporter-${signal}-otlp-${ending}`);
  };
  const preferred = protocol === undefined ? undefined : located(protocol);
  if (preferred !== undefined) return preferred;
  for (const instead of ENDINGS.keys()) {
    const file = located(instead);
    if (file === undefined) continue;
    if (protocol) {
      diag.warn(
        `mcp-observatory: no ${signal} exporter for the OTLP protocol '${protocol}' is installed; using ${instead}`,
      );
    }
    return file;
  }
  return undefined;
}
