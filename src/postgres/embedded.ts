import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { ObservatoryError } from '../base/index.ts';
import type { EmbeddedAnswer, EmbeddedRequest, EmbeddedThreadData } from './embedded-thread.ts';
import type { QueryResult, Statement } from './types.ts';

/** A PGlite in a thread of its own. Statements run one after another, in the order of the calls. */
export interface EmbeddedDatabase {
  query(text: string, values?: readonly unknown[]): Promise<QueryResult>;
  exec(text: string): Promise<unknown>;
  /** Runs statements in one transaction that may only read, and rolls it back. */
  readOnly(statements: readonly Statement[]): Promise<readonly QueryResult[]>;
  close(): Promise<void>;
}

interface Waiting {
  resolve(results: readonly QueryResult[]): void;
  reject(error: Error): void;
}

/**
 * Opens a data directory, which the caller has locked. The thread keeps the process alive only while a statement runs.
 *
 * @param module address of the module of PGlite.
 * @throws the error of PGlite, or of its import.
 */
export async function openEmbeddedThread(directory: string, module: string): Promise<EmbeddedDatabase> {
  const program = new URL('./embedded-thread.js', import.meta.url);
  // Hooks that were preloaded have nothing to do there.
  const { NODE_OPTIONS: _, ...env } = process.env;
  const workerData: EmbeddedThreadData = { directory, module };
  const worker = new Worker(program, { workerData, execArgv: [], env, name: 'mcp-observatory-database' });
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  let ended: Error | undefined;

  const end = (error: Error) => {
    ended ??= error;
    for (const { reject } of waiting.values()) reject(ended);
    waiting.clear();
  };
  worker.on('message', ({ id, results, error }: EmbeddedAnswer) => {
    const caller = waiting.get(id);
    waiting.delete(id);
    if (waiting.size === 0) worker.unref();
    if (error === undefined) caller?.resolve(results ?? []);
    else caller?.reject(Object.assign(new Error(String(error.message)), error));
  });
  worker.on('error', end);
  worker.on('exit', () => end(new ObservatoryError('DATABASE_UNREACHABLE', closedMessage(directory))));

  const answerTo = (id: number, request?: EmbeddedRequest) =>
    new Promise<readonly QueryResult[]>((resolve, reject) => {
      if (ended !== undefined) return reject(ended);
      // Throws for a value that cannot be sent to another thread, such as a function: then nothing is waited for.
      if (request !== undefined) worker.postMessage(request);
      waiting.set(id, { resolve, reject });
      worker.ref();
    });
  const ask = (kind: EmbeddedRequest['kind'], ...statements: Statement[]) => {
    lastId += 1;
    return answerTo(lastId, { id: lastId, kind, statements });
  };

  try {
    await answerTo(0);
  } catch (error) {
    await worker.terminate();
    throw error;
  }
  return {
    query: async (text, values) => (await ask('query', { text, values }))[0] as QueryResult,
    exec: (text) => ask('script', { text }),
    readOnly: (statements) => ask('readOnly', ...statements),
    async close() {
      const exited = once(worker, 'exit');
      worker.ref();
      await ask('close').finally(() => worker.terminate());
      await exited;
    },
  };
}

function closedMessage(directory: string): string {
  return `The embedded database in ${directory} is closed: its thread ended. Open it again.`;
}
