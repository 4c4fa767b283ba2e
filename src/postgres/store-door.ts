/**
 * The way for other processes of the same user to a store that one process holds, such as `up`. It listens on this
 * machine, and writes address and token into files that nobody else may read. Through it a store is read, and gates ask for
 * approvals and reserve calls. Nobody decides: that is the owner's to say.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { deserialize, serialize } from 'node:v8';
import { invalidOption, PortConnections, readBytes, type StoreDoor } from '../base/index.ts';
import { errorFields, toError } from './database-error.ts';
import { REFRESHES } from './rollups.ts';
import type { Database, QueryResult, ReadOnlyOptions, Statement } from './types.ts';

/** What is asked through a door. */
export interface DoorQuestion {
  readonly statements: readonly Statement[];
  readonly isForeign: boolean;
  readonly timeoutMs: number;
}

/** What is answered: results, or the fields of an error. */
export interface DoorAnswer {
  readonly results?: readonly QueryResult[];
  readonly error?: Readonly<Record<string, unknown>>;
}

/** The arguments of a call are in what a gate asks. */
const MAX_QUESTION_BYTES = 4 * 1024 * 1024;
const MAX_CONNECTIONS = 256;
export const READ_MS = 30_000;
export const NONCE_HEADER = 'x-observatory-nonce';
/** SHA-256 of the question, which is proved before it is read. */
export const DIGEST_HEADER = 'x-observatory-digest';
export const PROOF_HEADER = 'x-observatory-proof';
/** What the database says of a statement that would write in a transaction that may only read. */
export const WRITES = '25006';
/** Others could end that transaction. */
const READS = /^\s*(?:select|with)\b/iu;

type Answering = Pick<Database, 'query' | 'readOnly'>;

/**
 * Answers questions of others to a database until it is stopped. Does not keep the process alive.
 * @param gates the statements of gates, which may write: these texts and no others.
 */
export async function openDoor(
  db: Answering,
  gates: ReadonlySet<unknown> = new Set(),
): Promise<StoreDoor & { readonly stop: () => Promise<void> }> {
  const token = randomBytes(32).toString('base64url');
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 5000 }, async (request, response) => {
    connections.beginHttp(request, response);
    let given: DoorAnswer;
    try {
      if (!isProved(request, token)) return void response.writeHead(401).end();
      const bytes = await readBytes(request, MAX_QUESTION_BYTES, tooLong);
      if (digestQuestion(bytes) !== request.headers[DIGEST_HEADER]) return void response.writeHead(401).end();
      const question = deserialize(bytes) as DoorQuestion;
      // Nobody would hear that a call is reserved, nor make it.
      if (response.destroyed) return;
      given = { results: await answer(db, question, gates) };
    } catch (error) {
      response.statusCode = 400;
      given = { error: errorFields(error) };
    }
    const body = serialize(given);
    response.setHeader(PROOF_HEADER, proveAnswer(token, request.headers[NONCE_HEADER], body)).end(body);
  });
  const connections = new PortConnections(server, { limit: MAX_CONNECTIONS });
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

/** What `DIGEST_HEADER` has. */
export function digestQuestion(body: Uint8Array): string {
  return createHash('sha256').update(body).digest('base64url');
}

/** Proves that the asker has the token without sending it: another program may listen at the port by now. */
export function proveQuestion(token: string, nonce: unknown, digest: unknown): string {
  return createHmac('sha256', token).update(`question\n${nonce}\n${digest}`).digest('base64url');
}

/** Shows that an answer is of whom the token is from, and not of a program that has taken the port since. */
export function proveAnswer(token: string, nonce: unknown, body: Uint8Array): string {
  return createHmac('sha256', token).update(`answer\n${nonce}\n`).update(body).digest('base64url');
}

async function answer(
  db: Answering,
  { statements, isForeign, timeoutMs }: DoorQuestion,
  gates: ReadonlySet<unknown>,
): Promise<readonly QueryResult[]> {
  const how: ReadOnlyOptions = { isForeign, timeoutMs: Math.min(READ_MS, timeoutMs) };
  const [first] = statements;
  if (statements.length === 1 && first !== undefined) {
    const { text, values = [] } = first;
    if (REFRESHES.has(text)) return [await db.query(text)];
    if (gates.has(text)) {
      if (values.every((value) => value === null || typeof value === 'string'))
        return [{ rows: (await db.query(text, values)).rows }];
      throw invalidOption('values', 'texts and nulls', 'something else');
    }
  }
  if (statements.every(({ text }) => READS.test(text))) return db.readOnly(statements, how);
  throw toError({ message: 'Only queries are answered', code: WRITES });
}

function isProved({ method, headers }: IncomingMessage, token: string): boolean {
  const proof = proveQuestion(token, headers[NONCE_HEADER], headers[DIGEST_HEADER]);
  const [given, expected] = [String(headers[PROOF_HEADER]), proof].map((text) => Buffer.from(text));
  return (
    method === 'POST' &&
    given?.length === expected?.length &&
    timingSafeEqual(given as Buffer, expected as Buffer)
  );
}

const tooLong = () => new Error(`A question has at most ${MAX_QUESTION_BYTES} bytes`);
