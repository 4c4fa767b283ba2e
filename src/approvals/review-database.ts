import { createHmac, randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  findRunningPage,
  ObservatoryError,
  printableLine,
  type RunningPage,
  readBytes,
  withoutTracing,
} from '../base/index.ts';
import { readObject } from '../json/index.ts';
import {
  nameOfDatabase,
  openDatabase,
  type PostgresConnection,
  type Queryable,
  type QueryResult,
  toObservatoryError,
} from '../postgres/index.ts';
import { LEDGER } from './sql.ts';

const STATEMENT_TIMEOUT_MS = 30_000;

/**
 * The connection of a queue or a ledger. A connection string, or the address of an `up`, is opened on first use; other
 * connections belong to their owner.
 */
export class ReviewDatabase {
  readonly #connection: PostgresConnection;
  readonly #table: string;
  #own: Promise<Queryable & { close(): Promise<void> }> | undefined;

  /** @param table what errors name. */
  constructor(connection: PostgresConnection, table = 'mcp_reviews') {
    this.#connection = connection;
    this.#table = table;
  }

  /** @throws ObservatoryError `DATABASE_UNREACHABLE`, `DATABASE_SCHEMA_MISSING` or `DATABASE_REFUSED`. */
  async query(
    text: string,
    values: readonly (string | null)[],
  ): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const db = await this.#database();
    try {
      return (await db.query(text, values)).rows;
    } catch (error) {
      throw toObservatoryError(error, nameOfDatabase(db), this.#table);
    }
  }

