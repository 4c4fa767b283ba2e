import { Worker } from 'node:worker_threads';
import { ObservatoryError } from '../base/index.ts';
import { toError } from './database-error.ts';
import type { EmbeddedAnswer, EmbeddedRequest, EmbeddedThreadData } from './embedded-thread.ts';

/** Deeper than Postgres allows its own stack to be, since PGlite does not survive an overflow of the thread's. */
const STACK_MB = 32;

interface Waiting {
  resolve(answer: EmbeddedAnswer): void;
  reject(error: Error): void;
}

/**
 * The thread of an embedded database, seen from outside. It takes one request at a time, and can be ended at any moment:
 * for the data directory that is a crash, which loses nothing that was committed.
 */
export class EmbeddedWorker {
  readonly #worker: Worker;
  readonly #exited: Promise<void>;
  readonly #opened: Promise<EmbeddedAnswer>;
  #waiting: Waiting | undefined;
  #terminated: Promise<void> | undefined;
  #ended: Error | undefined;

  constructor(data: EmbeddedThreadData) {
    // Preloaded hooks are not needed there.
    const { NODE_OPTIONS: _, ...env } = process.env;
    this.#worker = new Worker(new URL('./embedded-thread.js', import.meta.url), {
      workerData: data,
      execArgv: [],
      env,
      name: 'mcp-observatory-database',
      resourceLimits: { stackSizeMb: STACK_MB },
    });
    this.#exited = new Promise((resolve) => this.#worker.once('exit', () => resolve()));
    this.#worker.on('message', (answer: EmbeddedAnswer) => this.#settle()?.resolve(answer));
    this.#worker.on('error', (error) => this.#end(error));
    this.#worker.on('exit', () => this.#end(threadEnded(data.directory)));
    this.#opened = this.#answer();
    this.#opened.catch(() => undefined);
  }

  /** Resolves when the database is open. @throws the error of PGlite, or of its import. */
  async opened(): Promise<void> {
    const { error } = await this.#opened;
    if (error !== undefined) throw toError(error);
  }

  /** @throws an error when the thread ends before it answers, or for values that cannot be sent to a thread. */
  async ask(request: EmbeddedRequest): Promise<EmbeddedAnswer> {
    if (this.#ended !== undefined) throw this.#ended;
    this.#worker.postMessage(request);
    return this.#answer();
  }

  /** Whether the thread can take requests. */
  get isAlive(): boolean {
    return this.#ended === undefined;
  }

  /** Whether the thread keeps the process alive. */
  hold(isHeld: boolean): void {
    if (isHeld) this.#worker.ref();
    else this.#worker.unref();
  }

  /** Ends the thread at once, even during a statement, and frees its memory. */
  terminate(): Promise<void> {
    this.#terminated ??= this.#worker.terminate().then(() => this.#exited);
    return this.#terminated;
  }

  #answer(): Promise<EmbeddedAnswer> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }

  #settle(): Waiting | undefined {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    return waiting;
  }

  #end(error: Error): void {
    this.#ended ??= error;
    this.#settle()?.reject(this.#ended);
  }
}

function threadEnded(directory: string): ObservatoryError {
  return new ObservatoryError(
    'DATABASE_UNREACHABLE',
    `The thread of the embedded database in ${directory} ended. The next statement opens it again.`,
  );
}
