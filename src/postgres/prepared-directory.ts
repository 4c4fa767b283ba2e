import { randomUUID } from 'node:crypto';
import { createReadStream, existsSync, readFileSync } from 'node:fs';
import { readdir, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, createBrotliDecompress } from 'node:zlib';
import { locate, makePrivateFolder, packageFile } from '../base/index.ts';

/** An empty, migrated data directory of PGlite: opening a copy takes a sixth of the work, and less memory, than `initdb`. */
const PREPARED = 'dist/lib/empty-store.br';
const FILES_AT_ONCE = 32;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const FILE_MODE = 0o600;

/** Contents of the archive: paths with `/`, and sizes in bytes; a folder has no size. */
interface Contents {
  /** Minor version of PGlite that made it, such as `0.5`; others may store data differently. */
  readonly line: string;
  readonly entries: readonly (readonly [path: string, size: number | null])[];
}

/**
 * Copies the prepared data directory of this package, under a temporary name that is renamed at the end, so that it
 * appears complete. Does nothing if there is none for this version of PGlite, or if the target is not empty or is the
 * root of a file system.
 *
 * @param directory absolute, without links, and locked by the caller; missing or empty.
 * @param pglite address of the module of PGlite, undefined for the installed package.
 */
export async function copyPrepared(
  directory: string,
  pglite: string | undefined,
  prepared: URL | string = packageFile(PREPARED),
): Promise<boolean> {
  const line = lineOfPglite(pglite);
  if (line === undefined || !existsSync(prepared)) return false;
  // A read error is thrown when the next part is read.
  await using unpacked = pipeline(createReadStream(prepared), createBrotliDecompress(), () => undefined);
  const packed = new Parts(unpacked);
  const contents = JSON.parse(String(await packed.next((await packed.next(4)).readUInt32LE(0)))) as Contents;
  if (contents.line !== line) return false;
  await removeUnfinished(directory);
  const unfinished = `${directory}.unfinished.${randomUUID()}`;
  try {
    await unpack(contents, packed, unfinished);
    // Fails if anything is in it.
    await rmdir(directory).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
    await rename(unfinished, directory);
    return true;
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EBUSY' || code === 'ENOTEMPTY' || code === 'EEXIST' || code === 'EXDEV') return false;
    throw error;
  }
}

async function unpack({ entries }: Contents, packed: Parts, directory: string): Promise<void> {
  await makePrivateFolder(directory);
  const writing: Promise<void>[] = [];
  // Folders come before the files in them.
  for (const [path, size] of entries) {
    const target = join(directory, path);
    if (size === null) await makePrivateFolder(target);
    else writing.push(writeFile(target, await packed.next(size), { mode: FILE_MODE }));
    if (writing.length >= FILES_AT_ONCE) await Promise.all(writing.splice(0));
  }
  await Promise.all(writing);
}

/** A stream in parts of given sizes: what was unpacked is not kept. */
class Parts {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(stream: AsyncIterable<Buffer>) {
    this.#chunks = stream[Symbol.asyncIterator]();
  }

  /** @throws an Error at the end of the stream. */
  async next(size: number): Promise<Buffer> {
    const parts = [this.#rest];
    let length = this.#rest.length;
    while (length < size) {
      const { done, value } = await this.#chunks.next();
      if (done === true) throw new Error('The prepared database is incomplete');
      parts.push(value);
      length += value.length;
    }
    const all = Buffer.concat(parts, length);
    this.#rest = all.subarray(size);
    return all.subarray(0, size);
  }
}

/** Removes the remains of processes that ended while unpacking; the lock keeps others from unpacking now. */
async function removeUnfinished(directory: string): Promise<void> {
  const prefix = `${basename(directory)}.unfinished.`;
  for (const name of await readdir(dirname(directory))) {
    const isOurs = name.startsWith(prefix) && UUID.test(name.slice(prefix.length));
    if (isOurs) await rm(join(dirname(directory), name), { recursive: true, force: true });
  }
}

/** Packs the data directory of a PGlite that was closed. */
export async function packDirectory(directory: string): Promise<Buffer> {
  const found = await readdir(directory, { recursive: true, withFileTypes: true });
  const entries: [string, number | null][] = [];
  const bodies: Buffer[] = [];
  const paths = found.map((entry) => ({
    path: join(entry.parentPath.slice(directory.length + 1), entry.name).replaceAll('\\', '/'),
    isFolder: entry.isDirectory(),
  }));
  for (const { path } of paths.filter(({ isFolder }) => isFolder).sort(byPath)) entries.push([path, null]);
  for (const { path } of paths.filter(({ isFolder }) => !isFolder).sort(byTwin)) {
    const body = readFileSync(join(directory, path));
    bodies.push(/^pg_wal\/0/.test(path) ? withoutHistory(body, directory) : body);
    entries.push([path, body.length]);
  }
  const line = lineOfPglite(undefined) ?? '';
  const head = Buffer.from(JSON.stringify({ line, entries } satisfies Contents));
  const size = Buffer.alloc(4);
  size.writeUInt32LE(head.length);
  const all = Buffer.concat([size, head, ...bodies]);
  return promisify(brotliCompress)(all, {
    params: {
      [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: all.length,
    },
  });
}

interface Named {
  readonly path: string;
}

const byPath = (a: Named, b: Named) => (a.path < b.path ? -1 : 1);
/** Sorts equal files of the three databases next to each other, so that they compress well. */
const toTwin = ({ path }: Named) => path.replace(/^base\/(\d+)\/(.*)$/, 'base/$2/$1');
const byTwin = (a: Named, b: Named) => (toTwin(a) < toTwin(b) ? -1 : 1);

const PAGE_BYTES = 8192;
/** Offset of the position of the last checkpoint in `global/pg_control`. */
const CHECKPOINT_AT = 32;

/**
 * The write-ahead log from its last checkpoint on. After a clean end, nothing before it is read, but for the first page
 * of the file, which says what the file is.
 */
function withoutHistory(log: Buffer, directory: string): Buffer {
  const control = readFileSync(join(directory, 'global/pg_control'));
  const offset = Number(control.readBigUInt64LE(CHECKPOINT_AT) % BigInt(log.length));
  const copy = Buffer.from(log);
  copy.fill(0, PAGE_BYTES, Math.max(PAGE_BYTES, Math.floor(offset / PAGE_BYTES) * PAGE_BYTES));
  return copy;
}

/** `0.5` for 0.5.14; undefined when it is unknown. */
function lineOfPglite(pglite: string | undefined): string | undefined {
  try {
    const module = pglite === undefined ? locate('@electric-sql/pglite') : fileURLToPath(pglite);
    const file = join(dirname(module ?? ''), '..', 'package.json');
    const { name, version } = JSON.parse(readFileSync(file, 'utf8')) as { name?: string; version?: string };
    return name === '@electric-sql/pglite' ? version?.split('.', 2).join('.') : undefined;
  } catch {
    return undefined;
  }
}
