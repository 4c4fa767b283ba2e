/** Answers to a server's own requests that wait to be sent, in number and bytes. */
const MAX_ANSWERS = 256;
const MAX_BYTES = 8 * 1024 * 1024;
/** Answers to what was already read when reading stopped: one chunk holds hundreds of requests, a batch any number. */
const MAX_HELD = 4_096;
/** How long a server with a full backlog may take nothing. */
const STALLED_MS = 10_000;

/**
 * Counts the answers that a server has not taken. While they are many, nothing more is read from it, so it cannot ask for
 * more; if it then takes none for ten seconds, `onStalled` is called. Requests of our own do not count: a server may be
 * too busy to read them, and has to be read until it is done.
 */
export class AnswerBacklog {
  readonly #onStalled: (error: Error) => void;
  readonly #readers: Set<() => void> = new Set();
  #answers = 0;
  #bytes = 0;
  #stalled: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(onStalled: (error: Error) => void) {
    this.#onStalled = onStalled;
  }

  get isFull(): boolean {
    return !this.#isClosed && (this.#answers >= MAX_ANSWERS || this.#bytes >= MAX_BYTES);
  }

  /** Whether not even answers to what was already read are kept. */
  get isOverfull(): boolean {
    return !this.#isClosed && (this.#answers >= MAX_HELD || this.#bytes >= 2 * MAX_BYTES);
  }

  /** Adds an answer. @returns what to call once, when the server has taken it or never will. */
  add(bytes: number): () => void {
    this.#answers += 1;
    this.#bytes += bytes;
    if (this.isFull) this.#stalled ??= setTimeout(() => this.#giveUp(), STALLED_MS).unref();
    return () => this.#taken(bytes);
  }

  /** Resolves when more may be read from the server, or `signal` fires. */
  async room(signal?: AbortSignal | null): Promise<void> {
    if (!this.isFull || signal?.aborted === true) return;
    await new Promise<void>((resolve) => {
      const resume = (): void => {
        this.#readers.delete(resume);
        signal?.removeEventListener('abort', resume);
        resolve();
      };
      this.#readers.add(resume);
      signal?.addEventListener('abort', resume);
    });
  }

  /** Lets readers go on, to find out that the connection is closed. */
  close(): void {
    this.#isClosed = true;
    this.#release();
  }

  #taken(bytes: number): void {
    this.#answers -= 1;
    this.#bytes -= bytes;
    if (this.isFull) this.#stalled?.refresh();
    else this.#release();
  }

  #release(): void {
    clearTimeout(this.#stalled);
    this.#stalled = undefined;
    for (const resume of [...this.#readers]) resume();
  }

  #giveUp(): void {
    const waiting = `${this.#answers} answers to its requests wait, and it took none for ${STALLED_MS / 1_000} seconds`;
    this.#onStalled(new Error(`the server asks and does not read: ${waiting}`));
  }
}
