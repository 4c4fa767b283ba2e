import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { errorMessage, ObservatoryError, PortConnections } from '../../base/index.ts';
import { type Queryable, reading } from '../../postgres/index.ts';
import type { StoreMcp } from '../mcp/index.ts';
import { Access } from './access.ts';
import { Announcer, checkWebhook, type WebhookOptions } from './announce.ts';
import { type ApiSources, answerApi, UNCHANGED } from './api.ts';
import { type Asset, readAssets, sendAsset } from './assets.ts';
import { decideWaiting, readJsonBody } from './decide.ts';
import { findGoldenFile, sendGoldenFile } from './golden-file.ts';
import { checkRequest, type GuardOptions, setSecurityHeaders } from './guard.ts';
import { keepGolden } from './keep-golden.ts';
import { Live } from './live.ts';
import { answerMcp } from './mcp-endpoint.ts';
import { printableAnswer } from './printable-answer.ts';
import { sendJson, sendJsonAnswer, sendText, sendUnchanged } from './send.ts';
import { StoreWatch } from './store-watch.ts';
import { write } from './write.ts';

const MAX_URL_CHARS = 8192;
const MAX_CONNECTIONS = 256;

/** How to point a program at a receiver. */
export interface SenderSettings {
  readonly name: string;
  /** What to set, one line each: environment variables, or lines of a file that `where` names. */
  readonly lines: readonly string[];
  readonly where?: string | undefined;
}

/** Where the page is served, and from what. */
export interface PageOptions {
  /** Stays the caller's. */
  readonly db: Queryable;
  /** @defaultValue 127.0.0.1 */
  readonly host?: string | undefined;
  /** 0 is any free one. @defaultValue 4320 */
  readonly port?: number | undefined;
  /** Answers at `/mcp`; closed with the page. @defaultValue none */
  readonly mcp?: StoreMcp | undefined;
  /** Reads, also at `/mcp`, as a bearer token. @defaultValue none: only those who decide read */
  readonly readToken?: string | undefined;
  /**
   * Decides, in the address and as a bearer token, as often as it is given; at least 16 characters.
   * @defaultValue a random one for each browser
   */
  readonly token?: string | undefined;
  /** Who decides on the page, as reviews name it: `page:NAME`. @defaultValue none: `page` */
  readonly person?: string | undefined;
  /** Told of the next address when a browser has used the last one. */
  readonly onAddress?: ((url: string) => void) | undefined;
  /** Told of each call that waits for a person. @defaultValue none */
  readonly webhook?: WebhookOptions | undefined;
  /** Folder of the goldens that runs can be compared with. @defaultValue `goldens` */
  readonly goldens?: string | undefined;
  /** Shown while nothing has arrived. @defaultValue those of the usual ports */
  readonly senders?: readonly SenderSettings[] | undefined;
}

/** A running page. */
export interface Page extends AsyncDisposable {
  /** The address for the next browser, with its token. */
  readonly url: string;
  /** The address without a token. */
  readonly address: string;
  /** Idempotent. */
  close(): Promise<void>;
}

const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost']);

/**
 * Serves the page over a database. It only reads, apart from adding up runs and deciding what waits for a person.
 *
 * @throws ObservatoryError `INVALID_OPTION` when the address cannot be bound, or a token can be guessed.
 */
