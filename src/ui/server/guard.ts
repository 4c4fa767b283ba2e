import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

const COOKIE = 'mcp_observatory_token';

/** Sent with every answer. The page loads its own script and style and nothing else. */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const;

export function setSecurityHeaders(response: ServerResponse): void {
  for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
}

/** Who may ask. */
export interface GuardOptions {
  /** Names by which the page may be addressed, with their ports, e.g. `127.0.0.1:4320`. */
  readonly hosts: readonly string[];
  /** Required of every request when given. */
  readonly token: string | undefined;
}

/** The verdict on a request; `redirect` is where to go with the cookie that keeps the token of the address. */
export type Verdict =
  | { readonly isAllowed: true; readonly redirect?: { readonly location: string; readonly cookie: string } }
  | { readonly isAllowed: false; readonly status: number; readonly message: string };

/**
 * Checks a request before anything of it is read. The name in `Host` must be one of ours, so that a page elsewhere
 * cannot reach this one by a name that it resolves to this machine; `Origin` must be ours where the browser sends it.
 */
export function checkRequest(request: IncomingMessage, { hosts, token }: GuardOptions): Verdict {
  const host = request.headers.host ?? '';
  if (token === undefined && !hosts.includes(host)) {
    return { isAllowed: false, status: 421, message: `This page answers to ${hosts.join(' and ')} only` };
  }
  const { origin } = request.headers;
  const site = request.headers['sec-fetch-site'];
  if ((origin !== undefined && origin !== `http://${host}`) || site === 'cross-site') {
    return { isAllowed: false, status: 403, message: 'Requests from other pages are refused' };
  }
  if (token === undefined) return { isAllowed: true };
  const url = new URL(request.url ?? '/', 'http://page');
  const given = url.searchParams.get('token');
  if (given !== null && isSame(given, token)) {
    url.searchParams.delete('token');
    const cookie = `${COOKIE}=${encodeURIComponent(token)}; HttpOnly; SameSite=Strict; Path=/`;
    return { isAllowed: true, redirect: { location: `${url.pathname}${url.search}`, cookie } };
  }
  const kept = cookieOf(request.headers.cookie) ?? bearerOf(request.headers.authorization);
  if (kept !== undefined && isSame(kept, token)) return { isAllowed: true };
  return {
    isAllowed: false,
    status: 401,
    message: 'Open the address that was printed at the start: it has the token',
  };
}

function cookieOf(header = ''): string | undefined {
  for (const part of header.slice(0, 8192).split(';')) {
    const [name, value] = part.trim().split('=', 2);
    if (name === COOKIE && value !== undefined) {
      try {
        return decodeURIComponent(value);
      } catch {
        return undefined;
      }
    }
  }
  return undefined;
}

function bearerOf(header = ''): string | undefined {
  return /^Bearer (\S{1,1000})$/iu.exec(header)?.[1];
}

/** Compares digests, so that timing reveals nothing. */
function isSame(a: string, b: string): boolean {
  return timingSafeEqual(digest(a), digest(b));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
