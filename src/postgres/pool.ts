import { Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { diag } from '@opentelemetry/api';
import { importPeer, loadPeer } from '../base/index.ts';
import { backgroundClients } from './background-client.ts';
import { nameOfConnectionString } from './connection-string.ts';
import type { CopyClient, CopyPool } from './copy-in.ts';

/** Options of a connection string's pool. */
export interface PoolOptions {
  /** @defaultValue 4 */
  readonly maxConnections?: number | undefined;
  /** How long to wait for a connection, in milliseconds. @defaultValue 10000 */
  readonly connectTimeoutMs?: number | undefined;
  /** How long to wait for a statement, in milliseconds; 0 for no limit. @defaultValue 0 */
  readonly statementTimeoutMs?: number | undefined;
  /**
   * TLS, as `pg` accepts it: `true`, or options of `node:tls` such as `{ ca }`, which check the server's certificate and
   * name. `sslmode`, `sslrootcert`, `sslcert` and `sslkey` of the connection string take precedence.
   * @defaultValue as in the connection string, else none
   */
  readonly ssl?: boolean | ConnectionOptions | undefined;
  /**
   * Whether a connection being made and a statement under way keep the process alive. Set it to false where something
   * shuts down at the end of the process and bounds that, as `startObservatory` does. @defaultValue true
   */
  readonly holdsProcess?: boolean | undefined;
}

/** Where the packages of the drivers are. */
export interface DriverSource {
  /**
   * Address of the module of an optional package (`pg`, `@electric-sql/pglite`), or undefined for the installed one.
   * @defaultValue the installed package
   */
  readonly packageAt?: ((name: string) => Promise<string | undefined>) | undefined;
}

/** A pool that this package opened. */
export interface OwnPool extends CopyPool {
  readonly kind: 'postgres';
  /** The connection string without its password. */
  readonly name: string;
  /** Waits for running statements and closes the connections. Idempotent. */
  end(): Promise<void>;
}

/**
 * Opens a pool of connections with the optional package `pg`; the first statement connects. Idle connections do not
 * keep the process alive, and a broken one is logged through `diag` and replaced.
 *
 * @param signal destroys all connections, also those being made, and allows no new one.
 * @throws ObservatoryError `INVALID_OPTION` for a connection string that does not parse, `MISSING_PEER` without `pg`.
 */
export async function openPool(
  connectionString: string,
  options: PoolOptions & DriverSource = {},
  signal?: AbortSignal,
): Promise<OwnPool> {
  const name = nameOfConnectionString(connectionString);
  const at = await options.packageAt?.('pg');
  const { default: pg } = await loadPeer('pg', () => importPeer<typeof import('pg')>(at ?? 'pg'), {
    neededFor: 'A connection to Postgres',
  });
  const statementTimeoutMs = options.statementTimeoutMs ?? 0;
  const connectTimeoutMs = options.connectTimeoutMs ?? 10_000;
  const background =
    options.holdsProcess === false
      ? backgroundClients(pg.Client, connectTimeoutMs, statementTimeoutMs)
      : undefined;
  const sockets = new Set<Socket>();
  const pool = new pg.Pool({
    connectionString,
    application_name: 'mcp-observatory',
    max: options.maxConnections ?? 4,
    // Enforced by the client: PgBouncer would refuse a statement timeout as a start-up parameter.
    ...(background === undefined
      ? {
          connectionTimeoutMillis: connectTimeoutMs,
          ...(statementTimeoutMs > 0 ? { query_timeout: statementTimeoutMs } : {}),
        }
      : { Client: background.Client }),
    keepAlive: true,
    allowExitOnIdle: true,
    // The pool itself cannot end a connection that is being made.
    stream: () => {
      const socket = background?.socket() ?? new Socket();
      sockets.add(socket);
      return socket.once('close', () => void sockets.delete(socket));
    },
    ...(options.ssl === undefined ? {} : { ssl: options.ssl }),
  });
  // Without a listener, losing an idle connection would end the host process.
  pool.on('error', (error) => {
    diag.warn(`mcp-observatory: an idle connection to ${name} was lost: ${error.message}`);
  });
  let ended: Promise<void> | undefined;
  const end = () => {
    ended ??= pool.end();
    return ended;
  };
  const abort = () => {
    void end();
    for (const socket of sockets) socket.destroy();
  };
  if (signal?.aborted) abort();
  else signal?.addEventListener('abort', abort, { once: true });
  return {
    kind: 'postgres',
    name,
    get idleCount() {
      return pool.idleCount;
    },
    get totalCount() {
      return pool.totalCount;
    },
    query: (text, values) => pool.query(text, values as unknown[] | undefined),
    connect: (callback) => {
      pool.connect((error, client) => callback(error, client as unknown as CopyClient | undefined));
    },
    end,
  };
}
