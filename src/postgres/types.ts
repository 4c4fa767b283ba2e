/**
 * The seam between this package and a database driver.
 *
 * Terms: a *connection* is what the user gives us: a connection string, or anything with a `query` method. A
 * *queryable* is the narrow thing we use. A *database* is a queryable that this package opened and closes.
 */

/** What a query answers; only the rows are read. */
export interface QueryResult {
  readonly rows: readonly Record<string, unknown>[];
}

/**
 * Anything that runs SQL: a `pg.Pool`, a `pg.Client`, a PGlite, or an object of your own. Each call may use another
 * connection, as a pool does.
 */
export interface Queryable {
  /**
   * Runs one statement with `$1`-style parameters. Called without `values` it is given several statements at once and
   * must run them in one implicit transaction, as the simple query protocol does; where it cannot, an `exec(text)`
   * method beside it is used (PGlite has one).
   */
  query(text: string, values?: readonly unknown[]): Promise<QueryResult>;
}

/** A connection string (`postgresql://user:password@host:5432/database`), or an open connection that stays yours. */
export type PostgresConnection = string | Queryable;

/** A database opened by `openDatabase`. */
export interface Database extends Queryable, AsyncDisposable {
  /** A server, or the embedded PGlite. */
  readonly kind: 'postgres' | 'pglite';
  /** How to name it to a person: the connection string without its password, or the data directory. */
  readonly name: string;
  /** Runs several statements in one transaction. */
  exec(text: string): Promise<unknown>;
  /** Closes the connections and gives the data directory free. Calling it again does nothing. */
  close(): Promise<void>;
}

/** Runs several statements in one implicit transaction, on whatever the queryable is. */
export async function execScript(db: Queryable, text: string): Promise<void> {
  if ('exec' in db && typeof db.exec === 'function') await db.exec(text);
  else await db.query(text);
}

/** How to name a database in a message: that of {@link Database.name}, else nothing is known. */
export function nameOfDatabase(db: Queryable): string | undefined {
  return 'kind' in db && 'name' in db && typeof db.name === 'string' ? db.name : undefined;
}
