import {
  type Database,
  nameOfDatabase,
  openDatabase,
  type PostgresConnection,
  type Queryable,
  toObservatoryError,
} from '../postgres/index.ts';

const STATEMENT_TIMEOUT_MS = 30_000;

/** The connection of a queue or a ledger. A connection string is opened on first use; other connections belong to their owner. */
export class ReviewDatabase {
  readonly #connection: PostgresConnection;
  readonly #table: string;
  #own: Promise<Database> | undefined;

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
    const db = await this.#database();
    try {
      return (await db.query(text, values)).rows;
    } catch (error) {
      throw toObservatoryError(error, nameOfDatabase(db), this.#table);
    }
  }

  /** Closes the connections opened here. Idempotent. */
  async close(): Promise<void> {
    await (await this.#own?.catch(() => undefined))?.close();
  }

  #database(): Queryable | Promise<Queryable> {
    if (typeof this.#connection !== 'string') return this.#connection;
    this.#own ??= openDatabase({ url: this.#connection, statementTimeoutMs: STATEMENT_TIMEOUT_MS });
    return this.#own;
  }
}
