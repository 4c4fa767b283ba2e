import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { migrate } from '../../src/postgres/index.ts';
import { freePort } from './free-port.ts';
import { makePartitionsOfToday } from './partitions-of-today.ts';
import { makeOnce } from './templates.ts';

const START_TIMEOUT_MS = 30_000;
const PORT_ATTEMPTS = 5;
const SYNTAX_ERROR = '42601';

/**
 * Runs the server and waits; when the test process is gone, however it ended, its end of the pipe closes, and the
 * server is stopped and its directory removed. A line `crash` ends the server at once, `start` runs it again.
 */
const KEEPER = `
"$@" & server=$!
while read -r order; do
  if [ "$order" = start ]; then "$@" & server=$!; else kill -QUIT $server; wait $server; fi
done
kill -QUIT $server 2>/dev/null; wait $server; rm -rf "$PGDATA_PARENT"`;

/** A PostgreSQL server for tests. */
export interface PostgresServer extends AsyncDisposable {
  /** Connection string of an existing database, to make others from. */
  readonly url: string;
  /** Makes an empty database and returns its connection string. */
  createDatabase(): Promise<string>;
  /** Makes a database with the current schema: a copy of one that is migrated once, which takes a third of the time. */
  createMigrated(): Promise<string>;
  /** Ends a server of its own at once, as a crash does; of another one it drops the databases made here. */
  stop(): Promise<void>;
  /** Ends the server as a crash does and keeps its data; absent for a server of others. */
  readonly crash?: (() => Promise<void>) | undefined;
  /** Starts the server that crashed, which recovers. */
  readonly restart?: (() => Promise<void>) | undefined;
}

/** Why there can be no real Postgres here, for `skip`; `false` when there can. */
export function noPostgres(): string | false {
  if (binaries() !== undefined || process.env.DATABASE_URL) return false;
  return 'no PostgreSQL binaries and no DATABASE_URL';
}

/** Path of psql, `undefined` where there is none. */
export function findPsql(): string | undefined {
  const folders = [...debianFolders(), ...pathFolders()];
  return folders.map((folder) => join(folder, 'psql')).find((file) => existsSync(file));
}

const ROLES = fileURLToPath(new URL('../../../schema/roles.sql', import.meta.url));

/** Makes the roles of `schema/roles.sql` with psql, as people do. */
export function applyRoles(url: string, file = ROLES): void {
  execFileSync(findPsql() ?? '', [url, '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', file]);
}

/** Settings under which tests are quick and nothing runs beside them; nothing of them survives a power cut. */
const QUICK = { fsync: 'off', full_page_writes: 'off', autovacuum: 'off', jit: 'off' } as const;

/**
 * A server to make databases on: the one that a run of all tests shares, else one of its own.
 * Call it only when {@link noPostgres} is false.
 */
export async function startPostgres(): Promise<PostgresServer> {
  const shared = process.env.OBSERVATORY_TEST_POSTGRES;
  return shared === undefined ? startOwnPostgres() : existingServer(shared);
}

/**
 * Starts a server for tests that stop it or need settings: a throwaway cluster where binaries exist, else the server
 * of `DATABASE_URL`, as it is.
 */
export async function startOwnPostgres(
  settings: Readonly<Record<string, string>> = QUICK,
): Promise<PostgresServer> {
  const bin = binaries();
  return bin === undefined ? existingServer(process.env.DATABASE_URL ?? '') : ownCluster(bin, settings);
}

let quiet: Promise<PostgresServer> | undefined;

/**
 * The server of this process, for tests that wait for every open transaction of their server. Its files use it one after
 * the other; it ends with the process.
 */
export async function startQuietPostgres(): Promise<PostgresServer> {
  quiet ??= startOwnPostgres();
  const stop = async () => {};
  return { ...(await quiet), stop, [Symbol.asyncDispose]: stop };
}

