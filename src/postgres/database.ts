import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import {
  checkOptions,
  either,
  errorMessage,
  kinds,
  loadPeer,
  makePrivateFolder,
  ObservatoryError,
  type OptionKinds,
  type StoreDoor,
  secret,
} from '../base/index.ts';
import { DatabaseBehindDoor } from './behind-door.ts';
import { emptyFolder, inspectDataDirectory, placeOfDataDirectory } from './data-directory.ts';
import { type DataDirectoryLock, findDoor, lockDataDirectory } from './data-directory-lock.ts';
import { EmbeddedDatabase } from './embedded.ts';
import { type DriverSource, openPool, type PoolOptions } from './pool.ts';
import { copyPrepared } from './prepared-directory.ts';
import { toReading } from './read-only.ts';
import { openDoor } from './store-door.ts';
import type { Database, ShareOptions } from './types.ts';

/** Default directory of the embedded database, relative to the current folder. */
export const DEFAULT_DATA_DIR: string = join('.mcp-observatory', 'pgdata');

const PGLITE = '@electric-sql/pglite';

export interface OpenDatabaseOptions extends PoolOptions, DriverSource {
  /** Connection string of a Postgres server. @defaultValue the embedded PGlite */
  readonly url?: string | undefined;
  /** Data directory of the embedded PGlite, used without `url`. @defaultValue `.mcp-observatory/pgdata` */
  readonly dataDir?: string | undefined;
  /** Whether to create the embedded database if its directory is missing. @defaultValue true */
  readonly create?: boolean | undefined;
  /** Whether a new embedded database is a copy of the empty one that ships with the package. @defaultValue true */
  readonly isPrepared?: boolean | undefined;
  /** Whether an embedded database that another process holds and shares is read through it. @defaultValue false */
  readonly mayShare?: boolean | undefined;
  /** Ends all that runs or waits, with an error, and allows nothing new. The caller still closes the database. */
  readonly signal?: AbortSignal | undefined;
}

const OPTIONS: OptionKinds<OpenDatabaseOptions> = {
  url: secret(kinds.string),
  dataDir: kinds.string,
  create: kinds.boolean,
  isPrepared: kinds.boolean,
  mayShare: kinds.boolean,
  signal: kinds.object,
  holdsProcess: kinds.boolean,
  ssl: either(kinds.boolean, kinds.object),
  packageAt: kinds.function,
  maxConnections: kinds.number,
  connectTimeoutMs: kinds.number,
  statementTimeoutMs: kinds.number,
};

/**
 * Opens a Postgres server by its connection string, or an embedded PGlite in a directory that no other process uses. The
 * caller closes it: `await using db = await openDatabase(...)`.
 *
 * @throws ObservatoryError `INVALID_OPTION` for a connection string that does not parse, `MISSING_PEER` when `pg` or
 *   `@electric-sql/pglite` is needed and not installed, `DATABASE_UNREACHABLE` when the data directory is in use, or
 *   missing and `create` is false, or its folder holds something else, which is left as it is. A server is not contacted before the first query.
 */
export async function openDatabase(options: OpenDatabaseOptions = {}): Promise<Database> {
  checkOptions(options, OPTIONS, 'openDatabase()');
  return options.url === undefined ? openEmbedded(options) : openServer(options.url, options);
}

async function openServer(url: string, options: OpenDatabaseOptions): Promise<Database> {
  const pool = await openPool(url, options, options.signal);
  const database = {
    kind: pool.kind,
    name: pool.name,
    query: (text, values) => pool.query(text, values),
    exec: (text) => pool.query(text),
    readOnly: toReading(pool),
  } satisfies Partial<Database>;
  return withDoor(database, () => pool.end());
}

/** A database that can be shared until it is closed, which happens once. */
function withDoor(
  database: Omit<Database, 'share' | 'close' | typeof Symbol.asyncDispose>,
  end: () => Promise<void>,
  note?: (door: StoreDoor) => Promise<void>,
): Database {
  let closed: Promise<void> | undefined;
  let opened: ReturnType<typeof openDoor> | undefined;
  const close = () => {
    closed ??= (async () => {
      await opened?.then(({ stop }) => stop()).catch(() => undefined);
      await end();
    })();
    return closed;
  };
  const share = async ({ spansUrl, gates }: ShareOptions = {}) => {
    opened ??= openDoor(database, gates);
    const { url, token } = await opened;
    const door = { url, token, spansUrl };
    await note?.(door);
    return door;
  };
  return { ...database, share, close, [Symbol.asyncDispose]: close };
}

/** The database of a directory that another process holds and shares; undefined for none. */
export async function findShared(directory: string): Promise<Database | undefined> {
  const place = await placeOfDataDirectory(directory);
  const door = await findDoor(place);
  if (door === undefined) return undefined;
  const { spansUrl } = door;
  const what = `the embedded database ${directory}`;
  return new DatabaseBehindDoor({ find: () => findDoor(place), name: directory, what, spansUrl });
}

async function openEmbedded(options: OpenDatabaseOptions): Promise<Database> {
  const directory = options.dataDir ?? DEFAULT_DATA_DIR;
  const state = await inspectDataDirectory(directory);
  if (options.create === false && state !== 'database') {
    throw new ObservatoryError(
      'DATABASE_UNREACHABLE',
      `There is no embedded database in ${directory}. Make one: npx mcp-observatory db migrate`,
    );
  }
  if (options.mayShare === true) {
    const shared = await findShared(directory);
    if (shared !== undefined) return shared;
  }
  const at = await options.packageAt?.(PGLITE);
  let lock: DataDirectoryLock | undefined;
  let begun: string | undefined;
  try {
    const place = await placeOfDataDirectory(directory);
    lock = await lockDataDirectory(place);
    // Another process may have made it before it released it.
    const isNew = (await inspectDataDirectory(place)) !== 'database';
    if (isNew && options.isPrepared !== false) await copyPrepared(place, at);
    await makePrivateFolder(place);
    if (isNew) begun = place;
    // PGlite makes its files readable for everybody; as for PostgreSQL, only the owner may enter their folder.
    await chmod(place, 0o700);
    const embedded = await loadPeer(
      PGLITE,
      () =>
        EmbeddedDatabase.open(
          { directory: place, module: at ?? import.meta.resolve(PGLITE) },
          options.signal,
        ),
      {
        neededFor: 'The embedded database',
      },
    );
    const database = {
      kind: 'pglite',
      name: directory,
      query: (text, values) => embedded.query(text, values),
      exec: (text) => embedded.exec(text),
      readOnly: (statements, how) => embedded.readOnly(statements, how),
    } satisfies Partial<Database>;
    return withDoor(database, () => embedded.close().finally(lock?.release), lock?.note);
  } catch (cause) {
    // A half-made database, for instance after a full disk, cannot be opened; the next start begins again.
    if (begun !== undefined) await emptyFolder(begun);
    await lock?.release();
    if (cause instanceof ObservatoryError) throw cause;
    throw new ObservatoryError(
      'DATABASE_UNREACHABLE',
      `The embedded database in ${directory} cannot be opened: ${errorMessage(cause)}`,
      { cause },
    );
  }
}
