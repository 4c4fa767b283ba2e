import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from 'node:http2';
import { decodeMessage } from './otlp-encode.ts';

export const TRACE_EXPORT = '/opentelemetry.proto.collector.trace.v1.TraceService/Export';

/** How a call was answered. */
export interface GrpcAnswer {
  readonly httpStatus: number;
  readonly code: number;
  readonly message: string;
  /** Seconds of a `RetryInfo`, when there was one. */
  readonly retryAfter: number | undefined;
  readonly body: Buffer;
}

interface CallOptions {
  readonly packed?: boolean;
  readonly encoding?: string;
  readonly path?: string;
  readonly type?: string;
  readonly authorization?: string;
}

/** Calls gRPC by its bytes, so that wrong ones can be sent too. */
export class GrpcCaller {
  readonly #session: ClientHttp2Session;

  /** @param tls an authority and a certificate, for a server with TLS. */
  constructor(address: string, tls?: { readonly ca: Buffer; readonly cert: Buffer; readonly key: Buffer }) {
    const scheme = tls === undefined ? 'http' : 'https';
    this.#session = connect(`${scheme}://${address}`, { maxSessionMemory: 200, ...tls });
    this.#session.on('error', () => {});
  }

  /** Sends one message. */
  call(message: Buffer, options: CallOptions = {}): Promise<GrpcAnswer> {
    const prefix = Buffer.alloc(5);
    prefix[0] = options.packed ? 1 : 0;
    prefix.writeUInt32BE(message.length, 1);
    return this.callRaw(Buffer.concat([prefix, message]), options);
  }

  /** Sends any bytes. */
  callRaw(bytes: Buffer, options: CallOptions = {}): Promise<GrpcAnswer> {
    const encoding = options.encoding ?? (options.packed ? 'gzip' : undefined);
    const { authorization } = options;
    return new Promise((resolve, reject) => {
      const stream = this.#session.request({
        ':method': 'POST',
        ':path': options.path ?? TRACE_EXPORT,
        'content-type': options.type ?? 'application/grpc',
        te: 'trailers',
        ...(encoding === undefined ? {} : { 'grpc-encoding': encoding }),
        ...(authorization === undefined ? {} : { authorization }),
      });
      let headers: IncomingHttpHeaders & { ':status'?: number | undefined } = {};
      const chunks: Buffer[] = [];
      stream.on('response', (all) => {
        headers = { ...headers, ...all };
      });
      stream.on('trailers', (all) => {
        headers = { ...headers, ...all };
      });
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('error', reject);
      stream.on('end', () => {
        if (headers[':status'] === undefined) reject(new Error('the connection ended without an answer'));
        resolve(answerOf(headers, Buffer.concat(chunks)));
        // The answer may have come before all was sent.
        stream.close();
      });
      stream.end(bytes);
    });
  }

  close(): void {
    this.#session.close();
  }
}

function answerOf(
  headers: IncomingHttpHeaders & { ':status'?: number | undefined },
  body: Buffer,
): GrpcAnswer {
  const details = headers['grpc-status-details-bin'];
  return {
    httpStatus: headers[':status'] ?? 0,
    code: Number(headers['grpc-status'] ?? Number.NaN),
    message: decodeURIComponent(String(headers['grpc-message'] ?? '')),
    retryAfter: typeof details === 'string' ? retryAfterIn(Buffer.from(details, 'base64')) : undefined,
    body: body.subarray(5),
  };
}

function retryAfterIn(status: Buffer): number | undefined {
  const { details } = decodeMessage('RpcStatus', status) as { details?: readonly { value: Uint8Array }[] };
  if (details?.[0] === undefined) return undefined;
  const { retryDelay } = decodeMessage('RetryInfo', details[0].value) as { retryDelay: { seconds: number } };
  return retryDelay.seconds;
}
