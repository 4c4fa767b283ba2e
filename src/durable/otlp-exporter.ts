import { diag } from '@opentelemetry/api';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import { type Constructor, INSTALL_SDK, load, locate, ObservatoryError } from '../base/index.ts';
import { type OtlpRequest, type OtlpSender, type Signal, senderFor } from './otlp-sender.ts';

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

/** Package name suffixes of the OTLP/HTTP exporters, by the value of `OTEL_EXPORTER_OTLP_PROTOCOL`. */
const ENDINGS: ReadonlyMap<string, string> = new Map([
  ['http/json', 'http'],
  ['http/protobuf', 'proto'],
]);

/** An OTLP exporter of spans; `requestOf` is missing where it is the SDK's own. */
export interface OtlpSpanExporter extends SpanExporter {
  /** The request that would send these spans. */
  requestOf?(spans: ReadableSpan[]): OtlpRequest;
}

/**
 * Creates an OTLP/HTTP span exporter for the protocol in the environment. It does not retry, which its caller does.
 * @throws ObservatoryError `MISSING_PEER` when no exporter package is installed.
 */
export async function createOtlpExporter(options: OtlpOptions, env: Env): Promise<OtlpSpanExporter> {
  const asked = env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL || env.OTEL_EXPORTER_OTLP_PROTOCOL;
  const file = locateExporter('trace', asked);
  if (file === undefined) {
    throw new ObservatoryError(
      'MISSING_PEER',
      `OTLP export needs a package that is not installed: ${INSTALL_SDK}`,
    );
  }
  const config = {
    ...(options.url === undefined ? {} : { url: options.url }),
    ...(options.headers === undefined ? {} : { headers: { ...options.headers } }),
  };
  const sender = await senderFor<ReadableSpan[]>('trace', file, config, false);
  if (sender !== undefined) return sender;
  const { OTLPTraceExporter } = await load(file);
  return new (OTLPTraceExporter as unknown as Constructor<[object], SpanExporter>)(config);
}

/** An exporter for the metrics SDK. */
export interface OtlpMetricExporter {
  export: OtlpSender<unknown>['export'];
  forceFlush(): Promise<void>;
  /** Ends exports that are under way. */
  shutdown(): Promise<void>;
  /** The request that would send these metrics; missing where the exporter is the SDK's own. */
  requestOf?(metrics: unknown): OtlpRequest;
}

/** Creates the exporter of metrics in `file`, as found by `locateExporter`. It retries until its timeout. */
export async function createOtlpMetricExporter(file: string): Promise<OtlpMetricExporter> {
  const { OTLPMetricExporter } = await load(file);
  // The instance knows which aggregation and temporality the environment asks for.
  const exporter = new (OTLPMetricExporter as unknown as Constructor<[], OtlpMetricExporter>)();
  const sender = await senderFor<unknown>('metrics', file, {}, true);
  if (sender === undefined) return exporter;
  return Object.assign(exporter, {
    export: sender.export.bind(sender),
    forceFlush: () => sender.forceFlush(),
    shutdown: () => sender.shutdown(),
    requestOf: sender.requestOf.bind(sender),
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
