/**
 * The seam between this package and a database driver.
 *
 * Terms: a *connection* is what the user provides: a connection string, or anything with a `query` method. A
 * *queryable* is the narrow interface that we use. A *database* is a queryable that this package opens and closes.
 */

import type { StoreDoor } from '../base/index.ts';

/** Result of a query; only the rows are used. */
export interface QueryResult {
  readonly rows: readonly Record<string, unknown>[];
}

/**
 * Anything that runs SQL: a `pg.Pool`, a `pg.Client`, a PGlite, or your own object. Each call may use another
 * connection, as a pool does.
 */
export interface Queryable {
  /**
   * Runs one statement with `$1`-style parameters. Without `values`, the text may contain several statements, to be run
   * in one implicit transaction, as the simple query protocol does. If the object has an `exec(text)` method, as PGlite
   * does, that is used for them instead.
   */
  query(text: string, values?: readonly unknown[]): Promise<QueryResult>;
}

/** A connection string (`postgresql://user:password@host:5432/database`), or an open connection that stays yours. */
export type PostgresConnection = string | Queryable;

/** One statement with `$1`-style parameters. */
export interface Statement {
  readonly text: string;
  readonly values?: readonly unknown[] | undefined;
}

/** Options of {@link Database.readOnly}. */
export interface ReadOnlyOptions {
  /** How long each statement may take on a server; in the embedded database, all of them. */
  readonly timeoutMs: number;
  /** Whether an agent asks, not the page: one question at a time, after all others. @defaultValue false */
  readonly isForeign?: boolean | undefined;
}

/** Options of {@link Database.share}. */
export interface ShareOptions {
  /** Where this process takes spans, OTLP over HTTP. */
  readonly spansUrl?: string | undefined;
  /** The statements of gates, which may write. @defaultValue none */
  readonly gates?: ReadonlySet<unknown> | undefined;
}

/** A database opened by `openDatabase`. */
export interface Database extends Queryable, AsyncDisposable {
  /** A server, or the embedded PGlite. */
  readonly kind: 'postgres' | 'pglite';
  /** Name for messages: the connection string without its password, or the data directory. */
  readonly name: string;
  /** Runs several statements in one transaction. */
  exec(text: string): Promise<unknown>;
  /**
   * Runs statements in one transaction that may only read, and rolls it back.
   *
   * @throws ObservatoryError `DATABASE_REFUSED` when the time is over. The embedded database also ends a question that
   *   takes 512 MB of memory, or 5 s while a statement waits.
   */
  readOnly(statements: readonly Statement[], options: ReadOnlyOptions): Promise<readonly QueryResult[]>;
  /** Lets other processes of this user read it until it is closed, and gates ask. */
  share?(options?: ShareOptions): Promise<StoreDoor>;
  /** Where the process that holds an embedded database takes spans, if another one does. */
  readonly spansUrl?: string | undefined;
  /** Closes the connections and releases the data directory. Idempotent. */
  close(): Promise<void>;
}

/** Runs several statements in one implicit transaction. */
export async function execScript(db: Queryable, text: string): Promise<void> {
  if ('exec' in db && typeof db.exec === 'function') await db.exec(text);
  else await db.query(text);
}

/** Name of a database for messages, if it is a {@link Database}. */
export function nameOfDatabase(db: Queryable): string | undefined {
  return 'kind' in db && 'name' in db && typeof db.name === 'string' ? db.name : undefined;
}