  /** Closes the connections opened here. Idempotent. */
  async close(): Promise<void> {
    await (await this.#own?.catch(() => undefined))?.close();
  }

  #database(): Queryable | Promise<Queryable> {
    if (typeof this.#connection !== 'string') return this.#connection;
    this.#own ??= this.#connection.startsWith('http://')
      ? Promise.resolve(new FrontDoor(this.#connection, STATEMENT_TIMEOUT_MS))
      : openDatabase({ url: this.#connection, statementTimeoutMs: STATEMENT_TIMEOUT_MS });
    return this.#own;
  }
}

const ADDRESS = /^http:\/\/(?:127\.0\.0\.1|localhost|\[::1\]):(\d{1,5})\/?$/u;
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** The store does one thing at a time, and gates share the connections of `up` with its page. */
const MAX_CONNECTIONS = 2;

/**
 * The store of an `up` that runs on this machine, for gates in other processes: a connection that does what gates need
 * there, and nothing else. Its token is in the file by which pages are found, and decides nothing.
 *
 * An answer counts only with a proof that it is from the process of that file: if `up` dies, any user may listen at its
 * port. Once a store has answered, no other is asked in its place, since that one knows nothing of what was done.
 */
class FrontDoor implements Queryable {
  readonly #address: string;
  readonly #port: number;
  readonly #timeoutMs: number;
  /** A connection for each request: one that is kept may be closed just when a call is reserved. */
  readonly #agent = new Agent({ keepAlive: false, maxSockets: MAX_CONNECTIONS });
  /** For the outcomes of calls, so that they never wait behind new reservations. */
  readonly #settling = new Agent({ keepAlive: false, maxSockets: 1 });
  #store: string | undefined;

  /** @throws ObservatoryError `INVALID_OPTION` for an address that is not of this machine. */
  constructor(address: string, timeoutMs: number) {
    const [, port] = ADDRESS.exec(address) ?? [];
    if (port === undefined)
      throw new ObservatoryError(
        'INVALID_OPTION',
        `The address of an 'up' is http://127.0.0.1:PORT, got '${address.slice(0, 200)}'`,
      );
    this.#address = address;
    this.#port = Number(port);
    this.#timeoutMs = timeoutMs;
  }

  /** @throws ObservatoryError `DATABASE_UNREACHABLE` without an `up`, `DATABASE_REFUSED` for another store, or its own. */
  async query(text: string, values: readonly unknown[] = []): Promise<QueryResult> {
    const page = findRunningPage(process.env, this.#port);
    if (page === undefined) throw this.#unreachable('none is running there');
    if (this.#store !== undefined && page.store !== this.#store)
      throw new ObservatoryError(
        'DATABASE_REFUSED',
        `The 'up' at ${this.#address} has another store now, ${page.store}: start it over ${this.#store}`,
      );
    const nonce = randomBytes(16).toString('base64url');
    const { status, body, proof } = await withoutTracing(() =>
      this.#post(page, nonce, JSON.stringify({ text, values }), text === LEDGER.settle),
    );
    const isProved =
      proof === createHmac('sha256', page.gate_token).update(`${nonce}\n${body}`).digest('base64url');
    if (status === 200 && isProved) {
      this.#store = page.store;
      return JSON.parse(body) as QueryResult;
    }
    const { code, message } = readError(body);
    if (status !== 200 && code !== undefined && isCode(code))
      throw new ObservatoryError(
        code,
        `The 'up' at ${this.#address} refuses: ${printableLine(String(message).slice(0, 500))}`,
      );
    throw this.#unreachable('another program answers there');
  }

  async close(): Promise<void> {
    this.#agent.destroy();
    this.#settling.destroy();
  }

  /** Retries while `up` has no free connection. That is safe: the body is sent only after its `100 Continue`. */
  async #post(page: RunningPage, nonce: string, body: string, settles: boolean): Promise<Answered> {
    const agent = settles ? this.#settling : this.#agent;
    const signal = AbortSignal.timeout(this.#timeoutMs);
    for (let pause = 20; ; pause = Math.min(2 * pause, 500)) {
      const answer = await this.#tryPost(page, nonce, body, { agent, signal });
      if (answer !== undefined) return answer;
      await sleep(pause * (0.5 + Math.random()));
    }
  }

  /** @returns undefined where the connection was closed before anything was asked. */
  #tryPost(
    { gate_token }: RunningPage,
    nonce: string,
    body: string,
    how: { readonly agent: Agent; readonly signal: AbortSignal },
  ): Promise<Answered | undefined> {
    const headers = {
      authorization: `Bearer ${gate_token}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'x-observatory-nonce': nonce,
      expect: '100-continue',
    };
    const options = { host: '127.0.0.1', port: this.#port, path: '/api/gate', method: 'POST', headers };
    return new Promise((resolve, reject) => {
      let isAsked = false;
      const fail = (error: Error & { code?: unknown }) => {
        const isFull = !isAsked && !how.signal.aborted && /^(?:ECONNRESET|EPIPE)$/.test(String(error.code));
        if (isFull) resolve(undefined);
        else if (!how.signal.aborted) reject(this.#unreachable(error.message, error));
        else
          reject(this.#unreachable(`no ${isAsked ? 'answer' : 'turn'} within ${this.#timeoutMs} ms`, error));
      };
      const sent = request({ ...options, ...how }, (response) => {
        readBytes(response, MAX_ANSWER_BYTES, tooLong).then((bytes) => {
          const { statusCode, headers: got } = response;
          resolve({ status: statusCode, body: bytes.toString('utf8'), proof: got['x-observatory-proof'] });
        }, fail);
      });
      sent.on('error', fail);
      sent.on('continue', () => {
        isAsked = true;
        sent.end(body);
      });
      sent.flushHeaders();
    });
  }

  #unreachable(why: string, cause?: unknown): ObservatoryError {
    const message = `Cannot reach the store of 'mcp-observatory up' at ${this.#address}: ${why}`;
    return new ObservatoryError('DATABASE_UNREACHABLE', message, { cause });
  }
}

interface Answered {
  readonly status: number | undefined;
  readonly body: string;
  readonly proof: unknown;
}

const tooLong = () => new Error(`its answer has more than ${MAX_ANSWER_BYTES} bytes`);

const CODES = [
  'DATABASE_REFUSED',
  'DATABASE_SCHEMA_MISSING',
  'DATABASE_UNREACHABLE',
  'INVALID_OPTION',
] as const;

const isCode = (code: unknown): code is (typeof CODES)[number] => CODES.some((one) => one === code);

function readError(body: string): { code?: unknown; message?: unknown } {
  try {
    return readObject(readObject(JSON.parse(body)).error);
  } catch {
    return {};
  }
}
