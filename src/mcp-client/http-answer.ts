/** What a server answered to a POST: a message for the request is its answer, whatever the HTTP status. */
import { isObject } from '../json/index.ts';
import { messagesIn, parseMessage, readError } from './envelope.ts';
import { nothingThere, SessionExpired, unauthorized } from './http-refusal.ts';
import type { JsonRpcId, JsonRpcMessage, McpSession } from './session.ts';

/** What was posted, as far as it matters here. Without an id it is a notification or an answer of ours. */
interface Posted {
  readonly id?: JsonRpcId | undefined;
  readonly method?: string | undefined;
}

/** A response that was looked into, or the error to raise in its place. */
interface ReadResponse {
  readonly response: Response;
  readonly error?: Error;
}

/** How the SDKs begin and end a request; another form is parsed. */
const BEGINNING = /^\{"method":"([\w/-]{1,100})"/;
const END = /"jsonrpc":"2\.0","id":(\d{1,15})\}$/;
const ENDS_CHARS = 200;

/**
 * Reads the response to a POST of our own client; an event stream is left as it is. An answer in the body is passed on as
 * one, under status 200 and as JSON. Everything else is an error that says what came instead.
 */
export async function readPostResponse(
  response: Response,
  init: RequestInit | undefined,
): Promise<ReadResponse> {
  const posted = init?.method === 'POST' ? postedIn(init.body) : undefined;
  if (posted === undefined) return { response };
  if (posted.method === undefined || posted.id === undefined) return await readReceipt(response, init);
  // The answer comes on the stream that a GET opened.
  if (response.status === 202) return { response };
  const { method } = posted;
  const text = await response.text();
  const messages = messagesIn(text);
  const answer = messages.find((message) => isAnswerTo(message, posted.id));
  if (method === 'initialize' || method === 'server/discover')
    return readHandshake(withText(text, response), method, answer && messages);
  const lost = lostSession(response, init, answer, text);
  if (lost !== undefined) return { response, error: lost };
  if (answer !== undefined) return { response: asJson(response, messages) };
  return { response, error: unanswered(response, text) };
}

/** As {@link readPostResponse}, for a transport whose owner handles every other response. */
export async function passAnswerOn(response: Response, init: RequestInit | undefined): Promise<Response> {
  const { status } = response;
  const posted = init?.method === 'POST' ? postedIn(init.body) : undefined;
  const isTheirs = status === 202 || status === 401 || status === 403 || isStream(response);
  if (posted?.id === undefined || posted.method === undefined || isTheirs) return response;
  const text = await response.text();
  const messages = messagesIn(text);
  const isAnswered = messages.some((message) => isAnswerTo(message, posted.id));
  return isAnswered ? asJson(response, messages) : withText(text, response);
}

/** Some servers send the id back as a text, which the SDKs take. */
function isAnswerTo({ method, id }: JsonRpcMessage, requestId: JsonRpcId | undefined): boolean {
  return method === undefined && id !== undefined && String(id) === String(requestId);
}

/** Some statuses allow no body, not even an empty one. */
function withText(text: string, response: Response): Response {
  return new Response(text === '' ? null : text, response);
}

export function requestIdIn(init: RequestInit | undefined): JsonRpcId | undefined {
  const posted = init?.method === 'POST' ? postedIn(init.body) : undefined;
  return posted?.method === undefined ? undefined : posted.id;
}

/**
 * The answer in an event that is an error without the id of a request: on the stream that answers one request it is about
 * that one. Undefined for anything else.
 */
export function findStrayError(text: string, requestId: JsonRpcId): JsonRpcMessage | undefined {
  const value = parseMessage(text);
  // The SDK for Python says "server-error".
  if (!isObject(value) || value.method !== undefined || typeof value.id === 'number') return undefined;
  const error = readError(value.error);
  if (error === undefined || value.id === requestId) return undefined;
  const { message } = error;
  const code = isAboutSession(message) ? SESSION_NOT_FOUND : error.code;
  return { jsonrpc: '2.0', id: requestId, error: { code, message } };
}

/** The error of a request, or that its session is over, which an event of a stream can say too. */
export function findExpiry(session: McpSession, error: unknown): unknown {
  if (session.sessionId?.() === undefined) return error;
  const refused = session.protocolError(error);
  const isExpired = refused?.code === SESSION_NOT_FOUND && isAboutSession(refused.message);
  return isExpired ? new SessionExpired(`the server has ended the session: ${refused.message}`) : error;
}

function postedIn(body: unknown): Posted | undefined {
  if (typeof body !== 'string') return undefined;
  const method = BEGINNING.exec(body.slice(0, ENDS_CHARS))?.[1];
  const id = END.exec(body.slice(-ENDS_CHARS))?.[1];
  if (method !== undefined && id !== undefined) return { id: Number(id), method };
  const messages = messagesIn(body);
  return messages.length === 1 ? messages[0] : undefined;
}

