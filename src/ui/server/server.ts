import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { errorMessage, ObservatoryError } from '../../base/index.ts';
import { type Queryable, reading } from '../../postgres/index.ts';
import type { StoreMcp } from '../mcp/index.ts';
import { Announcer, checkWebhook, type WebhookOptions } from './announce.ts';
import { type ApiSources, answerApi } from './api.ts';
import { type Asset, readAssets } from './assets.ts';
import { decideWaiting, readJsonBody } from './decide.ts';
import { findGoldenFile, sendGoldenFile } from './golden-file.ts';
import { checkRequest, setSecurityHeaders } from './guard.ts';
import { jsonParts } from './json-parts.ts';
import { keepGolden } from './keep-golden.ts';
import { Live } from './live.ts';
import { answerMcp } from './mcp-endpoint.ts';
import { printableAnswer } from './printable-answer.ts';

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
  /** Required of every request; needed for any address but loopback. */
  readonly token?: string | undefined;
  /** Told of each call that waits for a person. @defaultValue none */
  readonly webhook?: WebhookOptions | undefined;
  /** Folder of the goldens that runs can be compared with. @defaultValue `goldens` */
  readonly goldens?: string | undefined;
  /** Shown while nothing has arrived. @defaultValue those of the usual ports */
  readonly senders?: readonly SenderSettings[] | undefined;
}

/** A running page. */
export interface Page extends AsyncDisposable {
  /** Its address, with the token where one is required. */
  readonly url: string;
  /** Idempotent. */
  close(): Promise<void>;
}

const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost']);

/**
 * Serves the page over a database. It only reads, apart from adding up runs and deciding what waits for a person.
 *
 * @throws ObservatoryError `INVALID_OPTION` when the address cannot be bound, or is not loopback and has no token.
 */
export async function startPage(options: PageOptions): Promise<Page> {
  const { db, host = '127.0.0.1', port = 4320, token, goldens = 'goldens', mcp, senders = [] } = options;
  if (!LOOPBACK.has(host) && (token === undefined || token.length < 16)) {
    throw new ObservatoryError(
      'INVALID_OPTION',
      `A page at ${host} is open to others: give it a token of at least 16 characters, or listen at 127.0.0.1`,
    );
  }
  checkWebhook(options.webhook);
  const assets = readAssets();
  const questions = reading(db, { timeoutMs: QUESTION_TIMEOUT_MS });
  const live = new Live(db, questions);
  const hosts: string[] = [];
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 5000 }, (request, response) => {
    void handle(request, response, { db, questions, goldens, assets, live, hosts, token, mcp, senders });
  });
  server.maxConnections = MAX_CONNECTIONS;
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
  const query = token === undefined ? '' : `?token=${encodeURIComponent(token)}`;
  const url = `http://${name}:${open}/`;
  const announcer = options.webhook === undefined ? undefined : new Announcer(db, options.webhook, url);
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
  return { url: `${url}${query}`, close, [Symbol.asyncDispose]: close };
}

