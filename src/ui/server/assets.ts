import { readFileSync } from 'node:fs';
import { packageFile } from '../../base/index.ts';

/** A file of the page. */
export interface Asset {
  readonly type: string;
  readonly body: Buffer;
}

const TYPES = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
};

/** The files of the page by their paths; read once, since they are part of the package. */
export function readAssets(): ReadonlyMap<string, Asset> {
  const read = (name: string, type: string): Asset => ({
    type,
    body: readFileSync(packageFile(`dist/lib/page/${name}`)),
  });
  return new Map([
    ['/', read('index.html', TYPES.html)],
    ['/page.js', read('page.js', TYPES.js)],
    ['/page.css', read('page.css', TYPES.css)],
  ]);
}
