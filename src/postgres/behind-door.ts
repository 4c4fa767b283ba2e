import { randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { deserialize, serialize } from 'node:v8';
import {
  findRunningPage,
  invalidOption,
  ObservatoryError,
  readBytes,
  type StoreDoor,
  VERSION,
  withoutTracing,
} from '../base/index.ts';
import { isSchemaAtFault, toError } from './database-error.ts';
import {
  DIGEST_HEADER,
  type DoorAnswer,
  digestQuestion,
  NONCE_HEADER,
  PROOF_HEADER,
  proveAnswer,
  proveQuestion,
  READ_MS,
  WRITES,
} from './store-door.ts';
import type { Database, QueryResult, ReadOnlyOptions, Statement } from './types.ts';

const ADDRESS = /^http:\/\/127\.0\.0\.1:(\d{1,5})\/$/u;
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;
/** The store does one thing at a time. */
const MAX_CONNECTIONS = 2;

/** @property store what the process says that it holds. */
type FoundDoor = StoreDoor & { readonly store?: string | undefined };

/** How the door of a store is found. */
export interface WayToDoor {
  /** Asked before each question: the process may have been started again. */
  readonly find: () => Promise<FoundDoor | undefined>;
  /** Told of the one that answered; throws where its answer must not count. */
  readonly hear?: (door: FoundDoor) => void;
  /** The name of the database. */
  readonly name: string;
  /** The same for messages. */
  readonly what: string;
  readonly spansUrl?: string | undefined;
}

/**
 * The database behind a door: it reads, does what gates need, and refuses the rest.
 *
 * An answer counts only with a proof that it is from the process of the door: if that dies, any user may listen at its
 * port, and so the token itself is never sent. A question is asked again only while it cannot have been read.
 */
export class DatabaseBehindDoor implements Database {
  readonly kind = 'pglite';
  readonly name: string;
  readonly spansUrl: string | undefined;
  readonly #way: WayToDoor;
  /** A connection for each question: one that is kept may be closed just when a call is reserved. */
  readonly #agent = new Agent({ keepAlive: false, maxSockets: MAX_CONNECTIONS });

  constructor(way: WayToDoor) {
    this.#way = way;
    this.name = way.name;
    this.spansUrl = way.spansUrl;
  }

  /** The same store, for questions that must not wait behind those that are asked here. */
  beside(): DatabaseBehindDoor {
    return new DatabaseBehindDoor(this.#way);
  }

  async query(text: string, values?: readonly unknown[]): Promise<QueryResult> {
    return (await this.readOnly([{ text, values }], { timeoutMs: READ_MS }))[0] as QueryResult;
  }

  exec(): Promise<never> {
    return Promise.reject(this.#readsOnly());
  }

  async readOnly(
    statements: readonly Statement[],
    { isForeign = false, timeoutMs }: ReadOnlyOptions,
  ): Promise<readonly QueryResult[]> {
    const door = await this.#way.find();
    if (door === undefined) throw this.#gone();
    const body = serialize({ statements, isForeign, timeoutMs });
    const { results, error } = await withoutTracing(() => this.#ask(door, body));
    this.#way.hear?.(door);
    if (error === undefined) return results ?? [];
    if (error.code === WRITES) throw this.#readsOnly(toError(error));
    throw error.code === 'DATABASE_REFUSED' || error.code === 'DATABASE_UNREACHABLE'
      ? new ObservatoryError(error.code, String(error.message))
      : toError(error);
  }

  async close(): Promise<void> {
    this.#agent.destroy();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Retries while the process has no free connection. That is safe: the body is sent only after its `100 Continue`. */
  async #ask({ url, token }: StoreDoor, body: Uint8Array): Promise<DoorAnswer> {
    const [, port] = ADDRESS.exec(url) ?? [];
    if (port === undefined) throw this.#gone('its door is not on this machine');
    const nonce = randomBytes(16).toString('base64url');
    const signal = AbortSignal.timeout(READ_MS);
    for (let pause = 20; ; pause = Math.min(2 * pause, 500)) {
      const answer = await this.#tryAsk(Number(port), { token, nonce, body, signal });
      if (answer !== undefined) return answer;
      await sleep(pause * (0.5 + Math.random()));
    }
  }

  /** @returns undefined where the connection was closed before anything was asked. */
  #tryAsk(port: number, { token, nonce, body, signal }: Asked): Promise<DoorAnswer | undefined> {
    const digest = digestQuestion(body);
    const headers = {
      'content-length': body.byteLength,
      [NONCE_HEADER]: nonce,
      [DIGEST_HEADER]: digest,
      [PROOF_HEADER]: proveQuestion(token, nonce, digest),
      expect: '100-continue',
    };
    const options = { host: '127.0.0.1', port, method: 'POST', headers, agent: this.#agent, signal };
    return new Promise((resolve, reject) => {
      let isAsked = false;
      const fail = (error: Error & { code?: unknown }) => {
        const isFull = !isAsked && !signal.aborted && /^(?:ECONNRESET|EPIPE)$/.test(String(error.code));
        if (isFull) resolve(undefined);
        else if (!signal.aborted) reject(this.#gone(error.message, error));
        else reject(this.#gone(`no ${isAsked ? 'answer' : 'turn'} within ${READ_MS} ms`, error));
      };
      const sent = request(options, (response) => {
        readBytes(response, MAX_ANSWER_BYTES, tooLong)
          .then((bytes) => {
            if (response.headers[PROOF_HEADER] === proveAnswer(token, nonce, bytes))
              resolve(deserialize(bytes) as DoorAnswer);
            else reject(this.#gone(`another program answers there, or another version than ${VERSION}`));
          })
          .catch(fail);
      });
      sent.on('error', fail);
      sent.on('continue', () => {
        isAsked = true;
        sent.end(body);
      });
      sent.flushHeaders();
    });
  }

  #gone(why = 'none holds it', cause?: unknown): ObservatoryError {
    const message = `The process that holds ${this.#way.what} has gone: ${why}`;
    return new ObservatoryError('DATABASE_UNREACHABLE', message, { cause });
  }

  #readsOnly(cause?: Error): ObservatoryError {
    return new ObservatoryError(
      'DATABASE_REFUSED',
      `Beside the process that holds ${this.#way.what}, it can only be read: decide on the page of that process, or stop it first`,
      { cause },
    );
  }
}

/** Whether the process behind a door does not take a statement that gates ask: it reads it only, or has other tables. */
export function isUnknownBehindDoor(db: unknown, error: unknown): boolean {
  const cause = (error as { readonly cause?: unknown }).cause ?? error;
  const isRead = (cause as { readonly code?: unknown }).code === WRITES;
  return db instanceof DatabaseBehindDoor && (isRead || isSchemaAtFault(cause));
}

/**
 * The store of the page that runs at an address of this machine. Once one has answered, no other counts in its place, since
 * that one knows nothing of what was done.
 * @throws ObservatoryError `INVALID_OPTION` for an address that is not of this machine.
 */
export function databaseAt(
  address: string,
  { env = process.env }: { readonly env?: NodeJS.ProcessEnv } = {},
): DatabaseBehindDoor {
  const [, port] = /^http:\/\/(?:127\.0\.0\.1|localhost|\[::1\]):(\d{1,5})\/?$/u.exec(address) ?? [];
  if (port === undefined)
    throw invalidOption("the address of an 'up'", 'http://127.0.0.1:PORT', address.slice(0, 200));
  const findPage = () => findRunningPage(env, Number(port));
  let answered: string | undefined;
  const check = (store: string | undefined): void => {
    if (answered === undefined || store === answered) return;
    throw new ObservatoryError(
      'DATABASE_REFUSED',
      `The 'up' at ${address} has another store now, ${store}: start it over ${answered}`,
    );
  };
  const find = async () => {
    const { door, store } = findPage() ?? {};
    if (door === undefined) return undefined;
    check(store);
    return { ...door, store };
  };
  const hear = ({ store }: FoundDoor): void => {
    check(store);
    answered = store;
  };
  const what = `the store of 'up' at ${address}`;
  return new DatabaseBehindDoor({ find, hear, name: address, what, spansUrl: findPage()?.door?.spansUrl });
}

interface Asked {
  readonly token: string;
  readonly nonce: string;
  readonly body: Uint8Array;
  readonly signal: AbortSignal;
}

const tooLong = () => new Error(`An answer has more than ${MAX_ANSWER_BYTES} bytes`);
