import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, gzipSync } from 'node:zlib';
import { packageFile } from '../../base/index.ts';
import { takesGzip, toMark } from './send.ts';

/** A file of the page. */
export interface Asset {
  readonly type: string;
  readonly body: Buffer;
  readonly zipped: Buffer;
  readonly etag: string;
}

const TYPES = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
};

/** Compressed once, so as far as it goes. */
const ZIP = { level: constants.Z_BEST_COMPRESSION } as const;

/** The files of the page by their paths; read once, since they are part of the package. */
export function readAssets(): ReadonlyMap<string, Asset> {
  const read = (name: string, type: string): Asset => {
    const body = readFileSync(packageFile(`dist/lib/page/${name}`));
    return { type, body, zipped: gzipSync(body, ZIP), etag: toMark(body.toString('latin1')) };
  };
  return new Map([
    ['/', read('index.html', TYPES.html)],
    ['/page.js', read('page.js', TYPES.js)],
    ['/page.css', read('page.css', TYPES.css)],
  ]);
}

/** Sends a file of the page; browsers ask each time whether it is still the one they have. */
export function sendAsset(request: IncomingMessage, response: ServerResponse, asset: Asset): void {
  const { type, body, zipped, etag } = asset;
  const isZipped = takesGzip(request);
  const sent = isZipped ? zipped : body;
  const headers = { 'cache-control': 'no-cache', vary: 'accept-encoding', etag };
  if (request.headers['if-none-match'] === etag) {
    response.writeHead(304, headers).end();
    return;
  }
  const encoding = isZipped ? { 'content-encoding': 'gzip' } : {};
  response.writeHead(200, { ...headers, ...encoding, 'content-type': type, 'content-length': sent.length });
  response.end(request.method === 'HEAD' ? undefined : sent);
}
