export interface ServerAddress {
  readonly address: string;
  readonly port: number | undefined;
}

const MAX_CACHED = 64;
const cache = new Map<string, ServerAddress | undefined>();

/** Host and port of a base URL, with the scheme's default port; nothing for a text that is no URL. */
export function serverAddress(baseUrl: unknown): ServerAddress | undefined {
  if (typeof baseUrl !== 'string') return undefined;
  const known = cache.get(baseUrl);
  if (known !== undefined || cache.has(baseUrl)) return known;
  const parsed = parse(baseUrl);
  // An application has a handful of base URLs; one that makes them up must not grow this for ever.
  if (cache.size >= MAX_CACHED) cache.clear();
  cache.set(baseUrl, parsed);
  return parsed;
}

function parse(baseUrl: string): ServerAddress | undefined {
  try {
    const url = new URL(baseUrl);
    const port = url.port === '' ? { 'https:': 443, 'http:': 80 }[url.protocol] : Number(url.port);
    return { address: url.hostname, port };
  } catch {
    return undefined;
  }
}
