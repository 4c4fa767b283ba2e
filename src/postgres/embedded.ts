import { ObservatoryError } from '../base/index.ts';
import { toError } from './database-error.ts';
import type { EmbeddedAnswer, EmbeddedRequest, EmbeddedThreadData } from './embedded-thread.ts';
import { EmbeddedWorker } from './embedded-worker.ts';
import { checkWait, questionEnded } from './read-only.ts';
import { type Rank, Turns } from './turns.ts';
import type { QueryResult, ReadOnlyOptions, Statement } from './types.ts';

/** A question is stopped after this time if work of higher priority waits. */
const PATIENCE_MS = 5000;
const LOOK_EVERY_MS = 50;
/**
 * By how much the process may grow while a question runs, and how large the memory of the engine may be after any
 * statement. It is 128 MB when it is opened, and does not shrink.
 */
const MAX_BYTES = 512 * 1024 * 1024;

interface Asked {
  readonly request: EmbeddedRequest;
  readonly rank: Rank;
  readonly timeoutMs: number;
  readonly sinceMs: number;
  resolve(results: readonly QueryResult[]): void;
  reject(error: unknown): void;
}

/**
 * PGlite in a worker thread. Statements run one after another, in the order of the calls. Questions, which only read,
 * run while no statement waits. A question that takes too much time or memory is ended by ending the thread. The next
 * statement starts a new one; waiting callers do not notice.
 */
export class EmbeddedDatabase {
  readonly #data: EmbeddedThreadData;
  readonly #turns = new Turns<Asked>();
  #worker: EmbeddedWorker;
  #running: Asked | undefined;
  #working: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #isGivenUp = false;
  #closing: Promise<void> | undefined;

  private constructor(data: EmbeddedThreadData) {
    this.#data = data;
    this.#worker = new EmbeddedWorker(data);
  }

  /**
   * Opens a data directory, which the caller has locked. The thread keeps the process alive only while something runs.
   *
   * @param signal gives up all that runs or waits, and allows nothing new.
   * @throws the error of PGlite, or of its import.
   */
  static async open(data: EmbeddedThreadData, signal?: AbortSignal): Promise<EmbeddedDatabase> {
    const database = new EmbeddedDatabase(data);
    const giveUp = () => void database.#giveUp();
    if (signal?.aborted) giveUp();
    else signal?.addEventListener('abort', giveUp, { once: true });
    try {
      await database.#worker.opened();
      database.#worker.hold(false);
    } catch (error) {
      await database.#worker.terminate();
      throw error;
    }
    return database;
  }

  async query(text: string, values?: readonly unknown[]): Promise<QueryResult> {
    const [result] = await this.#ask('statement', { kind: 'query', statements: [{ text, values }] });
    return result as QueryResult;
  }

  exec(text: string): Promise<unknown> {
    return this.#ask('statement', { kind: 'script', statements: [{ text }] });
  }

  /** Runs statements in one transaction that may only read, and rolls it back. */
  readOnly(
    statements: readonly Statement[],
    { timeoutMs, isForeign }: ReadOnlyOptions,
  ): Promise<readonly QueryResult[]> {
    const rank = isForeign === true ? 'question' : 'view';
    return this.#ask(rank, { kind: 'readOnly', statements }, timeoutMs);
  }

  /** Ends a question that runs, and closes the database after the statements. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #ask(
    rank: Rank,
    request: EmbeddedRequest,
    timeoutMs = Number.POSITIVE_INFINITY,
  ): Promise<readonly QueryResult[]> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(closed(this.#data.directory));
      const sinceMs = performance.now();
      this.#turns.add(rank, { request, rank, timeoutMs, sinceMs, resolve, reject }, sinceMs);
      this.#work();
    });
  }

  #work(): void {
    this.#working ??= this.#workOff().finally(() => {
      this.#working = undefined;
      this.#workLater();
    });
  }

  /** When all who wait must let others go first. */
  #workLater(): void {
    clearTimeout(this.#timer);
    const { nextAtMs } = this.#turns;
    if (nextAtMs === undefined) return;
    this.#timer = setTimeout(() => this.#work(), Math.max(0, nextAtMs - performance.now()));
  }

