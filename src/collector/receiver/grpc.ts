import {
  constants,
  createSecureServer,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { connectionKey, PortConnections } from '../../base/index.ts';
import { findPacking, readBody, unpack } from './body.ts';
import { refuseForeignPages } from './foreign-page.ts';
import { answer, type Gateway, refuseWhileDraining, untilClosed } from './gateway.ts';
import { lengthIn, messageIn, PREFIX_BYTES, sendMessage, sendNotGrpc, sendRejection } from './grpc-stream.ts';
import type { RunningReceiver } from './http.ts';
import { type Address, listen } from './listen.ts';
import { encodeResponse, SIGNAL_PATHS, signalAt } from './messages.ts';
import { Rejection } from './rejection.ts';
import type { TlsFiles } from './tls.ts';

/** `application/grpc`, also with `+proto`; other codecs are not supported. */
const GRPC_TYPE = /^application\/grpc(?:\+proto)?(?:;|$)/;

/** Idle timeout of a call in milliseconds, so that it does not hold a slot forever. */
const SILENCE_MS = 60_000;

/** How long a connection may be without a call, in milliseconds: longer than senders wait between batches. */
const IDLE_MS = 300_000;

/** Maximum concurrent calls per connection, and its flow-control window in bytes. */
const SETTINGS = { maxConcurrentStreams: 128, initialWindowSize: 1024 * 1024 };

/**
 * Starts OTLP over gRPC. A unary call is one HTTP/2 stream with a length before the message and the status behind it,
 * for which Node's HTTP/2 suffices; the usual library would read a whole message before our limits apply.
 */
export async function startGrpc(
  address: Address,
  gateway: Gateway,
  tls: TlsFiles | undefined,
): Promise<RunningReceiver> {
  const server =
    tls === undefined
      ? createServer({ settings: SETTINGS })
      : createSecureServer({ settings: SETTINGS, allowHTTP1: false, ...tls });
  const sessions = new Map<string, ServerHttp2Session>();
  const connections = new PortConnections(server, {
    idleMs: IDLE_MS,
    giveUp: (key, socket) => {
      // Says goodbye, so that the sender knows that the next call needs a new connection.
      sessions.get(key)?.destroy();
      socket.destroySoon();
    },
  });
  server.on('session', (session) => {
    const key = connectionKey(session.socket);
    sessions.set(key, session);
    session.once('close', () => sessions.get(key) === session && sessions.delete(key));
    // Ignore connection errors; without a listener they would end the process.
    session.on('error', () => {});
  });
  server.on('sessionError', () => {});
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    stream.on('error', () => {});
    if (stream.session !== undefined) stream.once('close', connections.begin(stream.session.socket));
    stream.setTimeout(SILENCE_MS, () => stream.close(constants.NGHTTP2_CANCEL));
    const isGrpc = headers[':method'] === 'POST' && GRPC_TYPE.test(headers['content-type'] ?? '');
    answer(
      gateway,
      'grpc',
      async () => {
        // Browsers do not speak gRPC to a port without TLS, where a name would matter.
        if (!gateway.isClosed) refuseForeignPages({ origin: headers.origin, host: headers[':authority'] });
        if (!isGrpc) throw new Rejection('unsupported_type', 'Expected a gRPC request');
        sendMessage(stream, await take(gateway, stream, headers));
      },
      (rejection) => (isGrpc ? sendRejection(stream, rejection) : sendNotGrpc(stream)),
    ).catch(() => stream.destroy());
  });
  return {
    address: await listen(server, address),
    close: (withinMs) =>
      new Promise((resolve) => {
        const late = setTimeout(() => {
          for (const session of sessions.values()) session.destroy();
        }, withinMs);
        server.close(() => {
          clearTimeout(late);
          resolve();
        });
        // Sends GOAWAY and closes when the calls in progress have been answered.
        for (const session of sessions.values()) session.close();
      }),
  };
}

/** @returns the message of the answer. @throws Rejection */
async function take(
  gateway: Gateway,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
): Promise<Buffer> {
  const signal = signalAt('grpc', headers[':path']);
  if (signal === undefined) {
    const paths = Object.values(SIGNAL_PATHS).map(({ grpc }) => grpc);
    throw new Rejection('not_found', `Only ${paths.join(', ')} are served`);
  }
  gateway.bearer.check(headers.authorization);
  refuseWhileDraining(gateway);
  const packing = findPacking('grpc-encoding', headers['grpc-encoding'] as string | undefined);
  using ticket = gateway.admission.enter();
  const limits = { maxBytes: gateway.maxBodyBytes + PREFIX_BYTES, lengthIn };
  const message = messageIn(await readBody(stream, limits, ticket));
  if (message === undefined) throw new Rejection('malformed', 'Expected one whole gRPC message');
  if (message.isPacked && packing === undefined) {
    throw new Rejection('malformed', 'The message is packed, and grpc-encoding does not say how');
  }
  await ticket.turn(untilClosed(stream));
  const body =
    message.isPacked && packing !== undefined
      ? unpack(message.bytes, packing, gateway.maxBodyBytes)
      : message.bytes;
  return encodeResponse(await gateway.intake.take(signal, body, 'protobuf', ticket), 'protobuf', signal);
}
