/** What an HTTP server refuses and why, and the headers it is sent. */
import type { HeaderSource } from './config-fields.ts';

/** The request never ran, so that it can be made again. The message says why. */
export class NeverRan extends Error {}

/** The server no longer knows the session of a request. */
export class SessionExpired extends NeverRan {}

type Fetch = typeof fetch;

const MAX_CHALLENGE = 200;

/** The error for an address where nothing takes the first request. */
export function nothingThere(status: number): Error {
  return new Error(
    `there is no MCP server at this address, HTTP ${status}; check the path of "url" (often /mcp), or set "type": "sse" for an older server`,
  );
}

/**
 * The error for 401 and 403, with what to do about it.
 * @param said the text of the body.
 */
export function unauthorized({ status, headers }: Pick<Response, 'status' | 'headers'>, said = ''): Error {
  const challenge = headers.get('www-authenticate') ?? said;
  const wants = challenge === '' ? '' : ` (${challenge.slice(0, MAX_CHALLENGE)})`;
  const remedy =
    'set "headers": { "authorization": "Bearer ..." } for it in the server config, or pass a function as headers that returns fresh ones';
  return new Error(
    status === 401
      ? `the server wants other credentials, HTTP 401${wants}; ${remedy}`
      : `the server does not allow this with these credentials, HTTP 403${wants}; ${remedy}`,
  );
}

/**
 * Sends the headers a function gives with each request. After a 401 it is asked once more, and the request is made
 * again if it gives others.
 */
export function withHeaders(send: Fetch, source: HeaderSource): Fetch {
  if (typeof source !== 'function') return send;
  return async (input, init) => {
    const first = await readHeaders(source);
    const response = await send(input, merged(init, first));
    if (response.status !== 401) return response;
    const second = await readHeaders(source);
    if ([...second].every(([name, value]) => first.get(name) === value)) return response;
    await response.body?.cancel();
    return await send(input, merged(init, second));
  };
}

async function readHeaders(
  source: Exclude<HeaderSource, Readonly<Record<string, string>>>,
): Promise<Headers> {
  let given: unknown;
  try {
    given = await source();
    return new Headers(given as Record<string, string>);
  } catch {
    // Neither a cause nor a value is passed on: headers carry credentials.
    const how = given === undefined ? 'failed' : 'gave headers that HTTP does not allow';
    throw new Error(`the function given as headers ${how}`);
  }
}

function merged(init: RequestInit | undefined, more: Headers): RequestInit {
  const headers = new Headers(init?.headers);
  for (const [name, value] of more) headers.set(name, value);
  return { ...init, headers };
}
