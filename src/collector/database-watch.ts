import { diag } from '@opentelemetry/api';
import { ObservatoryError } from '../base/index.ts';
import { type Database, migrate, openDatabase, toObservatoryError } from '../postgres/index.ts';

/** How often an unavailable database is checked, in milliseconds. */
const ASK_EVERY_MS = 2000;

/** Options and callbacks of a watch. */
export interface WatchOptions {
  /** A connection string, or an open database, which stays the caller's. */
  readonly connection: string | Database | undefined;
  /** Create or update the tables when the database is first reached. */
  readonly migrate: boolean;
  /** Whether the database is considered unavailable. */
  readonly isDown: () => boolean;
  readonly onSeen: (isUp: boolean) => void;
}

/**
 * Monitors the database independently of writes: prepares the tables at start-up, and detects recovery even when no
 * spans arrive.
 */
export class DatabaseWatch {
  readonly #options: WatchOptions;
  readonly #db: Database;
  readonly #close: (() => Promise<void>) | undefined;
  #isPrepared = false;
  #isAsking = false;
  #timer: NodeJS.Timeout | undefined;

  private constructor(options: WatchOptions, db: Database, close: (() => Promise<void>) | undefined) {
    this.#options = options;
    this.#db = db;
    this.#close = close;
  }

  /**
   * Prepares the tables. An unreachable database is waited for.
   * @throws ObservatoryError for permanent errors: a bad connection string, missing tables that may not be created, a
   * refused statement.
   */
  static async start(options: WatchOptions): Promise<DatabaseWatch> {
    const limits = { maxConnections: 1, connectTimeoutMs: 5000, statementTimeoutMs: 60_000 };
    const { connection } = options;
    const isOpen = typeof connection === 'object';
    const db = isOpen ? connection : await openDatabase({ url: connection, ...limits });
    const watch = new DatabaseWatch(options, db, isOpen ? undefined : () => db.close());
    try {
      await watch.#ask();
    } catch (error) {
      if (!isUnreachable(error)) {
        await watch.close();
        throw error;
      }
      diag.warn(`mcp-observatory: ${error.message}. It is waited for`);
    }
    watch.#timer = setInterval(() => void watch.#askWhileDown(), ASK_EVERY_MS).unref();
    return watch;
  }

  /** Name of the database, without its password. */
  get name(): string {
    return this.#db.name;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#close?.();
  }

  async #askWhileDown(): Promise<void> {
    if (this.#isAsking || !this.#options.isDown()) return;
    await this.#ask().catch((error: Error) => diag.debug(`mcp-observatory: ${error.message}`));
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    try {
      if (!this.#isPrepared && this.#options.migrate) await migrate(this.#db);
      else await this.#check();
      this.#isPrepared = true;
      this.#options.onSeen(true);
    } catch (error) {
      this.#options.onSeen(false);
      throw error;
    } finally {
      this.#isAsking = false;
    }
  }

  async #check(): Promise<void> {
    try {
      // The writer role may read this table, and not `mcp_traces`.
      await this.#db.query('SELECT FROM mcp_observatory_migrations LIMIT 0');
    } catch (error) {
      throw toObservatoryError(error, this.#db.name);
    }
  }
}

function isUnreachable(error: unknown): error is ObservatoryError {
  return ObservatoryError.isInstance(error) && error.code === 'DATABASE_UNREACHABLE';
}
