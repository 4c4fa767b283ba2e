/**
 * A way for other processes of the same user to read an embedded database, which only one process can open. Its owner
 * listens on this machine and writes address and token into its lock file, which nobody else may read. Nothing can be
 * written through it: who may decide about calls is the owner's to say.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { deserialize, serialize } from 'node:v8';
import { ObservatoryError, readBytes, withoutTracing } from '../base/index.ts';
import { errorFields, toError } from './database-error.ts';
import { REFRESHES } from './rollups.ts';
import type { Database, QueryResult, ReadOnlyOptions, Statement } from './types.ts';

/** What a lock file says of the door of its owner. */
export interface StoreDoor {
  readonly url: string;
  readonly token: string;
  /** Where the owner takes spans, OTLP over HTTP. */
  readonly spansUrl?: string | undefined;
}

interface Question {
  readonly statements: readonly Statement[];
  readonly isForeign: boolean;
  readonly timeoutMs: number;
}

type Answering = Pick<Database, 'query' | 'readOnly'>;

interface Answer {
  readonly results: readonly QueryResult[];
  readonly error?: Readonly<Record<string, unknown>>;
}

const MAX_QUESTION_BYTES = 1024 * 1024;
const READ_MS = 30_000;
/** What the database says of a statement that would write in a transaction that may only read. */
const WRITES = '25006';
/** Others could end that transaction. */
const READS = /^\s*(?:select|with)\b/iu;

/** Answers questions of others to a database until it is stopped. Does not keep the process alive. */
export async function openDoor(db: Answering): Promise<StoreDoor & { readonly stop: () => Promise<void> }> {
  const token = randomBytes(32).toString('base64url');
  const server = createServer(async (request, response) => {
    try {
      if (!isToken(request, token)) return void response.writeHead(401).end();
      const { statements, isForeign, timeoutMs } = deserialize(
        await readBytes(request, MAX_QUESTION_BYTES, tooLong),
      ) as Question;
      const results = await answer(db, statements, { isForeign, timeoutMs: Math.min(READ_MS, timeoutMs) });
      response.end(serialize({ results }));
    } catch (error) {
      response.end(serialize({ error: errorFields(error) }));
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  server.unref();
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, token, stop };
}

async function answer(
  db: Answering,
  statements: readonly Statement[],
  how: ReadOnlyOptions,
): Promise<readonly QueryResult[]> {
  const [first] = statements;
  if (statements.length === 1 && first !== undefined && REFRESHES.has(first.text))
    return [await db.query(first.text)];
  if (statements.every(({ text }) => READS.test(text))) return db.readOnly(statements, how);
  throw toError({ message: 'Only queries are answered', code: WRITES });
}

function isToken({ method, headers }: IncomingMessage, token: string): boolean {
  const [given, expected] = [headers.authorization ?? '', `Bearer ${token}`].map((text) => Buffer.from(text));
  return (
    method === 'POST' &&
    given?.length === expected?.length &&
    timingSafeEqual(given as Buffer, expected as Buffer)
  );
}

const tooLong = () => new Error(`A question has at most ${MAX_QUESTION_BYTES} bytes`);

/** The database behind a door: it reads, and refuses the rest. */
export function databaseBehind({ url, token, spansUrl }: StoreDoor, name: string): Database {
  const readOnly: Database['readOnly'] = async (statements, { isForeign = false, timeoutMs }) => {
    const headers = { authorization: `Bearer ${token}` };
    const body = serialize({ statements, isForeign, timeoutMs } satisfies Question);
    const ask = async () => {
      const response = await fetch(url, { method: 'POST', headers, body });
      return deserialize(Buffer.from(await response.arrayBuffer())) as Answer;
    };
    const { results, error } = await withoutTracing(ask).catch((cause: unknown) => {
      throw refusal(
        'DATABASE_UNREACHABLE',
        `The process that holds the embedded database ${name} has gone`,
        cause,
      );
    });
    if (error === undefined) return results;
    if (error.code === WRITES) throw readsOnly(name);
    throw error.code === 'DATABASE_REFUSED' ? refusal(error.code, String(error.message)) : toError(error);
  };
  return {
    kind: 'pglite',
    name,
    spansUrl,
    query: async (text, values) =>
      (await readOnly([{ text, values }], { timeoutMs: READ_MS }))[0] as QueryResult,
    exec: () => Promise.reject(readsOnly(name)),
    readOnly,
    close: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

const refusal = (code: 'DATABASE_UNREACHABLE' | 'DATABASE_REFUSED', message: string, cause?: unknown) =>
  new ObservatoryError(code, message, { cause });

const readsOnly = (name: string) =>
  refusal(
    'DATABASE_REFUSED',
    `The embedded database ${name} is held by another process, beside which it can only be read: decide on the page of that process, or stop it first`,
  );