async function stop(server: Server, live: Live): Promise<void> {
  await live.close();
  if (!server.listening) return;
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

interface Parts extends ApiSources {
  /** The same database, for what only reads: one object, by which answers are remembered. */
  readonly questions: Queryable;
  readonly assets: ReadonlyMap<string, Asset>;
  readonly live: Live;
  readonly hosts: readonly string[];
  readonly token: string | undefined;
  readonly mcp: StoreMcp | undefined;
  readonly senders: readonly SenderSettings[];
}

async function handle(request: IncomingMessage, response: ServerResponse, parts: Parts): Promise<void> {
  try {
    setSecurityHeaders(response);
    const verdict = checkRequest(request, parts);
    if (!verdict.isAllowed) return sendText(response, verdict.status, verdict.message);
    if (verdict.redirect !== undefined) {
      response.setHeader('set-cookie', verdict.redirect.cookie);
      response.writeHead(303, { location: verdict.redirect.location }).end();
      return;
    }
    const target = request.url ?? '/';
    if (target.length > MAX_URL_CHARS) {
      const message = `The address has more than ${MAX_URL_CHARS} characters: shorten the filter`;
      return sendJson(response, 414, { error: { code: 'INVALID_OPTION', message } });
    }
    const url = new URL(target, 'http://page');
    if (url.pathname === '/mcp' && parts.mcp !== undefined) {
      return await answerMcp(request, response, url, parts.mcp).catch((error: unknown) =>
        sendError(response, error),
      );
    }
    if (request.method === 'POST') return await sendPosted(request, response, url, parts);
    if (request.method !== 'GET' && request.method !== 'HEAD') return sendText(response, 405, 'Only GET');
    const asset = parts.assets.get(url.pathname);
    if (asset !== undefined) return sendAsset(response, asset);
    if (url.pathname === '/api/live') {
      if (!parts.live.add(response)) sendText(response, 503, 'Too many pages are open');
      return;
    }
    await sendAnswer(response, url, parts);
  } catch (error) {
    sendText(response, 500, errorMessage(error));
  }
}

/** How long one statement behind a view may take. */
const QUESTION_TIMEOUT_MS = 15_000;

async function sendAnswer(
  response: ServerResponse,
  url: URL,
  { questions, goldens, live, senders }: Parts,
): Promise<void> {
  if (url.pathname === '/api/senders') return sendJson(response, 200, { senders });
  try {
    // Without a page that is open, nobody else adds up what has arrived.
    if (url.searchParams.has('fresh') || !live.isWatched) await live.refresh();
    if (url.pathname === '/api/goldens/file') {
      const file = await findGoldenFile(goldens, url.searchParams.get('name') ?? '');
      return file === undefined ? sendNotFound(response) : await sendGoldenFile(response, file);
    }
    const answer = await answerApi({ db: questions, goldens }, url.pathname, url.searchParams);
    if (answer !== undefined) return await streamJson(response, answer);
    sendNotFound(response);
  } catch (error) {
    sendError(response, error);
  }
}

const MAX_POSTED_BYTES = 65_536;

/** Answers what changes something; the check of `Host` and `Origin` has been made. */
async function sendPosted(
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
  { db, goldens, live }: Parts,
): Promise<void> {
  try {
    const [, run] = /^\/api\/runs\/([0-9a-f]{32})\/golden$/u.exec(url.pathname) ?? [];
    if (run !== undefined) {
      await readJsonBody(request, MAX_POSTED_BYTES);
      return sendJson(response, 200, await keepGolden(db, goldens, run));
    }
    const [, id] = /^\/api\/waiting\/([0-9a-f-]{36})$/u.exec(url.pathname) ?? [];
    if (id === undefined) return sendText(response, 405, 'Only GET');
    const decided = await decideWaiting(db, id, await readJsonBody(request, MAX_POSTED_BYTES));
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

function sendNotFound(response: ServerResponse): void {
  sendJson(response, 404, { error: { code: 'NOT_FOUND', message: 'Nothing is here' } });
}

function sendAsset(response: ServerResponse, { type, body }: Asset): void {
  response.writeHead(200, { 'content-type': type, 'cache-control': 'no-cache' }).end(body);
}

const JSON_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
} as const;

/** The run of a day may be many megabytes: it is written in parts, as fast as the reader takes them. */
async function streamJson(response: ServerResponse, answer: object): Promise<void> {
  response.writeHead(200, JSON_HEADERS);
  // A reader that leaves early is no error of the page.
  await pipeline(Readable.from(jsonParts(answer)), response).catch(() => undefined);
}

function sendJson(response: ServerResponse, status: number, answer: object): void {
  if (response.headersSent) return;
  response.writeHead(status, JSON_HEADERS).end(JSON.stringify(answer));
}

function sendText(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${message}\n`);
}
