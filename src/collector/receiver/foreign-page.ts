import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { isLoopback } from './listen.ts';
import { Rejection } from './rejection.ts';

/** Names without a dot, and names that cannot be in the public DNS (RFC 6761, 6762 and 8375, and `.internal`). */
const PRIVATE_NAME = /^[^.]*$|\.(?:localhost|local|internal|test|home\.arpa)$/i;

/** The headers that name a request's origin and target. */
interface Headers {
  readonly host?: string | undefined;
  readonly origin?: string | undefined;
}

/**
 * Refuses requests of foreign web pages in a browser on this machine. They cannot have a token, so nothing is checked
 * where senders need one. An `Origin` must be the requested address. On loopback, `Host` may not be a name of the public
 * DNS, since a page could have its own name resolve here (DNS rebinding). Elsewhere any name may be that of a service.
 *
 * @param listensAt the host that the port is bound to; `undefined` where names do not matter.
 * @throws Rejection `foreign_page`
 */
export function refuseForeignPages({ host = '', origin }: Headers, listensAt?: string): void {
  const asked = findUrl(`http://${host}`);
  if (origin !== undefined && (asked === undefined || findUrl(origin)?.host !== asked.host)) {
    throw new Rejection('foreign_page', 'Requests from pages of other sites are refused');
  }
  if (host === '' || listensAt === undefined || !isLoopback(listensAt)) return;
  const name = asked?.hostname.replace(/^\[|\]$/g, '') ?? '.';
  if (isIP(name) === 0 && !PRIVATE_NAME.test(name)) {
    throw new Rejection(
      'foreign_page',
      `Without a token, only requests to ${listensAt} or localhost are served`,
    );
  }
}

/** Names of headers, as browsers ask for them. */
const HEADER_NAMES = /^[\w\-, ]{1,1000}$/;

/** How long a browser may remember an answer, in seconds. */
const MAX_AGE = '7200';

/**
 * Tells the browser that a page of another site may send (CORS), if its origin is one of these.
 * @returns whether it is; then its requests need no other check.
 */
export function allowOrigin(
  origins: ReadonlySet<string>,
  { origin, 'access-control-request-headers': asked }: IncomingMessage['headers'],
  response: ServerResponse,
): boolean {
  if (origin === undefined || !(origins.has(origin) || origins.has('*'))) return false;
  response.setHeader('access-control-allow-origin', origin);
  response.setHeader('vary', 'origin');
  response.setHeader('access-control-expose-headers', 'retry-after');
  response.setHeader('access-control-allow-methods', 'POST');
  response.setHeader('access-control-max-age', MAX_AGE);
  if (HEADER_NAMES.test(asked ?? '')) response.setHeader('access-control-allow-headers', asked ?? '');
  return true;
}

/** Whether a browser asks what a page may send. */
export function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

function findUrl(address: string): URL | undefined {
  return URL.canParse(address) ? new URL(address) : undefined;
}