  async #workOff(): Promise<void> {
    // Requests of the same turn of the event loop are sorted first.
    await Promise.resolve();
    for (;;) {
      const asked = this.#turns.next(performance.now());
      if (asked === undefined) break;
      const beganMs = performance.now();
      this.#running = asked;
      await this.#run(asked);
      this.#running = undefined;
      const nowMs = performance.now();
      this.#turns.ended(asked.rank, nowMs - beganMs, nowMs);
    }
    if (this.#worker.isAlive) this.#worker.hold(false);
  }

  async #run(asked: Asked): Promise<void> {
    let answer: EmbeddedAnswer;
    try {
      if (asked.rank !== 'statement') checkWait(asked.sinceMs);
      await this.#reopen();
      answer = await this.#answerTo(asked);
    } catch (error) {
      asked.reject(error);
      return;
    }
    const { error, results = [], isSound, heapBytes } = answer;
    if (error === undefined) asked.resolve(results);
    else asked.reject(toError(error));
    if (!isSound || heapBytes > MAX_BYTES) await this.#worker.terminate();
  }

  /** @throws the error of PGlite when the directory can no longer be opened. */
  async #reopen(): Promise<void> {
    if (!this.#worker.isAlive) {
      await this.#worker.terminate();
      if (this.#isGivenUp) throw closed(this.#data.directory);
      this.#worker = new EmbeddedWorker(this.#data);
    }
    this.#worker.hold(true);
    try {
      await this.#worker.opened();
    } catch (error) {
      await this.#worker.terminate();
      throw error;
    }
  }

  async #answerTo({ request, rank, timeoutMs }: Asked): Promise<EmbeddedAnswer> {
    const answer = this.#worker.ask(request);
    if (rank === 'statement') return answer;
    let why: ObservatoryError | undefined;
    const watch = this.#watch(rank, timeoutMs, (reason) => {
      why ??= reason;
      void this.#worker.terminate();
    });
    try {
      return await answer;
    } catch (error) {
      throw why ?? error;
    } finally {
      clearInterval(watch);
    }
  }

  /** Ends a question that takes too much. */
  #watch(rank: Rank, timeoutMs: number, end: (why: ObservatoryError) => void): NodeJS.Timeout {
    const beganMs = performance.now();
    const bytesBefore = process.memoryUsage.rss();
    return setInterval(() => {
      const mayTakeMs = this.#turns.hasBefore(rank) ? Math.min(timeoutMs, PATIENCE_MS) : timeoutMs;
      const tookMs = performance.now() - beganMs;
      if (tookMs >= mayTakeMs) end(questionEnded(`after ${Math.round(tookMs / 1000)} s`));
      else if (process.memoryUsage.rss() - bytesBefore > MAX_BYTES) {
        end(questionEnded(`because it took more than ${MAX_BYTES / 1024 ** 2} MB of memory`));
      }
    }, LOOK_EVERY_MS);
  }

  async #close(): Promise<void> {
    this.#isClosed = true;
    this.#refuse('view', 'question');
    if (this.#running !== undefined && this.#running.rank !== 'statement') await this.#worker.terminate();
    while (this.#working !== undefined || this.#turns.hasStatements) {
      this.#work();
      await this.#working;
    }
    this.#isGivenUp = true;
    if (!this.#worker.isAlive) return this.#worker.terminate();
    this.#worker.hold(true);
    try {
      const { error } = await this.#worker.ask({ kind: 'close', statements: [] });
      if (error !== undefined) throw toError(error);
    } finally {
      await this.#worker.terminate();
    }
  }

  async #giveUp(): Promise<void> {
    this.#isClosed = true;
    this.#isGivenUp = true;
    this.#refuse('statement', 'view', 'question');
    await this.#worker.terminate();
  }

  #refuse(...ranks: readonly Rank[]): void {
    for (const asked of ranks.flatMap((rank) => this.#turns.takeAll(rank))) {
      asked.reject(closed(this.#data.directory));
    }
  }
}

function closed(directory: string): ObservatoryError {
  return new ObservatoryError(
    'DATABASE_UNREACHABLE',
    `The embedded database in ${directory} is closed. Open it again.`,
  );
}
