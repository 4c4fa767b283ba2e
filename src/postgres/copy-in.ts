import type { Writable } from 'node:stream';
import { sqlStateOf } from './database-error.ts';
import type { Queryable } from './types.ts';

/** What COPY needs of a connection of the package `pg`: its extension point, on which pg-copy-streams stands too. */
export interface CopyClient {
  query(submittable: object, callback: (error: unknown) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  removeListener(event: 'error', listener: (error: Error) => void): unknown;
  /** Gives the connection back to its pool, or closes it. */
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

/** Of the messages `CopyData` and `CopyDone`: PostgreSQL documentation, "Message Formats". */
const COPY_DATA = 0x64;
const LENGTH_BYTES = 4;
/** The server is shutting down or has lost us, so its connection is of no use any more. */
const CONNECTION_IS_OVER = /^(?:08|57P)/;

/** Whether this is a pool of `pg`, whatever its copy: it says how many of its connections are idle. */
export function isCopyPool(db: Queryable): db is CopyPool {
  return 'connect' in db && typeof db.connect === 'function' && 'idleCount' in db && 'totalCount' in db;
}

/** Takes a connection for a piece of work; one that broke is closed, and its loss never ends the host. */
export async function withClient<T>(pool: CopyPool, work: (client: CopyClient) => Promise<T>): Promise<T> {
  // The statement also gets the error of a lost connection; without a listener it would end the process. It must stand
  // at once: a promise answers a moment later, and the connection may be lost in that very moment.
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
    const state = sqlStateOf(error);
    isUsable = state !== undefined && !CONNECTION_IS_OVER.test(state);
    throw error;
  } finally {
    client.release(!isUsable);
    client.removeListener('error', ignore);
  }
}

/** Whether this connection speaks COPY; that of pg-native does not. */
export function canCopy(client: CopyClient): boolean {
  return typeof client.connection?.endCopyFrom === 'function';
}

/**
 * Runs statements, one of which is a `COPY ... FROM STDIN` that is given these buffers. They go in one message, so
 * Postgres makes one transaction of them.
 *
 * @returns the tags of the commands completed, e.g. `INSERT 0 5`.
 * @throws the driver's or server's error.
 */
export function copyIn(client: CopyClient, sql: string, buffers: readonly Buffer[]): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const statement = new CopyStatement(sql, buffers);
    // The callback goes beside the statement: instrumentations and the timeout of `pg` put theirs around it.
    client.query(statement, (error) => {
      if (error === null || error === undefined) resolve(statement.tags);
      else reject(error);
    });
  });
}

/** A statement as `pg` runs it: it calls these methods as the messages of the server come in. */
class CopyStatement {
  readonly tags: string[] = [];
  /** Set by `pg`. */
  callback: ((error: unknown) => void) | undefined;
  readonly #sql: string;
  readonly #buffers: readonly Buffer[];

  constructor(sql: string, buffers: readonly Buffer[]) {
    this.#sql = sql;
    this.#buffers = buffers;
  }

  submit(connection: CopyConnection): void {
    connection.query(this.#sql);
  }

  handleCopyInResponse(connection: CopyConnection): void {
    const { stream } = connection;
    // A connection that was lost tells it by itself.
    if (!stream.writable) return;
    // Straight to the socket, all in one write: the driver would copy every byte into a buffer of its own.
    stream.cork();
    for (const buffer of this.#buffers) {
      stream.write(headerOf(buffer));
      stream.write(buffer);
    }
    connection.endCopyFrom();
    stream.uncork();
  }

  handleCommandComplete(message: { readonly text: string }): void {
    this.tags.push(message.text);
  }

  handleReadyForQuery(): void {
    this.callback?.(null);
  }

  handleError(error: unknown): void {
    this.callback?.(error);
  }

  handleRowDescription(): void {}
  handleDataRow(): void {}
  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
  handleCopyData(): void {}
}

function headerOf(data: Buffer): Buffer {
  const header = Buffer.allocUnsafe(1 + LENGTH_BYTES);
  header[0] = COPY_DATA;
  header.writeInt32BE(LENGTH_BYTES + data.length, 1);
  return header;
}
