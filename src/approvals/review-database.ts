import {
  type Database,
  databaseAt,
  nameOfDatabase,
  openDatabase,
  type PinnedStore,
  type PostgresConnection,
  type Queryable,
  toObservatoryError,
} from '../postgres/index.ts';
import { LEDGER } from './sql.ts';

const STATEMENT_TIMEOUT_MS = 30_000;

/**
 * The connection of a queue or a ledger. A connection string, or the address of an `up`, is opened on first use; other
 * connections belong to their owner.
 */
export class ReviewDatabase {
  readonly #connection: PostgresConnection;
  readonly #table: string;
  #own: Promise<Database> | undefined;
  /** For the outcomes of calls, so that they never wait behind new reservations at an `up`. */
  #settling: Database | undefined;
  readonly #pinned: PinnedStore = {};

  /** @param table what errors name. */
  constructor(connection: PostgresConnection, table = 'mcp_reviews') {
    this.#connection = connection;
    this.#table = table;
  }

  /** @throws ObservatoryError `DATABASE_UNREACHABLE`, `DATABASE_SCHEMA_MISSING` or `DATABASE_REFUSED`. */
  async query(
    text: string,
    values: readonly (string | null)[],
  ): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const db = await this.#database(text);
    try {
      return (await db.query(text, values)).rows;
    } catch (error) {
      throw toObservatoryError(error, nameOfDatabase(db), this.#table);
    }
  }

  /** Closes the connections opened here. Idempotent. */
  async close(): Promise<void> {
    await this.#settling?.close();
    await (await this.#own?.catch(() => undefined))?.close();
  }

  #database(text: string): Queryable | Promise<Queryable> {
    const connection = this.#connection;
    if (typeof connection !== 'string') return connection;
    if (!connection.startsWith('http://')) {
      this.#own ??= openDatabase({ url: connection, statementTimeoutMs: STATEMENT_TIMEOUT_MS });
      return this.#own;
    }
    this.#own ??= Promise.resolve(databaseAt(connection, { pinned: this.#pinned }));
    if (text !== LEDGER.settle) return this.#own;
    this.#settling ??= databaseAt(connection, { pinned: this.#pinned });
    return this.#settling;
  }
}
