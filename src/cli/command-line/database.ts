import { findRunningPage, ObservatoryError, printableLine, runningProvider } from '../../base/index.ts';
import type { GateApprovals } from '../../policy/index.ts';
import type { Database } from '../../postgres/index.ts';
import { type CommandIo, type FlagValues, usageError } from './command.ts';
import { fetchedModule } from './fetched-packages.ts';

export const DATABASE_FLAGS = { 'database-url': { type: 'string' }, 'data-dir': { type: 'string' } } as const;

type DatabaseValues = FlagValues<keyof typeof DATABASE_FLAGS>;

/**
 * Variables a command takes a server from: `own` is `MCP_OBSERVATORY_DATABASE_URL` alone, `any` also `DATABASE_URL`,
 * which may be that of another program.
 */
type DatabaseVariables = 'own' | 'any';

export interface DatabaseUse {
  /** Whether to create an embedded database that is missing. @defaultValue false */
  readonly create?: boolean;
  /** @defaultValue `any` */
  readonly variables?: DatabaseVariables;
  /** Folder of the embedded database without `--data-dir`. @defaultValue `DEFAULT_DATA_DIR` */
  readonly dataDir?: string;
  /** Whether it is enough to read what another process holds, such as `up`. @defaultValue unless one is created */
  readonly mayShare?: boolean;
  /** Gives up what runs in an embedded database. */
  readonly signal?: AbortSignal;
}

const HAS_PASSWORD = /^\w+:\/\/[^/?#@:]*:[^/?#@]+@|[?&]password=[^&]/;

/**
 * The connection string that flags and environment name; a flag goes before any variable, and an empty variable counts
 * as unset. What becomes of `DATABASE_URL` is said on stderr: which database it names, or that it is not used.
 *
 * @returns undefined for the embedded database.
 * @throws ObservatoryError `INVALID_OPTION` for both flags at once, or a connection string that does not parse.
 */
export async function findDatabaseUrl(
  values: DatabaseValues,
  { env, stderr }: Pick<CommandIo, 'env' | 'stderr'>,
  variables: DatabaseVariables = 'any',
): Promise<string | undefined> {
  const { 'database-url': url, 'data-dir': dataDir } = values;
  if (url !== undefined && dataDir !== undefined) {
    throw usageError('Expected one database: either --database-url or --data-dir');
  }
  if (url !== undefined && HAS_PASSWORD.test(url))
    stderr.writeLine(
      'mcp-observatory: --database-url holds a password, which other users see in the list of processes: put it into ' +
        'MCP_OBSERVATORY_DATABASE_URL, PGPASSWORD or ~/.pgpass',
    );
  if (url !== undefined || dataDir !== undefined) return url;
  const own = env.MCP_OBSERVATORY_DATABASE_URL?.trim();
  if (own) return own;
  const common = env.DATABASE_URL?.trim();
  if (!common) return undefined;
  if (variables === 'own') {
    stderr.writeLine(
      'mcp-observatory: DATABASE_URL is set and not used, since it may be the database of another program. For that ' +
        'one, use --database-url or MCP_OBSERVATORY_DATABASE_URL',
    );
    return undefined;
  }
  const { nameOfConnectionString } = await import('../../postgres/index.ts');
  stderr.writeLine(
    printableLine(`mcp-observatory: using the database of DATABASE_URL, ${nameOfConnectionString(common)}`),
  );
  return common;
}

/**
 * Opens the database that the flags or the environment name. Postgres is loaded here, so that commands without a
 * database do not load it; a driver that is not installed is fetched into the user's cache.
 */
export async function findOpenDatabase(
  values: DatabaseValues,
  io: CommandIo,
  { create = false, variables, dataDir, signal, mayShare = !create }: DatabaseUse = {},
): Promise<Database> {
  const { openDatabase } = await import('../../postgres/index.ts');
  return openDatabase({
    url: await findDatabaseUrl(values, io, variables),
    dataDir: values['data-dir'] ?? dataDir,
    create,
    mayShare,
    signal,
    packageAt: (name) => fetchedModule(name, io),
  });
}

/** Where a page is unless another port is named. */
export const PAGE_PORT = 4320;
/** An `up` at its usual port. */
export const UP_ADDRESS = `http://127.0.0.1:${PAGE_PORT}`;

/**
 * The store of the `up` that runs over the database of this folder, else of one at its usual port; undefined without one,
 * or where the environment names a database.
 */
async function findRunningStore({ env }: Pick<CommandIo, 'env'>): Promise<Database | undefined> {
  if (env.MCP_OBSERVATORY_DATABASE_URL?.trim()) return undefined;
  const { DEFAULT_DATA_DIR, databaseAt, findShared } = await import('../../postgres/index.ts');
  const shared = await findShared(DEFAULT_DATA_DIR);
  if (shared !== undefined) return shared;
  return findRunningPage(env, PAGE_PORT) === undefined ? undefined : databaseAt(UP_ADDRESS, { env });
}

/** Refreshes what is derived; a role that may only read sees it as of the last refresh by another process. */
export async function ifAllowed(refresh: () => Promise<unknown>): Promise<void> {
  try {
    await refresh();
  } catch (error) {
    if (!ObservatoryError.isInstance(error) || error.code !== 'DATABASE_REFUSED') throw error;
  }
}

/** How long a call waits for the person at the page. */
const WAIT_MS = 60_000;

/** What a command shares with an `up`, until it is disposed of. */
export interface BesideUp extends AsyncDisposable {
  /** Where a gate asks for approvals, counts calls and keeps effects. */
  readonly approvals: GateApprovals;
}

/**
 * Joins the `up` that runs, for a command that calls tools: spans go there unless something else takes them, and its gate
 * asks there. Undefined without one, or where a database is named.
 */
export async function joinUp(io: CommandIo): Promise<BesideUp | undefined> {
  const store = await findRunningStore(io);
  if (store === undefined) return undefined;
  const { PostgresReviewQueue } = await import('../../approvals/index.ts');
  const { spansUrl } = store;
  const isTaken = spansUrl === undefined || runningProvider() !== undefined;
  const observatory = isTaken
    ? undefined
    : await (await import('../../setup/index.ts')).startObservatory({
        serviceName: io.env.OTEL_SERVICE_NAME || 'mcp-observatory',
        postgres: false,
        otlp: { url: `${spansUrl}/v1/traces` },
      });
  const queue = new PostgresReviewQueue({ connection: store });
  if (io.stderr.isTerminal)
    io.stderr.writeLine("mcp-observatory: calls that need approval wait on the page of 'up'");
  return {
    approvals: { queue, waitMs: WAIT_MS },
    [Symbol.asyncDispose]: async () => {
      await observatory?.shutdown();
      await queue.close();
      await store.close();
    },
  };
}
