import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Access, Role } from './access.ts';

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

/** Who may ask for what. */
export interface GuardOptions {
  /** Names by which the page may be addressed, with their ports, e.g. `127.0.0.1:4320`; undefined for any. */
  readonly hosts: readonly string[] | undefined;
  /** The one name by which a browser may use the address; undefined for any. */
  readonly tradeHost?: string | undefined;
  /** Name of the cookie of a session. */
  readonly cookie: string;
  readonly access: Access;
  /** Told when a browser has used the address. */
  readonly onTrade: () => void;
}

/** The verdict on a request; `redirect` is where a browser goes with its new cookie. */
export type Verdict =
  | { readonly isAllowed: true; readonly redirect?: { readonly location: string; readonly cookie?: string } }
  | {
      readonly isAllowed: false;
      readonly status: number;
      readonly code: 'FORBIDDEN' | 'UNAUTHORIZED';
      readonly message: string;
    };

/** Files of the page, which hold no data. */
const FILES: ReadonlySet<string> = new Set(['/', '/page.js', '/page.css']);

/**
 * Checks a request before anything of it is read. The name in `Host` must be one of ours, so that a page elsewhere cannot
 * reach this one by a name that it resolves to this machine; and the request must come from this page, from no page, or be
 * a link to it. Then what it asks for needs its role.
 */
export function checkRequest(request: IncomingMessage, options: GuardOptions): Verdict {
  const { hosts, access, cookie } = options;
  const host = request.headers.host ?? '';
  if (hosts !== undefined && !hosts.includes(host))
    return refused(421, `This page answers to ${hosts[0]}, and to the address that it printed`);
  const url = new URL(request.url ?? '/', 'http://page');
  if (!isFromHere(request, host, url.pathname)) return refused(403, 'Requests from other pages are refused');
  const token = url.searchParams.get('token');
  if (token !== null && url.pathname === '/' && request.method === 'GET') {
    if (options.tradeHost !== undefined && host !== options.tradeHost) return refused(401, LOCKED);
    url.searchParams.delete('token');
    const session = access.trade(token);
    if (session !== undefined) {
      options.onTrade();
      url.searchParams.set('key', session.key);
      const set = `${cookie}=${session.secret}; HttpOnly; SameSite=Strict; Path=/`;
      return { isAllowed: true, redirect: { location: `/${url.search}`, cookie: set } };
    }
    // An address of before, in a browser that has used it: the page is open there.
    if (access.roleOf(request, cookie) !== undefined)
      return { isAllowed: true, redirect: { location: `/${url.search}` } };
    return refused(401, LOCKED);
  }
  if (FILES.has(url.pathname)) return { isAllowed: true };
  const role = access.roleOf(request, cookie);
  const needed = roleFor(request, url.pathname);
  if (role === 'decide' || role === needed || (needed === 'listen' && role !== undefined))
    return { isAllowed: true };
  if (role === 'read') return refused(403, 'This token may read only: decide in the browser or the shell');
  return refused(401, LOCKED);
}

const LOCKED =
  'Open the newest address that the page printed: it has a token, for one browser. Programs read with the read token, as a bearer token';

/** What a request needs. Everything that is posted decides, or writes; but agents post to read. */
function roleFor({ method }: IncomingMessage, path: string): Role | 'listen' {
  if (path === '/api/live') return 'listen';
  return path === '/mcp' || method === 'GET' || method === 'HEAD' ? 'read' : 'decide';
}

/** Programs send neither header. A link from elsewhere opens the page, which has no data before its own script asks. */
function isFromHere({ method, headers }: IncomingMessage, host: string, path: string): boolean {
  if (headers.origin !== undefined && headers.origin !== `http://${host}`) return false;
  const site = headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin' || site === 'none') return true;
  const isLink = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
  return isLink && method === 'GET' && path === '/';
}

function refused(status: number, message: string): Verdict {
  return { isAllowed: false, status, code: status === 401 ? 'UNAUTHORIZED' : 'FORBIDDEN', message };
}
