import type { Writable } from 'node:stream';
import { isRowAtFault } from './database-error.ts';
import type { Queryable } from './types.ts';

/** A connection of the package `pg`, with its extension point, which pg-copy-streams uses too. */
export interface CopyClient {
  query(submittable: object, callback: (error: unknown) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  removeListener(event: 'error', listener: (error: Error) => void): unknown;
  /** Returns the connection to its pool, or closes it. */
  release(destroy?: boolean): void;
  readonly connection?: Partial<CopyConnection> | undefined;
}

interface CopyConnection {
  query(text: string): void;
  endCopyFrom(): void;
  readonly stream: Writable;
}

/** A pool of the package `pg`. */
export interface CopyPool extends Queryable {
  readonly idleCount: number;
  readonly totalCount: number;
  connect(callback: (error: Error | undefined, client: CopyClient | undefined) => void): void;
}

/** First byte of the message `CopyData`: PostgreSQL documentation, "Message Formats". */
const COPY_DATA = 0x64;
const LENGTH_BYTES = 4;

/** Whether this is a pool of `pg`, from any installed copy of the package. */
export function isCopyPool(db: Queryable): db is CopyPool {
  return 'connect' in db && typeof db.connect === 'function' && 'idleCount' in db && 'totalCount' in db;
}

/**
 * Runs work on a connection of the pool, which never ends the host process. If the work fails, and not for a row, the
 * connection is closed, and so are the idle ones of a pool of ours: they may be broken, or have settings of their role,
 * such as a timeout, that were changed since they were made.
 */
export async function withClient<T>(pool: CopyPool, work: (client: CopyClient) => Promise<T>): Promise<T> {
  // The statement reports a lost connection too, but without a listener the event would end the process. It is added
  // in the callback, because the connection may be lost before the promise resolves.
  const ignore = () => {};
  const client = await new Promise<CopyClient>((resolve, reject) => {
    pool.connect((error, connected) => {
      connected?.on('error', ignore);
      if (connected === undefined) reject(error ?? new Error('The pool gave no connection'));
      else resolve(connected);
    });
  });
  let isUsable = false;
  try {
    const result = await work(client);
    isUsable = true;
    return result;
  } catch (error) {
    isUsable = isRowAtFault(error);
    throw error;
  } finally {
    client.release(!isUsable);
    client.removeListener('error', ignore);
    if (!isUsable && 'kind' in pool) closeIdle(pool);
  }
}

/** A pool returns an idle connection, if it has one, before it opens another. */
function closeIdle(pool: CopyPool): void {
  for (let left = pool.idleCount; left > 0; left -= 1) {
    pool.connect((_, client) => client?.release(true));
  }
}

/** Whether this connection supports COPY; one of pg-native does not. */
export function canCopy(client: CopyClient): boolean {
  return typeof client.connection?.endCopyFrom === 'function';
}

/**
 * Runs statements, one of which is a `COPY ... FROM STDIN` of these buffers. The statements are sent as one message, so
 * Postgres runs them in one transaction.
 *
 * @param data must not fail: the rest of it may come while the first is read by the server.
 * @param isProven whether these statements succeeded before. Then the data does not wait for the server to ask for it,
 *   which would leave the server idle for a round trip. If they fail nevertheless, the server drops the data, but
 *   PgBouncer up to 1.25 may hold a connection for data that comes after the error, until the next statement.
 * @returns the tags of the commands completed, e.g. `INSERT 0 5`.
 * @throws the driver's or server's error.
 */
export function copyIn(
  client: CopyClient,
  sql: string,
  data: AsyncIterable<readonly Buffer[]>,
  isProven = false,
): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const statement = new CopyStatement(sql, data, isProven);
    // The callback is a separate argument, because instrumentations and the timeout of `pg` wrap it.
    client.query(statement, (error) => {
      if (error === null || error === undefined) resolve(statement.tags);
      else reject(error);
    });
  });
}

/** A statement as `pg` runs it, which calls these methods for the server's messages. */
class CopyStatement {
  readonly tags: string[] = [];
  /** Set by `pg`. */
  callback: ((error: unknown) => void) | undefined;
  readonly #sql: string;
  readonly #data: AsyncIterable<readonly Buffer[]>;
  readonly #isProven: boolean;
  #isAsked = false;
  #isAllSent = false;
  /** Set when the server has answered: what is sent later would be taken for the data of the next statement. */
  #isOver = false;

  constructor(sql: string, data: AsyncIterable<readonly Buffer[]>, isProven: boolean) {
    this.#sql = sql;
    this.#data = data;
    this.#isProven = isProven;
  }

  submit(connection: CopyConnection): void {
    if (this.#isProven) corkForNow(connection.stream);
    connection.query(this.#sql);
    if (this.#isProven) void this.#send(connection);
  }

  handleCopyInResponse(connection: CopyConnection): void {
    this.#isAsked = true;
    if (this.#isProven) this.#end(connection);
    else void this.#send(connection);
  }

  async #send(connection: CopyConnection): Promise<void> {
    const { stream } = connection;
    for await (const buffers of this.#data) {
      // A lost connection is reported by `pg`.
      if (this.#isOver || !stream.writable) return;
      // Straight to the socket: the driver would copy every byte into its own buffer.
      corkForNow(stream);
      for (const buffer of buffers) {
        stream.write(toHeader(buffer));
        stream.write(buffer);
      }
    }
    this.#isAllSent = true;
    this.#end(connection);
  }

  /** Not before the server asked for data: PgBouncer after 1.25 would miss the end, and not free its connection. */
  #end(connection: CopyConnection): void {
    if (!this.#isAllSent || !this.#isAsked || this.#isOver || !connection.stream.writable) return;
    connection.endCopyFrom();
  }

  handleCommandComplete(message: { readonly text: string }): void {
    this.tags.push(message.text);
  }

  handleReadyForQuery(): void {
    this.#isOver = true;
    this.callback?.(null);
  }

  handleError(error: unknown): void {
    this.#isOver = true;
    this.callback?.(error);
  }

  handleRowDescription(): void {}
  handleDataRow(): void {}
  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
  handleCopyData(): void {}
}

/** Joins all writes of one turn of the event loop into one. */
function corkForNow(stream: Writable): void {
  stream.cork();
  process.nextTick(() => stream.uncork());
}

function toHeader(data: Buffer): Buffer {
  const header = Buffer.allocUnsafe(1 + LENGTH_BYTES);
  header[0] = COPY_DATA;
  header.writeInt32BE(LENGTH_BYTES + data.length, 1);
  return header;
}
