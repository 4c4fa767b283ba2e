import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { PortConnections } from '../../base/index.ts';
import { ENCODINGS, findPacking, readBody, unpack } from './body.ts';
import { allowOrigin, isPreflight, refuseForeignPages } from './foreign-page.ts';
import { answer, type Gateway, refuseWhileDraining, untilClosed } from './gateway.ts';
import { answerHealth, type Health } from './health.ts';
import { type Address, listen } from './listen.ts';
import { encodeResponse, encodeStatus, type OtlpEncoding, SIGNAL_PATHS, signalAt } from './messages.ts';
import { ANSWERS, Rejection } from './rejection.ts';
import type { TlsFiles } from './tls.ts';

const TYPES: Readonly<Record<OtlpEncoding, string>> = {
  protobuf: 'application/x-protobuf',
  json: 'application/json',
};

/** Timeouts of slow senders in milliseconds, checked once a second. Bodies have a least rate, see `body.ts`. */
const REQUEST_TIMEOUT_MS = 60_000;
const HEADERS_TIMEOUT_MS = 5000;
const TIMEOUTS_CHECK_MS = 1000;

/** Time in which a refused sender may read the answer before its connection is cut, in milliseconds. */
const LINGER_MS = 500;

/** Longer than load balancers keep connections, so that they close idle ones, not the server during a request. */
const KEEP_ALIVE_MS = 75_000;

/** A started server. */
export interface RunningReceiver {
  readonly address: Address;
  /** Refuses new connections and closes when open ones have been answered, or after this many milliseconds. */
  close(withinMs: number): Promise<void>;
}

/** Starts OTLP over HTTP and the health endpoints. */
export async function startHttp(
  address: Address,
  gateway: Gateway,
  health: () => Health,
  tls: TlsFiles | undefined,
): Promise<RunningReceiver> {
  const { origins } = gateway;
  return run(address, tls, (request, response) => {
    const path = toPath(request);
    const isAllowed = allowOrigin(origins, request.headers, response);
    if (isAllowed && isPreflight(request)) {
      response.writeHead(204).end();
      return;
    }
    if (isRead(request) && answerHealth(path, health, response)) return;
    const encoding = findEncoding(request);
    answer(
      gateway,
      'http',
      async () => {
        if (!gateway.isClosed && !isAllowed) refuseForeignPages(request.headers, address.host);
        const body = await take(gateway, path, encoding, request, response);
        send(response, 200, TYPES[encoding as OtlpEncoding], body, gateway.isDraining());
      },
      (rejection) => reject(request, response, rejection, encoding, gateway.isDraining()),
    ).catch(() => request.destroy());
  });
}

/** Starts the health endpoints alone, for probes without a certificate or access to the other port. */
export async function startHealth(address: Address, health: () => Health): Promise<RunningReceiver> {
  return run(address, undefined, (request, response) => {
    if (isRead(request) && answerHealth(toPath(request), health, response)) return;
    response.writeHead(404).end();
  });
}

async function run(
  address: Address,
  tls: TlsFiles | undefined,
  listener: RequestListener,
): Promise<RunningReceiver> {
  const options = {
    requestTimeout: REQUEST_TIMEOUT_MS,
    headersTimeout: HEADERS_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: TIMEOUTS_CHECK_MS,
  };
  const server: Server = tls === undefined ? createServer(options) : createTlsServer({ ...options, ...tls });
  const connections = new PortConnections(server);
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    connections.beginHttp(request, response);
    listener(request, response);
  };
  server.on('request', handle);
  // By default Node asks for the body at once; a refused sender need not send it.
  server.on('checkContinue', handle);
  return {
    address: await listen(server, address),
    close: (withinMs) =>
      new Promise((resolve) => {
        const late = setTimeout(() => server.closeAllConnections(), withinMs);
        server.close(() => {
          clearTimeout(late);
          resolve();
        });
        server.closeIdleConnections();
      }),
  };
}

/** @returns the body of the answer. @throws Rejection */
async function take(
  gateway: Gateway,
  path: string,
  encoding: OtlpEncoding | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Buffer> {
  const signal = signalAt('http', path);
  if (signal === undefined) {
    const paths = Object.values(SIGNAL_PATHS).map(({ http }) => http);
    throw new Rejection('not_found', `Only ${paths.join(', ')} are served`);
  }
  if (request.method !== 'POST') throw new Rejection('wrong_method', 'Only POST is served');
  gateway.bearer.check(request.headers.authorization);
  refuseWhileDraining(gateway);
  if (encoding === undefined) {
    throw new Rejection('unsupported_type', `Expected content-type ${TYPES.protobuf} or ${TYPES.json}`);
  }
  const packing = findPacking('content-encoding', request.headers['content-encoding']);
  using ticket = gateway.admission.enter();
  const announced = request.headers['content-length'];
  const length = announced === undefined ? undefined : Number(announced);
  const isAwaited = request.headers.expect !== undefined;
  const onRoom = isAwaited ? () => response.writeContinue() : undefined;
  let body = await readBody(request, { maxBytes: gateway.maxBodyBytes, length, onRoom }, ticket);
  await ticket.turn(untilClosed(response));
  if (packing !== undefined) body = unpack(body, packing, gateway.maxBodyBytes);
  return encodeResponse(await gateway.intake.take(signal, body, encoding, ticket), encoding, signal);
}

function reject(
  request: IncomingMessage,
  response: ServerResponse,
  { reason, message, retryAfter }: Rejection,
  encoding: OtlpEncoding | undefined,
  isLast: boolean,
): void {
  if (retryAfter !== undefined) response.setHeader('retry-after', String(retryAfter));
  if (reason === 'wrong_method') response.setHeader('allow', 'POST');
  if (reason === 'unauthenticated') response.setHeader('www-authenticate', 'Bearer');
  if (reason === 'unsupported_encoding') response.setHeader('accept-encoding', ENCODINGS.join(', '));
  const { http, grpc } = ANSWERS[reason];
  const body = encoding === undefined ? Buffer.from(`${message}\n`) : encodeStatus(grpc, message, encoding);
  const type = encoding === undefined ? 'text/plain; charset=utf-8' : TYPES[encoding];
  if (request.complete) send(response, http, type, body, isLast);
  else sendAndClose(response, http, type, body);
}

/** @param isLast whether to close the connection. */
function send(response: ServerResponse, status: number, type: string, body: Buffer, isLast: boolean): void {
  if (isLast) response.setHeader('connection', 'close');
  response.writeHead(status, { 'content-type': type, 'content-length': body.length });
  response.end(body);
}

/** Answers a request without reading the rest of its body, which Node would do when the answer ends. */
function sendAndClose(response: ServerResponse, status: number, type: string, body: Buffer): void {
  response.writeHead(status, { connection: 'close', 'content-type': type, 'content-length': body.length });
  const { socket } = response;
  response.write(body, () => socket?.end());
  setTimeout(() => socket?.destroy(), LINGER_MS).unref();
}

function findEncoding(request: IncomingMessage): OtlpEncoding | undefined {
  const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  if (type === TYPES.protobuf) return 'protobuf';
  return type === TYPES.json ? 'json' : undefined;
}

function isRead({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

function toPath({ url = '' }: IncomingMessage): string {
  return url.split('?', 1)[0] ?? '';
}
