/**
 * What of HTTP a golden keeps. Everything that is not named here is dropped: keys, cookies, ids of organisations and
 * projects, quotas, addresses, and whatever a provider will think of next.
 */

const REQUEST_HEADERS: ReadonlySet<string> = new Set(['anthropic-version', 'anthropic-beta', 'openai-beta']);

/** The content type, and what the retry policy reads. */
const RESPONSE_HEADERS: ReadonlySet<string> = new Set([
  'content-type',
  'retry-after',
  'retry-after-ms',
  'x-should-retry',
]);

const QUERY: ReadonlySet<string> = new Set(['alt', 'api-version']);

export function keptRequestHeaders(headers: Headers): Record<string, string> {
  return kept(headers, REQUEST_HEADERS);
}

export function keptResponseHeaders(headers: Headers): Record<string, string> {
  return kept(headers, RESPONSE_HEADERS);
}

/** Path and kept query of a URL. */
export function keptPath(url: URL): string {
  const query = [...url.searchParams].filter(([name]) => QUERY.has(name));
  return query.length === 0 ? url.pathname : `${url.pathname}?${new URLSearchParams(query).toString()}`;
}

function kept(headers: Headers, names: ReadonlySet<string>): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => names.has(name)));
}
