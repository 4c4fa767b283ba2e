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
 * Creates an OTLP/HTTP span exporter for the protocol in the environment, or that of gRPC where a port of its own is named and
 * it is installed: nobody can tell the receiver's port for HTTP then. It does not retry, which its caller does.
 * @throws ObservatoryError `MISSING_PEER` when no exporter package is installed.
 */
export async function createOtlpExporter(options: OtlpOptions, env: Env): Promise<OtlpSpanExporter> {
  const asked = env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL || env.OTEL_EXPORTER_OTLP_PROTOCOL;
  const { isOfGrpc, url: named } = readEndpoint('trace', env);
  const isElsewhere = isOfGrpc && !COMMON_PORTS.includes(named?.port ?? '') && options.url === undefined;
  const ofGrpc = isElsewhere ? locate('@opentelemetry/exporter-trace-otlp-grpc') : undefined;
  if (ofGrpc !== undefined) {
    const { OTLPTraceExporter } = await load(ofGrpc);
    return new (OTLPTraceExporter as unknown as Constructor<[object], SpanExporter>)({ url: named?.href });
  }
  const file = locateExporter('trace', asked);
  if (file === undefined) {
    throw new ObservatoryError(
      'MISSING_PEER',
      `OTLP export needs a package that is not installed: ${INSTALL_SDK}`,
    );
  }
  const url = options.url ?? httpEndpoint('trace', env);
  const config = {
    ...(url === undefined ? {} : { url }),
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
export async function createOtlpMetricExporter(file: string, env: Env): Promise<OtlpMetricExporter> {
  const { OTLPMetricExporter } = await load(file);
  const url = httpEndpoint('metrics', env);
  const config = url === undefined ? {} : { url };
  // The instance knows which aggregation and temporality the environment asks for.
  const exporter = new (OTLPMetricExporter as unknown as Constructor<[object], OtlpMetricExporter>)(config);
  const sender = await senderFor<unknown>('metrics', file, config, true);
  if (sender === undefined) return exporter;
  return Object.assign(exporter, {
    export: sender.export.bind(sender),
    forceFlush: () => sender.forceFlush(),
    shutdown: () => sender.shutdown(),
    requestOf: sender.requestOf.bind(sender),
  });
}

const GRPC_PORT = '4317';
const HTTP_PORT = '4318';
/** Ports by which the one for HTTP is known: that of TLS takes either. */
const COMMON_PORTS: readonly string[] = ['', GRPC_PORT, HTTP_PORT];

/**
 * The endpoint to send to over HTTP where the environment asks for gRPC and names its port: the port for HTTP of the same
 * receiver. gRPC is not sent, because what is left at the end of a process could not be. `diag` says so.
 * @returns undefined where the exporter's own reading of the environment holds.
 */
function httpEndpoint(signal: Signal, env: Env): string | undefined {
  const { isOfGrpc, url } = readEndpoint(signal, env);
  if (!isOfGrpc) return undefined;
  const what = signal === 'trace' ? 'spans' : 'metrics';
  const isMoved = url?.port === GRPC_PORT;
  if (isMoved) {
    url.port = HTTP_PORT;
    url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/${signal === 'trace' ? 'traces' : signal}`;
  }
  diag.warn(
    `mcp-observatory: ${what} are sent over HTTP, not gRPC${isMoved ? `, to ${url.origin}${url.pathname}` : ''}; set ` +
      'OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf and OTEL_EXPORTER_OTLP_ENDPOINT to the HTTP port of the receiver',
  );
  return isMoved ? url.href : undefined;
}

/** The endpoint in the environment, which needs no scheme for gRPC, and whether it is to be that of gRPC. */
function readEndpoint(signal: Signal, env: Env) {
  const name = signal === 'trace' ? 'TRACES' : 'METRICS';
  const protocol = env[`OTEL_EXPORTER_OTLP_${name}_PROTOCOL`] || env.OTEL_EXPORTER_OTLP_PROTOCOL;
  const endpoint = env[`OTEL_EXPORTER_OTLP_${name}_ENDPOINT`] || env.OTEL_EXPORTER_OTLP_ENDPOINT || '';
  const address = endpoint.includes('://') ? endpoint : `http://${endpoint}`;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  return { isOfGrpc: protocol !== undefined && isGrpc(protocol), url };
}

function isGrpc(protocol: string): boolean {
  return protocol.trim().toLowerCase() === 'grpc';
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
    if (protocol && !isGrpc(protocol)) {
      diag.warn(
        `mcp-observatory: no ${signal} exporter for the OTLP protocol '${protocol}' is installed; using ${instead}`,
      );
    }
    return file;
  }
  return undefined;
}
