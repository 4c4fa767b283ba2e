/**
 * The embedded database, in a thread of its own: PGlite answers a statement without giving up its thread, which may take
 * hundreds of milliseconds.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { errorMessage, importPeer } from '../base/index.ts';

/** What the thread is started with. */
export interface EmbeddedThreadData {
  readonly directory: string;
  /** Address of the module of PGlite. */
  readonly module: string;
}

/** One statement with `values`, or several without. */
export interface EmbeddedRequest {
  readonly id: number;
  /** Undefined to close. */
  readonly text: string | undefined;
  readonly values: readonly unknown[] | undefined;
  readonly isScript: boolean;
}

/** The first answer, with id 0, says that the database is open. */
export interface EmbeddedAnswer {
  readonly id: number;
  readonly rows?: readonly Record<string, unknown>[] | undefined;
  /** Message and the fields of the database's error, such as its `code`. */
  readonly error?: Readonly<Record<string, unknown>> | undefined;
}

const { directory, module } = workerData as EmbeddedThreadData;

async function run(): Promise<void> {
  const { PGlite } = await importPeer<typeof import('@electric-sql/pglite')>(module);
  const pglite = await PGlite.create(directory);
  parentPort?.on('message', async ({ id, text, values, isScript }: EmbeddedRequest) => {
    try {
      if (text === undefined) await pglite.close();
      else if (isScript) await pglite.exec(text);
      else {
        const { rows } = await pglite.query<Record<string, unknown>>(text, values as unknown[] | undefined);
        return answer({ id, rows });
      }
      answer({ id });
    } catch (error) {
      answer({ id, error: fieldsOf(error) });
    }
  });
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
