import { ObservatoryError } from './errors.ts';

type Fetch = typeof fetch;

const MAX_REDIRECTS = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const OF_THE_BODY = [
  'content-encoding',
  'content-language',
  'content-length',
  'content-location',
  'content-type',
];

/**
 * A `fetch` that follows redirects within the origin of the request only: scheme, host and port. `fetch` by itself follows
 * them anywhere and takes the headers along, all but `authorization` and `cookie`, so that a server could have a secret
 * sent to any host, or an internal address asked. What the caller sets as `redirect` does not matter.
 *
 * The promise rejects with an ObservatoryError `REDIRECT_REFUSED` for another origin, for the sixth redirect in a row, and
 * for a body that cannot be sent twice.
 */
export function fetchWithinOrigin(send: Fetch): Fetch {
  return async (input, init) => {
    let address: string | URL = input instanceof Request ? input.url : input;
    let request: RequestInit = { ...init, redirect: 'manual' };
    let response = await send(input, request);
    for (let followed = 0; ; followed += 1) {
      const location = REDIRECTS.has(response.status) ? response.headers.get('location') : null;
      if (location === null) return response;
      const from = new URL(address);
      if (!URL.canParse(location, from.href)) return response;
      const target = new URL(location, from);
      await response.body?.cancel();
      if (target.origin !== from.origin || target.username !== '' || target.password !== '')
        throw refused(
          from,
          `to ${toOrigin(target)}, which is another origin; use its address if you trust it`,
        );
      if (followed >= MAX_REDIRECTS) throw refused(from, `more than ${MAX_REDIRECTS} times in a row`);
      if (input instanceof Request || !isRepeatable(request.body))
        throw refused(from, 'a request that cannot be repeated');
      request = nextRequest(request, response.status);
      address = target;
      response = await send(address, request);
    }
  };
}

/** Schemes such as `file:` have no origin of their own. */
function toOrigin(target: URL): string {
  return target.origin === 'null' ? target.protocol : target.origin;
}

function refused(address: URL, what: string): ObservatoryError {
  return new ObservatoryError('REDIRECT_REFUSED', `${address.origin} redirects ${what}`);
}

function isRepeatable(body: RequestInit['body']): boolean {
  return body === undefined || body === null || typeof body === 'string' || ArrayBuffer.isView(body);
}

/** The request that the Fetch standard makes of one that was answered with this status. */
function nextRequest(request: RequestInit, status: number): RequestInit {
  const method = (request.method ?? 'GET').toUpperCase();
  const becomesGet = status === 303 ? method !== 'HEAD' : status < 303 && method === 'POST';
  if (!becomesGet || method === 'GET') return request;
  const { body: _body, ...rest } = request;
  const headers = new Headers(request.headers);
  for (const name of OF_THE_BODY) headers.delete(name);
  return { ...rest, method: 'GET', headers };
}
