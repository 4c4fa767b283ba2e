import { diag } from '@opentelemetry/api';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import { type Constructor, INSTALL_SDK, load, locate, ObservatoryError } from '../base/index.ts';

/** Options of the OTLP/HTTP exporter. */
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

/** Signals, as in the exporters' package names. */
type Signal = 'trace' | 'metrics';

/** Package name suffixes of the OTLP/HTTP exporters, by the value of `OTEL_EXPORTER_OTLP_PROTOCOL`. */
const ENDINGS: ReadonlyMap<string, string> = new Map([
  ['http/json', 'http'],
  ['http/protobuf', 'proto'],
]);

/**
 * Creates an OTLP/HTTP span exporter for the protocol in the environment.
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
 * The file of the exporter for a protocol. If it is not installed, `diag` warns and an installed one is used instead:
 * every OTLP/HTTP receiver reads both.
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