/** Runs statements on a connection of their own. */
export async function runSql(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  // A server that ends while it is asked is told by the query; without a listener it would end the test as well.
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

function existingServer(url: string): PostgresServer {
  const made: string[] = [];
  const stop = async () => {
    for (const name of made.splice(0)) {
      // Waits some seconds for connections that are being closed; an error on one of them would fail a test.
      await runSql(url, `DROP DATABASE IF EXISTS ${name}`).catch(() =>
        runSql(url, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
      );
    }
  };
  const create = async (template?: string) => {
    const name = await newDatabase(url, template);
    made.push(name);
    return withDatabase(url, name);
  };
  return {
    url,
    createDatabase: () => create(),
    createMigrated: copiesOfMigrated(create, process.env.OBSERVATORY_TEST_MIGRATED),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

async function ownCluster(bin: string, chosen: Readonly<Record<string, string>>): Promise<PostgresServer> {
  for (let attempt = 0; attempt < PORT_ATTEMPTS; attempt += 1) {
    const server = await clusterOn(await freePort(), bin, chosen);
    if (server !== undefined) return server;
  }
  throw new Error(`PostgreSQL found its port taken ${PORT_ATTEMPTS} times`);
}

/** Returns `undefined` when another program has taken the port. */
async function clusterOn(
  port: number,
  bin: string,
  chosen: Readonly<Record<string, string>>,
): Promise<PostgresServer | undefined> {
  const parent = mkdtempSync(join(tmpdir(), 'observatory-pg-'));
  const user = serverUser();
  if (user !== undefined) chownSync(parent, user.uid, user.gid);
  const data = join(parent, 'data');
  const init = [
    '-D',
    data,
    '--no-sync',
    '--auth=trust',
    '--username=postgres',
    '--encoding=UTF8',
    '--locale=C',
  ];
  makeOnce(`cluster of ${bin}`, data, () => {
    execFileSync(join(bin, 'initdb'), init, { ...user, cwd: parent, stdio: ['ignore', 'ignore', 'inherit'] });
  });
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: parent,
    max_connections: 120,
    ...chosen,
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const keeper = spawn('sh', ['-c', KEEPER, 'sh', join(bin, 'postgres'), '-D', data, ...flags], {
    ...user,
    cwd: parent,
    detached: true,
    env: { PATH: process.env.PATH ?? '', PGDATA_PARENT: parent },
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  const url = `postgresql://postgres@127.0.0.1:${port}/postgres`;
  const stop = () => stopKeeper(keeper, parent);
  try {
    if (!(await isOwnReady(url, data, keeper))) {
      await stop();
      return undefined;
    }
  } catch (error) {
    await stop();
    throw error;
  }
  const create = async (template?: string) => withDatabase(url, await newDatabase(url, template));
  const crash = async () => {
    keeper.stdin?.write('crash\n');
    while (await isReady(url)) await sleep(10);
  };
  const restart = async () => {
    keeper.stdin?.write('start\n');
    const deadline = Date.now() + START_TIMEOUT_MS;
    while (!(await isReady(url))) {
      if (Date.now() > deadline) throw new Error('PostgreSQL did not start again');
      await sleep(20);
    }
  };
  return {
    url,
    createDatabase: () => create(),
    createMigrated: copiesOfMigrated(create),
    stop,
    crash,
    restart,
    [Symbol.asyncDispose]: stop,
  };
}

async function stopKeeper(keeper: ChildProcess, parent: string): Promise<void> {
  if (keeper.exitCode === null && keeper.signalCode === null) {
    keeper.ref();
    const exited = once(keeper, 'exit');
    keeper.stdin?.end();
    await exited;
  }
  rmSync(parent, { recursive: true, force: true });
}

/**
 * Waits until the server answers. Returns false when it could not listen, or when the server that answers at its
 * address keeps its data elsewhere: two test processes may find the same port free.
 */
async function isOwnReady(url: string, data: string, keeper: ChildProcess): Promise<boolean> {
  let log = '';
  keeper.stderr?.on('data', (chunk: Buffer) => {
    log = (log + chunk.toString()).slice(-4000);
  });
  (keeper.stderr as { unref?(): void } | null)?.unref?.();
  (keeper.stdin as { unref?(): void } | null)?.unref?.();
  keeper.unref();
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    try {
      const [row] = await runSql(url, 'SHOW data_directory');
      return row?.data_directory === data;
    } catch (error) {
      if (log.includes('could not create any TCP/IP sockets')) return false;
      if (Date.now() > deadline) throw new Error(`PostgreSQL did not start:\n${log}`, { cause: error });
    }
    await sleep(30);
  }
}

async function isReady(url: string): Promise<boolean> {
  return runSql(url, 'SELECT 1').then(
    () => true,
    () => false,
  );
}

async function newDatabase(url: string, template = 'template1'): Promise<string> {
  const name = `observatory_${randomBytes(6).toString('hex')}`;
  const create = `CREATE DATABASE ${name} TEMPLATE ${template}`;
  // Since PostgreSQL 15 a database is copied through the log by default, which takes ten times as long.
  await runSql(url, `${create} STRATEGY file_copy`).catch((error) => {
    if (error.code !== SYNTAX_ERROR) throw error;
    return runSql(url, create);
  });
  return name;
}

/** @param made name of a migrated database; without one it is made when first needed. */
function copiesOfMigrated(
  create: (template?: string) => Promise<string>,
  made?: string,
): () => Promise<string> {
  let template = made === undefined ? undefined : Promise.resolve(made);
  const migrated = async () => {
    const url = await create();
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    await migrate(pool).finally(() => pool.end());
    return nameOfDatabase(url);
  };
  return async () => {
    template ??= migrated();
    const url = await create(await template);
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    await makePartitionsOfToday(pool).finally(() => pool.end());
    return url;
  };
}

/** A role to log in with. */
export interface TestRole extends AsyncDisposable {
  readonly name: string;
  /** Connection string of the database it was made for, as this role. */
  readonly url: string;
}

/**
 * Makes a role with a random name, since all databases of a server share its roles, and drops it with its rights when
 * disposed of.
 * @param url connection string of a superuser and a database.
 * @param options after `CREATE ROLE name LOGIN`.
 */
export async function createRole(url: string, options = ''): Promise<TestRole> {
  const name = `observatory_${randomBytes(6).toString('hex')}`;
  await runSql(url, `CREATE ROLE ${name} LOGIN ${options}`);
  const own = new URL(url);
  own.username = name;
  return {
    name,
    url: own.href,
    [Symbol.asyncDispose]: async () => void (await runSql(url, `DROP OWNED BY ${name}; DROP ROLE ${name}`)),
  };
}

/** The name in the connection string of a database. */
export function nameOfDatabase(url: string): string {
  return new URL(url).pathname.slice(1);
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}

/** PostgreSQL and PgBouncer refuse to run as root, so there they run as another user. */
export function serverUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const user = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody');
  if (user === undefined) throw new Error('Running as root, and there is neither a user postgres nor nobody');
  return { uid: Number(user[2]), gid: Number(user[3]) };
}

/** The folder of the server binaries: `PG_BIN`, else the newest of Debian's, else those on the path. */
function binaries(): string | undefined {
  const chosen = process.env.PG_BIN;
  const folders = [...(chosen ? [chosen] : []), ...debianFolders(), ...pathFolders()];
  return folders.find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')));
}

function debianFolders(): string[] {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  return versions.map((version) => join(debian, version, 'bin'));
}

function pathFolders(): string[] {
  return (process.env.PATH ?? '').split(':').filter((folder) => folder !== '');
}
