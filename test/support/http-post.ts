import { type IncomingHttpHeaders, request } from 'node:http';

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/**
 * Sends a request exactly as given, with or without a content-type, which `fetch` cannot. A response that arrives while
 * the body is still being sent counts, even if the server then closes.
 */
export function post(
  url: string,
  headers: Readonly<Record<string, string>>,
  body?: Buffer,
  method = 'POST',
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers: { ...headers, ...lengthOf(body) }, agent: false });
    sent.on('error', reject);
    sent.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) });
      });
    });
    sent.end(body);
  });
}

function lengthOf(body: Buffer | undefined): Record<string, string> {
  return body === undefined ? {} : { 'content-length': String(body.length) };
}

/** Asks for an address of this machine as a browser does, which knows the names below `localhost` without asking anybody. */
export function getAsBrowser(
  address: URL | string,
  headers: Readonly<Record<string, string>> = {},
): Promise<HttpAnswer> {
  const { host, port, pathname, search } = new URL(address);
  return post(`http://127.0.0.1:${port}${pathname}${search}`, { host, ...headers }, undefined, 'GET');
}
