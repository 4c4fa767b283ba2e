/**
 * The embedded database, in a thread of its own: PGlite answers a statement without giving up its thread, which may take
 * hundreds of milliseconds.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import type { PGlite } from '@electric-sql/pglite';
import { importPeer } from '../base/index.ts';
import { errorFields, readSqlState } from './database-error.ts';
import type { QueryResult, Statement } from './types.ts';

/** Start options of the thread. */
export interface EmbeddedThreadData {
  readonly directory: string;
  /** Address of the module of PGlite. */
  readonly module: string;
}

/** A request to the thread, one at a time. A script is several statements in one text. */
export interface EmbeddedRequest {
  readonly kind: 'query' | 'script' | 'readOnly' | 'close';
  readonly statements: readonly Statement[];
}

/** The first answer, to no request, says that the database is open. */
export interface EmbeddedAnswer {
  /** Results, one for each statement. */
  readonly results?: readonly QueryResult[] | undefined;
  /** Message and the fields of the database's error, such as its `code`. */
  readonly error?: Readonly<Record<string, unknown>> | undefined;
  /** Whether the database can be used further: a fault of the engine itself leaves it in an unknown state. */
  readonly isSound: boolean;
  /** Size of the engine's memory, which never shrinks. */
  readonly heapBytes: number;
}

/** Errors that statements do not cause: a message that was lost within the engine (26, 34), an internal error (XX). */
const ENGINE_AT_FAULT = /^(?:26|34|XX)/;

/** Without a background process, only we keep the log short, which is read when the database is opened again. */
const MAX_LOG_BYTES = 64 * 1024 * 1024;
const LOOK_AT_LOG_EVERY_MS = 1000;
const LOG_IS_LONG = `SELECT pg_current_wal_insert_lsn() - redo_lsn > ${MAX_LOG_BYTES} AS "isLong" FROM pg_control_checkpoint()`;

/**
 * Pages the engine keeps. It writes to all of this memory when it starts, so the 128 MB of its own setting would be
 * resident; what is not kept is read from the file, which the system keeps as well.
 */
const BUFFERS = ['-c', 'shared_buffers=16MB'];

/** Limit for one question's temporary files (sorting, hashing). */
const MAX_TEMP_MB = 512;
/** Where they are, relative to the directory. */
const TEMP_FOLDER = join('base', 'pgsql_tmp');

const { directory, module } = workerData as EmbeddedThreadData;

let pglite: PGlite | undefined;
/** Whether this version says which command it has finished. */
let saysCommand = false;
let nextLookAtLog = 0;

async function open(): Promise<void> {
  const { PGlite: Embedded } = await importPeer<typeof import('@electric-sql/pglite')>(module);
  // Files of a question that was ended. Postgres as a server removes them too when it starts.
  await rm(join(directory, TEMP_FOLDER), { recursive: true, force: true });
  // Absent from versions that take no such parameters.
  const usual: readonly string[] | undefined = Embedded.defaultStartParams;
  const db = await Embedded.create(directory, usual && { startParams: [...usual, ...BUFFERS] });
  pglite = db;
  saysCommand = 'command' in (await db.query('SELECT 1'));
  let last = Promise.resolve();
  parentPort?.on('message', (request: EmbeddedRequest) => {
    last = last.then(() => handle(db, request));
  });
}

async function handle(db: PGlite, { kind, statements }: EmbeddedRequest): Promise<void> {
  try {
    answer({ results: await listResults(db, kind, statements) });
  } catch (error) {
    answer({ error: errorFields(error), isSound: !isEngineAtFault(error) });
    return;
  }
  // A disk that is full is an error of the next statement, not of this one.
  if (kind !== 'close') await shortenLog(db).catch(() => undefined);
}

async function listResults(
  db: PGlite,
  kind: EmbeddedRequest['kind'],
  statements: readonly Statement[],
): Promise<readonly QueryResult[]> {
  switch (kind) {
    case 'close':
      await db.close();
      pglite = undefined;
      return [];
    case 'script':
      for (const { text } of statements) await db.exec(text);
      return [];
    case 'query':
      return all(db, statements);
    case 'readOnly':
      return db.transaction(async (transaction) => {
        await transaction.exec(`SET TRANSACTION READ ONLY; SET LOCAL temp_file_limit = '${MAX_TEMP_MB}MB'`);
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
    const result = await db.query<Record<string, unknown>>(text, values as unknown[] | undefined);
    if (saysCommand && !('command' in result)) throw new UnfinishedError();
    results.push({ rows: result.rows });
  }
  return results;
}

/** PGlite takes a stack overflow of its engine for the end of the statement. */
class UnfinishedError extends Error {
  constructor() {
    super('The embedded database did not finish the statement');
    this.name = 'UnfinishedError';
  }
}

function isEngineAtFault(error: unknown): boolean {
  return error instanceof UnfinishedError || ENGINE_AT_FAULT.test(readSqlState(error) ?? '');
}

async function shortenLog(db: PGlite): Promise<void> {
  if (performance.now() < nextLookAtLog) return;
  const { rows } = await db.query<{ isLong: boolean }>(LOG_IS_LONG);
  if (rows[0]?.isLong === true) await db.exec('CHECKPOINT');
  nextLookAtLog = performance.now() + LOOK_AT_LOG_EVERY_MS;
}

function answer(message: Partial<EmbeddedAnswer>): void {
  // Absent from some versions: then only what the process takes is looked at.
  const heapBytes = (pglite as Partial<PGlite> | undefined)?.Module?.HEAPU8?.length ?? 0;
  parentPort?.postMessage({ isSound: true, ...message, heapBytes } satisfies EmbeddedAnswer);
}

open().then(
  () => answer({}),
  (error: unknown) => answer({ error: errorFields(error) }),
);