export async function startPage(options: PageOptions): Promise<Page> {
  const { db, host = '127.0.0.1', port = 4320, goldens = 'goldens', mcp, senders = [], person } = options;
  const access = new Access(options);
  checkWebhook(options.webhook);
  const assets = readAssets();
  const questions = reading(db, { timeoutMs: QUESTION_TIMEOUT_MS });
  const live = new Live(db, questions);
  const watch = new StoreWatch(db);
  const hosts: string[] = [];
  const guard = {
    hosts: LOOPBACK.has(host) ? hosts : undefined,
    tradeHost: undefined as string | undefined,
    access,
    cookie: '',
    onTrade: () => {},
  };
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 5000 }, (request, response) => {
    connections.beginHttp(request, response);
    void handle(request, response, {
      db,
      questions,
      goldens,
      announcer,
      assets,
      live,
      watch,
      guard,
      mcp,
      senders,
      person,
    });
  });
  const connections = new PortConnections(server, { limit: MAX_CONNECTIONS });
  server.listen(port, host);
  await once(server, 'listening').catch((cause: Error) => {
    throw new ObservatoryError('INVALID_OPTION', `Cannot listen at ${host}:${port}: ${cause.message}`, {
      cause,
    });
  });
  const bound = server.address();
  const open = typeof bound === 'object' && bound !== null ? bound.port : port;
  hosts.push(`127.0.0.1:${open}`, `localhost:${open}`, `[::1]:${open}`);
  const name = host.includes(':') ? `[${host}]` : host;
  const address = `http://${name}:${open}/`;
  const isOnceNamed = LOOPBACK.has(host) && options.token === undefined;
  const personal = isOnceNamed ? `http://${randomName()}.localhost:${open}/` : address;
  if (isOnceNamed) guard.tradeHost = new URL(personal).host;
  hosts.push(new URL(personal).host);
  const urlNow = () => `${personal}?token=${encodeURIComponent(access.token)}`;
  // Browsers share cookies between the ports of a machine.
  guard.cookie = `mcp_observatory_${open}`;
  guard.onTrade = () => {
    if (options.token === undefined) options.onAddress?.(urlNow());
  };
  const announcer =
    options.webhook === undefined
      ? undefined
      : new Announcer(db, options.webhook, personal, () => live.refresh());
  const closeAll = async () => {
    await announcer?.close();
    await stop(server, live);
    await mcp?.close();
  };
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= closeAll();
    return closed;
  };
  return {
    get url() {
      return urlNow();
    },
    address,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/**
 * A host name for one start. A program that listened at this port before may have left a service worker, which would see
 * the token and the key; browsers keep service workers by host name.
 */
const randomName = (): string => `up-${randomBytes(5).toString('hex')}`;

async function stop(server: Server, live: Live): Promise<void> {
  await live.close();
  if (!server.listening) return;
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

interface Parts extends Omit<ApiSources, 'isKnown'> {
  /** The same database, for what only reads: one object, by which answers are remembered. */
  readonly questions: Queryable;
  readonly assets: ReadonlyMap<string, Asset>;
  readonly live: Live;
  readonly guard: GuardOptions;
  readonly person: string | undefined;
  readonly mcp: StoreMcp | undefined;
  readonly senders: readonly SenderSettings[];
}

async function handle(request: IncomingMessage, response: ServerResponse, parts: Parts): Promise<void> {
  try {
    setSecurityHeaders(response);
    const target = request.url ?? '/';
    if (target.length > MAX_URL_CHARS) {
      const message = `The address has more than ${MAX_URL_CHARS} characters: shorten the filter`;
      return sendJson(response, 414, { error: { code: 'INVALID_OPTION', message } });
    }
    const url = new URL(target, 'http://page');
    const verdict = checkRequest(request, parts.guard);
    if (!verdict.isAllowed) return sendRefusal(response, url, verdict);
    if (verdict.redirect !== undefined) {
      const { location, cookie } = verdict.redirect;
      if (cookie !== undefined) response.setHeader('set-cookie', cookie);
      response.writeHead(303, { location, 'cache-control': 'no-store' }).end();
      return;
    }
    if (url.pathname === '/mcp' && parts.mcp !== undefined) {
      return await answerMcp(request, response, url, parts.mcp).catch((error: unknown) =>
        sendError(response, error),
      );
    }
    if (request.method === 'POST') return await sendPosted(request, response, url, parts);
    if (request.method !== 'GET' && request.method !== 'HEAD') return sendText(response, 405, 'Only GET');
    const asset = parts.assets.get(url.pathname);
    if (asset !== undefined) return sendAsset(request, response, asset);
    if (url.pathname === '/api/live') {
      if (!parts.live.add(response)) sendText(response, 503, 'Too many pages are open');
      return;
    }
    await sendAnswer(request, response, url, parts);
  } catch (error) {
    sendText(response, 500, errorMessage(error));
  }
}

/** How long one statement behind a view may take. */
const QUESTION_TIMEOUT_MS = 15_000;

async function sendAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
  { questions, goldens, announcer, watch, live, senders, person }: Parts,
): Promise<void> {
  if (url.pathname === '/api/senders') return sendJson(response, 200, { senders });
  // The page asks whether its session is good.
  if (url.pathname === '/api/session') return sendJson(response, 200, { person: person ?? null });
  try {
    // Without a page that is open, nobody else adds up what has arrived.
    if (url.searchParams.has('fresh') || !live.isWatched) await live.refresh();
    if (url.pathname === '/api/goldens/file') {
      const file = await findGoldenFile(goldens, url.searchParams.get('name') ?? '');
      return file === undefined ? sendNotFound(response) : await sendGoldenFile(response, file);
    }
    let mark: string | undefined;
    const isKnown = (known: string) => {
      mark = known;
      return request.headers['if-none-match'] === known;
    };
    const answer = await answerApi(
      { db: questions, goldens, announcer, watch, isKnown },
      url.pathname,
      url.searchParams,
    );
    if (answer === undefined) sendNotFound(response);
    else if (answer === UNCHANGED) sendUnchanged(response, mark ?? '');
    else await sendJsonAnswer(request, response, answer, mark);
  } catch (error) {
    sendError(response, error);
  }
}

const MAX_POSTED_BYTES = 65_536;

/** Answers what changes something, for those who may decide. */
async function sendPosted(
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
  { db, goldens, live, person }: Parts,
): Promise<void> {
  try {
    const [, run] = /^\/api\/runs\/([0-9a-f]{32})\/golden$/u.exec(url.pathname) ?? [];
    if (run !== undefined) {
      await readJsonBody(request, MAX_POSTED_BYTES);
      return sendJson(response, 200, await keepGolden(db, goldens, run));
    }
    if (/^\/api\/(?:views|runs\/[0-9a-f]{32}\/note)/u.test(url.pathname)) {
      const body = await readJsonBody(request, MAX_POSTED_BYTES);
      return (await write(db, url.pathname, body, person))
        ? sendJson(response, 200, {})
        : sendNotFound(response);
    }
    const [, id] = /^\/api\/waiting\/([0-9a-f-]{36})$/u.exec(url.pathname) ?? [];
    if (id === undefined) return sendText(response, 405, 'Only GET');
    const decided = await decideWaiting(db, id, await readJsonBody(request, MAX_POSTED_BYTES), person);
    if (decided === undefined) return sendNotFound(response);
    sendJson(response, 200, printableAnswer(decided));
    void live.refresh();
  } catch (error) {
    sendError(response, error);
  }
}

/** Statuses of errors; of any other the database is the cause. */
const STATUSES: Readonly<Record<string, number>> = {
  INVALID_OPTION: 400,
  INVALID_INPUT: 400,
  TRACE_UNUSABLE: 409,
  GOLDEN_UNREADABLE: 409,
  GOLDEN_TOO_NEW: 409,
  REVIEW_NOT_FOUND: 404,
  REVIEW_CONFLICT: 409,
  INTERNAL: 500,
};

function sendError(response: ServerResponse, error: unknown): void {
  const code = ObservatoryError.isInstance(error) ? error.code : 'INTERNAL';
  sendJson(response, STATUSES[code] ?? 503, { error: { code, message: errorMessage(error) } });
}

/** Refuses in the form of what was asked for: the page and agents read JSON. */
function sendRefusal(
  response: ServerResponse,
  url: URL,
  { status, code, message }: { status: number; code: string; message: string },
): void {
  if (status === 401) response.setHeader('www-authenticate', 'Bearer');
  if (url.pathname === '/') sendText(response, status, message);
  else sendJson(response, status, { error: { code, message } });
}

function sendNotFound(response: ServerResponse): void {
  sendJson(response, 404, { error: { code: 'NOT_FOUND', message: 'Nothing is here' } });
}