function isStream({ ok, headers }: Response): boolean {
  return ok && headers.get('content-type')?.toLowerCase().startsWith('text/event-stream') === true;
}

/** A notification, or an answer of ours. Some servers refuse those they do not know; nothing waits for an answer. */
async function readReceipt(response: Response, init: RequestInit | undefined): Promise<ReadResponse> {
  if (response.ok) return { response };
  const { status } = response;
  if (status === 401 || status === 403) return { response, error: unauthorized(response) };
  const lost = lostSession(response, init, undefined, await response.text());
  return lost === undefined ? { response: new Response(null, { status: 202 }) } : { response, error: lost };
}

function readHandshake(
  response: Response,
  method: string,
  messages: readonly JsonRpcMessage[] | undefined,
): ReadResponse {
  const { status } = response;
  if (status === 401 || status === 403) return { response, error: unauthorized(response) };
  // To the probe of the newer protocol the status of a refusal says more than its message.
  if (messages !== undefined && (response.ok || method === 'initialize'))
    return { response: asJson(response, messages) };
  return status === 404 || status === 405 ? { response, error: nothingThere(status) } : { response };
}

/** A response whose body is these messages. */
export function asJson(response: Response, messages: readonly JsonRpcMessage[]): Response {
  const made = new Response(null, { status: 200, headers: response.headers });
  for (const name of ['content-length', 'content-encoding']) made.headers.delete(name);
  made.headers.set('content-type', 'application/json');
  const read = messages.length === 1 ? messages[0] : messages;
  // What was parsed is not parsed again.
  return Object.defineProperties(made, {
    json: { value: async () => read },
    text: { value: async () => JSON.stringify(read) },
  });
}

/** The code of the SDKs for a session that they do not know. */
const SESSION_NOT_FOUND = -32_001;
/** Codes with which servers say that a session is over. */
const SESSION_CODES: ReadonlySet<number> = new Set([-32_000, SESSION_NOT_FOUND, -32_600]);
/** A longer text is about something else. */
const MAX_SESSION_TEXT = 300;
const LOST = '(?:not found|expired|invalid|unknown|terminated|gone|closed|ended|does not exist|no longer)';
const SAYS_LOST = new RegExp(
  `\\b(?:session|session ?id)["']?:? (?:(?:is|has|was|been|already|not) ){0,3}${LOST}`,
  'i',
);
const SAYS_UNKNOWN =
  /\b(?:no valid|no such|invalid|unknown|expired|missing|could not find|no transport found for) (?:or [a-z]{1,20} )?(?:mcp[- ])?session(?: ?id)?\b/i;
const SAYS_NEW =
  /(?:server|session) (?:is )?not (?:yet )?initiali[sz]ed|\bsession[- ]id (?:header )?(?:is )?(?:required|missing)/i;

/** The error for a response which says that the server does not know the session, so that the request never ran. */
function lostSession(
  { status, ok }: Response,
  init: RequestInit | undefined,
  answer: JsonRpcMessage | undefined,
  text: string,
): SessionExpired | undefined {
  const hasSession = new Headers(init?.headers).has('mcp-session-id');
  const isGone = hasSession && (status === 404 || status === 410);
  if (answer === undefined)
    return isGone || ((hasSession || !ok) && isAboutSession(text)) ? expired(status, text) : undefined;
  const { error } = answer;
  if (error === undefined || !hasSession || !(isGone || SESSION_CODES.has(error.code))) return undefined;
  // A tool may have sessions of its own, and says so under status 200 too: only the code of the SDKs counts there.
  if (ok && error.code !== SESSION_NOT_FOUND) return undefined;
  return isAboutSession(error.message) ? expired(status, error.message) : undefined;
}

function isAboutSession(text: string): boolean {
  const isShort = text.length <= MAX_SESSION_TEXT;
  return isShort && (SAYS_LOST.test(text) || SAYS_UNKNOWN.test(text) || SAYS_NEW.test(text));
}

function expired(status: number, text: string): SessionExpired {
  return new SessionExpired(`the server has ended the session, ${statusAndText(status, text)}`);
}

function unanswered(response: Response, text: string): Error {
  const { status, ok } = response;
  if (status === 401 || status === 403) return unauthorized(response, quoted(text));
  return new Error(
    ok
      ? `the server sent no answer to this request, ${statusAndText(status, text)}`
      : `the server refused the request, ${statusAndText(status, text)}`,
  );
}

const MAX_READ = 4_000;
const MAX_QUOTED = 200;

function statusAndText(status: number, body: string): string {
  const text = quoted(body);
  return `HTTP ${status}${text === '' ? '' : `: ${text}`}`;
}

/** The beginning of what a body says: of a page its title. */
function quoted(body: string): string {
  const head = body.slice(0, MAX_READ);
  const title = /<title>([^<]{1,200})/i.exec(head)?.[1];
  const text = (title ?? head.replace(/<[^<>]{0,200}>/g, ' ')).replace(/\s+/g, ' ').trim();
  return text.slice(0, MAX_QUOTED);
}
