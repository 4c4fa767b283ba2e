import { createReadStream } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ObservatoryError } from '../../base/index.ts';
import { inspectGolden } from '../../golden/index.ts';

const MAX_GOLDENS = 1000;
const MAX_BYTES = 67_108_864;

/** Names of the goldens below a folder, for instance `openai/refund`; none where there is no such folder. */
export async function goldenNames(folder: string): Promise<readonly string[]> {
  const files = await readdir(folder, { recursive: true }).catch(() => []);
  return files
    .filter((file) => file.endsWith('.json') && !file.split(sep).includes('shared'))
    .map((file) => file.slice(0, -'.json'.length).split(sep).join('/'))
    .sort()
    .slice(0, MAX_GOLDENS);
}

/** A golden that can be read and sent. */
export interface GoldenFile {
  readonly path: string;
  /** Under which a browser saves it. */
  readonly saveAs: string;
  readonly bytes: number;
}

/**
 * Finds the file of a golden by one of its {@link goldenNames}; undefined where there is none of the name, or a link
 * leads out of the folder.
 * @throws ObservatoryError `GOLDEN_UNREADABLE`, `GOLDEN_TOO_NEW` for what the `golden` commands do not read either,
 * `INVALID_INPUT` for one that is too large.
 */
export async function findGoldenFile(folder: string, name: string): Promise<GoldenFile | undefined> {
  if (!(await goldenNames(folder)).includes(name)) return undefined;
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
  return {
    path,
    saveAs: `${name
      .split('/')
      .at(-1)
      ?.replace(/[^\w.-]/gu, '_')}.json`,
    bytes,
  };
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
