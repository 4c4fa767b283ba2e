/**
 * The embedded database, in a thread of its own: PGlite answers a statement without giving up its thread, which may take
 * hundreds of milliseconds.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { PGlite } from '@electric-sql/pglite';
import { errorMessage, importPeer } from '../base/index.ts';
import type { QueryResult, Statement } from './types.ts';

/** What the thread is started with. */
export interface EmbeddedThreadData {
  readonly directory: string;
  /** Address of the module of PGlite. */
  readonly module: string;
}

/** What the thread is asked for. A script is several statements in one text. */
export interface EmbeddedRequest {
  readonly id: number;
  readonly kind: 'query' | 'script' | 'readOnly' | 'close';
  readonly statements: readonly Statement[];
}

/** The first answer, with id 0, says that the database is open. */
export interface EmbeddedAnswer {
  readonly id: number;
  /** Of each statement. */
  readonly results?: readonly QueryResult[] | undefined;
  /** Message and the fields of the database's error, such as its `code`. */
  readonly error?: Readonly<Record<string, unknown>> | undefined;
}

const { directory, module } = workerData as EmbeddedThreadData;

async function run(): Promise<void> {
  const { PGlite: Embedded } = await importPeer<typeof import('@electric-sql/pglite')>(module);
  const pglite = await Embedded.create(directory);
  parentPort?.on('message', async ({ id, kind, statements }: EmbeddedRequest) => {
    try {
      answer({ id, results: await resultsOf(pglite, kind, statements) });
    } catch (error) {
      answer({ id, error: fieldsOf(error) });
    }
  });
}

async function resultsOf(
  pglite: PGlite,
  kind: EmbeddedRequest['kind'],
  statements: readonly Statement[],
): Promise<readonly QueryResult[]> {
  switch (kind) {
    case 'close':
      await pglite.close();
      return [];
    case 'script':
      for (const { text } of statements) await pglite.exec(text);
      return [];
    case 'query':
      return all(pglite, statements);
    case 'readOnly':
      return pglite.transaction(async (transaction) => {
        await transaction.exec('SET TRANSACTION READ ONLY');
        const results = await all(transaction, statements);
        await transaction.rollback();
        return results;
      });
  }
}

async function all(
  db: Pick<PGlite, 'query'>,
  statements: readonly Statement[],
): Promise<readonly QueryResult[]> {
  const results: QueryResult[] = [];
  for (const { text, values } of statements) {
    const { rows } = await db.query<Record<string, unknown>>(text, values as unknown[] | undefined);
    results.push({ rows });
  }
  return results;
}

function answer(message: EmbeddedAnswer): void {
  parentPort?.postMessage(message);
}

/** An error loses its fields when it is sent to another thread. */
function fieldsOf(error: unknown): Record<string, unknown> {
  const fields: Record<string, unknown> = { message: errorMessage(error) };
  if (!(error instanceof Error)) return fields;
  for (const [name, value] of Object.entries(error))
    if (typeof value === 'string' || typeof value === 'number') fields[name] = value;
  if ('code' in error) fields.code = error.code;
  return fields;
}

run().then(
  () => answer({ id: 0 }),
  (error: unknown) => answer({ id: 0, error: fieldsOf(error) }),
);
