import type { ServerHttp2Stream } from 'node:http2';
import { constants } from 'node:http2';
import { ENCODINGS } from './body.ts';
import { encodeStatus } from './messages.ts';
import { ANSWERS, type Rejection } from './rejection.ts';

/** One byte for compression, four for the length. */
export const PREFIX_BYTES = 5;

/** A length-prefixed gRPC message. */
export interface GrpcMessage {
  readonly isPacked: boolean;
  readonly bytes: Buffer;
}

/** The length of a body, from its first bytes; undefined if there are too few. */
export function lengthIn(head: Buffer): number | undefined {
  return head.length < PREFIX_BYTES ? undefined : PREFIX_BYTES + head.readUInt32BE(1);
}

/** The single message in the body of a unary call; `undefined` if malformed. */
export function messageIn(body: Buffer): GrpcMessage | undefined {
  if (lengthIn(body) !== body.length) return undefined;
  const flag = body[0];
  if (flag !== 0 && flag !== 1) return undefined;
  return { isPacked: flag === 1, bytes: body.subarray(PREFIX_BYTES) };
}

const HEADERS = {
  ':status': 200,
  'content-type': 'application/grpc+proto',
  'grpc-accept-encoding': ['identity', ...ENCODINGS].join(),
} as const;

/** Answers a call with its message. */
export function sendMessage(stream: ServerHttp2Stream, bytes: Buffer): void {
  if (stream.destroyed || stream.closed) return;
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(bytes.length, 1);
  stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.respond(HEADERS, { waitForTrailers: true });
  stream.end(Buffer.concat([prefix, bytes]));
}

/** Answers a call with an error status and resets the stream, so that the rest of the request is not sent. */
export function sendRejection(stream: ServerHttp2Stream, { reason, message, retryAfter }: Rejection): void {
  if (stream.destroyed || stream.closed) return;
  const { grpc } = ANSWERS[reason];
  const details = encodeStatus(grpc, message, 'protobuf', retryAfter);
  stream.respond(
    {
      ...HEADERS,
      'grpc-status': String(grpc),
      'grpc-message': encodeURIComponent(message),
      'grpc-status-details-bin': details.toString('base64'),
    },
    { endStream: true },
  );
  if (!stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR);
}

/** Answers a request that is not gRPC, as the gRPC over HTTP/2 specification requires. */
export function sendNotGrpc(stream: ServerHttp2Stream): void {
  if (stream.destroyed || stream.closed) return;
  stream.respond({ ':status': 415 }, { endStream: true });
  if (!stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR);
}
