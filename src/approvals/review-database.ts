import { ObservatoryError, VERSION } from '../base/index.ts';
import {
  type Database,
  DatabaseBehindDoor,
  databaseAt,
  isUnknownBehindDoor,
  nameOfDatabase,
  openDatabase,
  type PostgresConnection,
  type Queryable,
  toObservatoryError,
} from '../postgres/index.ts';
import { GATE_STATEMENTS, LEDGER } from './sql.ts';

const STATEMENT_TIMEOUT_MS = 30_000;

/**
 * The connection of a queue or a ledger. A connection string, or the address of an `up`, is opened on first use; other
 * connections belong to their owner.
 */
export class ReviewDatabase {
  readonly #connection: PostgresConnection;
  readonly #table: string;
  #own: Promise<Database> | undefined;
  #up: DatabaseBehindDoor | undefined;
  /** For the outcomes of calls, so that they never wait behind new reservations at an `up`. */
  #settling: Database | undefined;

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
      if (GATE_STATEMENTS.has(text) && isUnknownBehindDoor(db, error)) throw differ(db, error);
      throw toObservatoryError(error, nameOfDatabase(db), this.#table);
    }
  }

  /** Closes the connections opened here. Idempotent. */
  async close(): Promise<void> {
    await this.#settling?.close();
    await this.#up?.close();
    await (await this.#own?.catch(() => undefined))?.close();
  }

  #database(text: string): Queryable | Promise<Queryable> {
    const connection = this.#connection;
    if (connection instanceof DatabaseBehindDoor) return this.#behind(connection, text);
    if (typeof connection !== 'string') return connection;
    if (connection.startsWith('http://')) {
      this.#up ??= databaseAt(connection);
      return this.#behind(this.#up, text);
    }
    this.#own ??= openDatabase({ url: connection, statementTimeoutMs: STATEMENT_TIMEOUT_MS });
    return this.#own;
  }

  #behind(door: DatabaseBehindDoor, text: string): Database {
    if (text !== LEDGER.settle) return door;
    this.#settling ??= door.beside();
    return this.#settling;
  }
}

function differ(db: Queryable, cause: unknown): ObservatoryError {
  const what = nameOfDatabase(db);
  const message = `The 'up' of ${what} does not know what this gate asks: it is of another version than ${VERSION}. Stop it, and start 'up' of this version`;
  return new ObservatoryError('DATABASE_REFUSED', message, { cause });
}
