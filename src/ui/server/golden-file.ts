import { createReadStream } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ObservatoryError } from '../../base/index.ts';
import { inspectGolden } from '../../golden/index.ts';

/** Names as goldens of the page have them: folders and a file, none of which goes up. */
const NAME = /^(?!.*\.\.)[\w-][\w.-]{0,99}(?:\/[\w-][\w.-]{0,99}){0,7}$/u;
const MAX_BYTES = 67_108_864;

/** A golden that can be sent. */
export interface GoldenFile {
  readonly path: string;
  /** Under which a browser saves it. */
  readonly saveAs: string;
  readonly bytes: number;
}

/**
 * Finds the file of a golden below a folder; undefined where there is none of the name.
 * @throws ObservatoryError `GOLDEN_UNREADABLE`, `GOLDEN_TOO_NEW` for what the `golden` commands do not read either,
 * `INVALID_INPUT` for one that is too large.
 */
export async function findGoldenFile(folder: string, name: string): Promise<GoldenFile | undefined> {
  if (!NAME.test(name)) return undefined;
  const paths = await Promise.all([realpath(folder), realpath(join(folder, `${name}.json`))]).catch(
    () => undefined,
  );
  if (paths === undefined) return undefined;
  const [root, path] = paths;
  if (!path.startsWith(root + sep)) return undefined;
  const { size: bytes } = await stat(path);
  if (bytes > MAX_BYTES) {
    throw new ObservatoryError(
      'INVALID_INPUT',
      `The golden has ${bytes} bytes: copy the file ${path} instead`,
    );
  }
  await inspectGolden(path);
  return { path, saveAs: `${name.split('/').at(-1)}.json`, bytes };
}

/** Sends a golden as a file to save, byte by byte as it is. */
export async function sendGoldenFile(
  response: ServerResponse,
  { path, saveAs, bytes }: GoldenFile,
): Promise<void> {
  response.writeHead(200, {
    'content-type': 'application/json; charset=utf-8',
    'content-disposition': `attachment; filename="${saveAs}"`,
    'content-length': bytes,
    'cache-control': 'no-store',
  });
  // A reader that leaves early is no error of the page.
  await pipeline(createReadStream(path, { end: Math.max(0, bytes - 1) }), response).catch(() => undefined);
}
