/** Encoding of a request and its answer. */
export type OtlpEncoding = 'protobuf' | 'json';

/** The signals of requests. Metrics are accepted and not stored. */
export type OtlpSignal = 'traces' | 'logs' | 'metrics';

/** Where each signal is sent: over HTTP, and over gRPC. */
export const SIGNAL_PATHS: Readonly<Record<OtlpSignal, { readonly http: string; readonly grpc: string }>> = {
  traces: { http: '/v1/traces', grpc: grpcPath('trace', 'Trace') },
  logs: { http: '/v1/logs', grpc: grpcPath('logs', 'Logs') },
  metrics: { http: '/v1/metrics', grpc: grpcPath('metrics', 'Metrics') },
};

function grpcPath(folder: string, service: string): string {
  return `/opentelemetry.proto.collector.${folder}.v1.${service}Service/Export`;
}

const SIGNALS = Object.keys(SIGNAL_PATHS) as readonly OtlpSignal[];

/** The signal of a path; undefined for other paths. */
export function signalAt(transport: 'http' | 'grpc', path: string | undefined): OtlpSignal | undefined {
  return SIGNALS.find((signal) => SIGNAL_PATHS[signal][transport] === path);
}

/** Names of the count of what was not stored, in OTLP/JSON. */
const REJECTED: Readonly<Record<OtlpSignal, string>> = {
  traces: 'rejectedSpans',
  logs: 'rejectedLogRecords',
  metrics: 'rejectedDataPoints',
};

/** Result of an accepted request. */
export interface Acceptance {
  /** Spans or log records rejected for good. */
  readonly rejected: number;
  /** The reason; empty when all were accepted. */
  readonly message: string;
}

/** The response of a signal's `Export`. `partial_success` must be empty when all was accepted. */
export function encodeResponse(
  { rejected, message: text }: Acceptance,
  encoding: OtlpEncoding,
  signal: OtlpSignal,
): Buffer {
  if (encoding === 'json') {
    const partial = { [REJECTED[signal]]: String(rejected), errorMessage: text };
    return Buffer.from(JSON.stringify(rejected === 0 ? {} : { partialSuccess: partial }));
  }
  if (rejected === 0) return Buffer.alloc(0);
  return message(bytesField(1, message(varintField(1, rejected), bytesField(2, text))));
}

/** A `google.rpc.Status`, with `RetryInfo` when there is a time to wait. */
export function encodeStatus(
  code: number,
  text: string,
  encoding: OtlpEncoding,
  retryAfter?: number,
): Buffer {
  if (encoding === 'json') return Buffer.from(JSON.stringify({ code, message: text }));
  const status = [varintField(1, code), bytesField(2, text)];
  return message(...status, ...(retryAfter === undefined ? [] : [bytesField(3, retryInfo(retryAfter))]));
}

/** A `google.rpc.RetryInfo` in a `google.protobuf.Any`: without it, gRPC senders do not retry as asked. */
function retryInfo(seconds: number): Buffer {
  const info = bytesField(1, message(varintField(1, seconds)));
  return message(bytesField(1, 'type.googleapis.com/google.rpc.RetryInfo'), bytesField(2, info));
}

/** Encodes a small protobuf message. */
function message(...fields: readonly Uint8Array[]): Buffer {
  return Buffer.concat(fields);
}

function varintField(field: number, value: number): Uint8Array {
  return Uint8Array.from([...varint(field * 8), ...varint(value)]);
}

function bytesField(field: number, value: string | Uint8Array): Uint8Array {
  const bytes = Buffer.from(value);
  return Buffer.concat([Uint8Array.from([...varint(field * 8 + 2), ...varint(bytes.length)]), bytes]);
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 0x80);
  bytes.push(rest);
  return bytes;
}
