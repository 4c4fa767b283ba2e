import { diag } from '@opentelemetry/api';
import { ObservatoryError } from '../base/index.ts';
import { openClickHouseStore } from '../clickhouse/index.ts';
import { type Database, migrate, openDatabase, toObservatoryError } from '../postgres/index.ts';

/** How often an unavailable database is checked, in milliseconds. */
const ASK_EVERY_MS = 2000;

/** The database that spans are written to, as far as a watch goes. */
interface WatchedStore {
  /** Without its password. */
  readonly name: string;
  /** Creates or updates the tables. */
  migrate(): Promise<unknown>;
  /** Fails if the database cannot be reached or its tables are missing. */
  check(): Promise<unknown>;
  close(): Promise<void>;
}

/** Options and callbacks of a watch. */
export interface WatchOptions {
  /** A connection string of Postgres, or an open database, which stays the caller's. */
  readonly connection: string | Database | undefined;
  /** URL of a ClickHouse instead. */
  readonly clickhouseUrl: string | undefined;
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
  readonly #store: WatchedStore;
  #isPrepared = false;
  #isAsking = false;
  #timer: NodeJS.Timeout | undefined;

  private constructor(options: WatchOptions, store: WatchedStore) {
    this.#options = options;
    this.#store = store;
  }

  /**
   * Prepares the tables. An unreachable database is waited for.
   * @throws ObservatoryError for permanent errors: a bad connection string, missing tables that may not be created, a
   * refused statement.
   */
  static async start(options: WatchOptions): Promise<DatabaseWatch> {
    const { connection, clickhouseUrl } = options;
    const store =
      clickhouseUrl === undefined
        ? await openPostgresStore(connection)
        : await openClickHouseStore(clickhouseUrl);
    const watch = new DatabaseWatch(options, store);
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
    return this.#store.name;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#store.close();
  }

  async #askWhileDown(): Promise<void> {
    if (this.#isAsking || !this.#options.isDown()) return;
    await this.#ask().catch((error: Error) => diag.debug(`mcp-observatory: ${error.message}`));
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    try {
      if (!this.#isPrepared && this.#options.migrate) await this.#store.migrate();
      else await this.#store.check();
      this.#isPrepared = true;
      this.#options.onSeen(true);
    } catch (error) {
      this.#options.onSeen(false);
      throw error;
    } finally {
      this.#isAsking = false;
    }
  }
}

async function openPostgresStore(connection: string | Database | undefined): Promise<WatchedStore> {
  const limits = { maxConnections: 1, connectTimeoutMs: 5000, statementTimeoutMs: 60_000 };
  const isOpen = typeof connection === 'object';
  const db = isOpen ? connection : await openDatabase({ url: connection, ...limits });
  return {
    name: db.name,
    migrate: () => migrate(db),
    check: async () => {
      try {
        // The writer role may read this table, and not `mcp_traces`.
        await db.query('SELECT FROM mcp_observatory_migrations LIMIT 0');
        const { rows } = await db.query(`SELECT to_regclass('mcp_traces') IS NOT NULL AS is_there`);
        if (rows[0]?.is_there === true) return;
      } catch (error) {
        throw toObservatoryError(error, db.name);
      }
      throw new ObservatoryError(
        'DATABASE_SCHEMA_MISSING',
        `The table mcp_traces is missing in ${db.name}. Run: npx mcp-observatory db migrate`,
      );
    },
    close: async () => {
      if (!isOpen) await db.close();
    },
  };
}

function isUnreachable(error: unknown): error is ObservatoryError {
  return ObservatoryError.isInstance(error) && error.code === 'DATABASE_UNREACHABLE';
}
