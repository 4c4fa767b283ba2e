import { createHash, createHmac, randomBytes, scryptSync, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { invalidOption } from '../../base/index.ts';

/** What a request may do: look, or look and decide. */
export type Role = 'read' | 'decide';

/** The header in which the page sends the key of its session. */
const KEY_HEADER = 'x-observatory-key';
const MIN_TOKEN_CHARS = 16;
/** Browsers that may be open at once; the oldest is forgotten first. */
const MAX_SESSIONS = 64;

/** What a browser gets for the token of the address. */
export interface BrowserSession {
  /** For its cookie, which no script can read but which browsers send to every port of the machine. */
  readonly secret: string;
  /** For the page itself: its storage belongs to this port alone, but is written to disk. Neither is enough by itself. */
  readonly key: string;
}

export interface AccessOptions {
  /** Reads, as a bearer token. @defaultValue a random one that is not shown */
  readonly readToken?: string | undefined;
  /** Decides, as a bearer token and in the address, as often as it is given. @defaultValue one for each browser */
  readonly token?: string | undefined;
}

/**
 * Who may do what. Tokens and sessions are in memory only, and end with the process; but with a given token the sessions
 * are made from it, so that a browser goes on after a restart with the same one.
 */
export class Access {
  readonly #readToken: string;
  readonly #fixed: string | undefined;
  /** What sessions are made with; not the token itself, which could be guessed from a cookie at leisure. */
  readonly #seal: Buffer | undefined;
  #token: string;
  /** Digest of the secret to digest of the key. */
  readonly #sessions = new Map<string, Buffer>();

  /** @throws ObservatoryError `INVALID_OPTION` for a token that can be guessed. */
  constructor({ readToken = randomToken(), token }: AccessOptions) {
    for (const [name, given] of Object.entries({ token, readToken }))
      if (given !== undefined && given.length < MIN_TOKEN_CHARS)
        throw invalidOption(
          `the ${name} of the page`,
          `at least ${MIN_TOKEN_CHARS} characters`,
          given.length,
        );
    this.#readToken = readToken;
    this.#fixed = token;
    this.#seal = token === undefined ? undefined : scryptSync(token, 'mcp-observatory page', 32, { N: 8192 });
    this.#token = token ?? randomToken();
  }

  /** The token of the address, for the next browser. */
  get token(): string {
    return this.#token;
  }

  /** Trades the token of the address for a session. It is used up then, unless it was given. */
  trade(token: string): BrowserSession | undefined {
    if (!isSame(token, this.#token)) return undefined;
    if (this.#seal !== undefined) return makeSession(this.#seal, randomToken());
    this.#token = randomToken();
    const session = { secret: randomToken(), key: randomToken() };
    if (this.#sessions.size >= MAX_SESSIONS) {
      const oldest = this.#sessions.keys().next();
      if (oldest.done !== true) this.#sessions.delete(oldest.value);
    }
    this.#sessions.set(digest(session.secret).toString('hex'), digest(session.key));
    return session;
  }

  /** What a request may do. With its cookie alone, a browser is only told that something has changed. */
  roleOf(request: IncomingMessage, cookie: string): Role | 'listen' | undefined {
    const bearer = /^Bearer (\S{1,1000})$/iu.exec(request.headers.authorization ?? '')?.[1];
    if (bearer !== undefined) {
      if (this.#fixed !== undefined && isSame(bearer, this.#fixed)) return 'decide';
      return isSame(bearer, this.#readToken) ? 'read' : undefined;
    }
    const key = this.#keyOf(findCookie(request.headers.cookie, cookie) ?? '');
    if (key === undefined) return undefined;
    const given = request.headers[KEY_HEADER];
    return typeof given === 'string' && timingSafeEqual(digest(given), key) ? 'decide' : 'listen';
  }

  /** The digest of the key that goes with the secret of a session. */
  #keyOf(secret: string): Buffer | undefined {
    if (this.#seal === undefined) return this.#sessions.get(digest(secret).toString('hex'));
    const session = makeSession(this.#seal, secret.split('.', 1)[0] as string);
    return isSame(session.secret, secret) ? digest(session.key) : undefined;
  }
}

/** The session of an id, the same for the same seal. */
function makeSession(seal: Buffer, id: string): BrowserSession {
  const sign = (part: string) => createHmac('sha256', seal).update(`${part} ${id}`).digest('base64url');
  return { secret: `${id}.${sign('cookie')}`, key: sign('page') };
}

/** A token of 256 bits. */
export function randomToken(): string {
  return randomBytes(32).toString('base64url');
}

function findCookie(header = '', name: string): string | undefined {
  for (const part of header.slice(0, 8192).split(';')) {
    const [known, value] = part.trim().split('=', 2);
    if (known === name && value !== undefined) return value;
  }
  return undefined;
}

/** Compares digests, so that timing reveals nothing. */
function isSame(a: string, b: string): boolean {
  return timingSafeEqual(digest(a), digest(b));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
