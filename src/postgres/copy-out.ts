import type { CopyClient } from './copy-in.ts';

interface ReplyConnection {
  query(text: string): void;
  readonly stream: { pause(): unknown; resume(): unknown };
}

/** Takes the bytes of some rows. A promise stops the server until it resolves. */
export type RowSink = (rows: Buffer) => Promise<void> | undefined;

/** The output of a `COPY ... TO STDOUT`. */
export interface CopiedOut {
  readonly rows: number;
  /** Bytes of the longest row. */
  readonly longestRow: number;
}

/**
 * Runs a `COPY ... TO STDOUT` and gives each row to a sink, as the server sends them; a slow sink slows the server.
 * @throws the driver's or server's error, or that of the sink.
 */
export function copyOut(client: CopyClient, sql: string, sink: RowSink): Promise<CopiedOut> {
  return new Promise((resolve, reject) => {
    const statement = new CopyOutStatement(sql, sink);
    client.query(statement, (error) => {
      const failure = error ?? statement.failure;
      if (failure === null || failure === undefined) resolve(statement);
      else reject(failure);
    });
  });
}

/** A statement as `pg` runs it, which calls these methods for the server's messages. */
class CopyOutStatement implements CopiedOut {
  rows = 0;
  longestRow = 0;
  /** Error of the sink; the rest is read and not used, so that the connection stays usable. */
  failure: unknown;
  /** Set by `pg`. */
  callback: ((error: unknown) => void) | undefined;
  readonly #sql: string;
  readonly #sink: RowSink;
  #connection: ReplyConnection | undefined;
  #writing: Promise<void> | undefined;

  constructor(sql: string, sink: RowSink) {
    this.#sql = sql;
    this.#sink = sink;
  }

  submit(connection: ReplyConnection): void {
    this.#connection = connection;
    connection.query(this.#sql);
  }

  /** The server sends one message for each row. */
  handleCopyData({ chunk }: { readonly chunk: Buffer }): void {
    if (this.failure !== undefined) return;
    this.rows += 1;
    this.longestRow = Math.max(this.longestRow, chunk.length);
    const written = this.#sink(chunk);
    if (written === undefined) return;
    const stream = this.#connection?.stream;
    stream?.pause();
    this.#writing = written
      .catch((error: unknown) => {
        this.failure ??= error;
      })
      .finally(() => stream?.resume());
  }

  handleReadyForQuery(): void {
    void Promise.resolve(this.#writing).then(() => this.callback?.(null));
  }

  handleError(error: unknown): void {
    this.callback?.(error);
  }

  handleCommandComplete(): void {}
  handleRowDescription(): void {}
  handleDataRow(): void {}
  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
  handleCopyInResponse(): void {}
}
