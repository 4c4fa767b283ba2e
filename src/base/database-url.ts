/**
 * A URL of a database that can be used: of one of these schemes, with credentials that can be decoded.
 * @param protocols with their colon.
 */
export function parseDatabaseUrl(text: string, protocols: readonly string[]): URL | undefined {
  try {
    const url = new URL(text);
    decodeURIComponent(url.username);
    decodeURIComponent(url.password);
    return protocols.includes(url.protocol) ? url : undefined;
  } catch {
    // The URL parser's error contains the whole input, so it must not become a cause.
    return undefined;
  }
}
