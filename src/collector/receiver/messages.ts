/** Encoding of a request and its answer. */
export type OtlpEncoding = 'protobuf' | 'json';

/** Result of an accepted request. */
export interface Acceptance {
  /** Spans rejected for good. */
  readonly rejected: number;
  /** The reason; empty when all were accepted. */
  readonly message: string;
}

/** An `ExportTraceServiceResponse`. `partial_success` must be empty when all spans were accepted. */
export function encodeResponse({ rejected, message: text }: Acceptance, encoding: OtlpEncoding): Buffer {
  if (encoding === 'json') {
    const partial = { rejectedSpans: String(rejected), errorMessage: text };
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
