import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGzip, gzip } from 'node:zlib';
import { sliced } from '../../base/index.ts';

const JSON_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  vary: 'accept-encoding',
} as const;

/** Answers up to this length are marked by their content, and not sent to those who have them. */
const MAX_MARKED_CHARS = 1_000_000;
/** Shorter ones are not compressed: it would not save a packet. */
const MIN_ZIPPED_CHARS = 1400;
/** Most of what compression saves at a third of its work. */
const ZIP = { level: 3 } as const;

const zip = promisify(gzip);

/**
 * Sends an answer as JSON, compressed for those who take it: a short one whole, a long one in parts, as fast as the reader
 * takes them.
 *
 * @param mark of an answer that has one before it is written; by default a short answer is marked by its content.
 */
export async function sendJsonAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  answer: object,
  mark?: string | undefined,
): Promise<void> {
  const parts = jsonParts(answer);
  const first: string[] = [];
  let chars = 0;
  let isWhole = false;
  while (!isWhole && chars < MAX_MARKED_CHARS) {
    const { value, done } = await parts.next();
    isWhole = done === true;
    if (value !== undefined) first.push(value);
    chars += value?.length ?? 0;
  }
  const begun = first.join('');
  const etag = mark ?? (isWhole ? toMark(begun) : undefined);
  if (etag !== undefined && request.headers['if-none-match'] === etag) return sendUnchanged(response, etag);
  const isZipped = takesGzip(request) && (chars >= MIN_ZIPPED_CHARS || !isWhole);
  const headers = {
    ...JSON_HEADERS,
    ...(etag !== undefined && { etag }),
    ...(isZipped && { 'content-encoding': 'gzip' }),
  };
  if (isWhole) {
    const body = isZipped ? await zip(begun, ZIP) : begun;
    response.writeHead(200, headers).end(body);
    return;
  }
  response.writeHead(200, headers);
  const all = Readable.from(chain(begun, parts));
  // A reader that leaves early is no error of the page.
  await (isZipped ? pipeline(all, createGzip(ZIP), response) : pipeline(all, response)).catch(
    () => undefined,
  );
}

async function* chain(first: string, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  yield first;
  yield* rest;
}

/** A mark of a content, as an ETag. */
export function toMark(content: string): string {
  return `"${createHash('sha256').update(content).digest('base64url').slice(0, 27)}"`;
}

/** Tells a reader that it has the answer. */
export function sendUnchanged(response: ServerResponse, etag: string): void {
  response.writeHead(304, { etag, 'cache-control': 'no-store', vary: 'accept-encoding' }).end();
}

export function sendJson(response: ServerResponse, status: number, answer: object): void {
  if (response.headersSent) return;
  response.writeHead(status, JSON_HEADERS).end(JSON.stringify(answer));
}

export function sendText(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${message}\n`);
}

/** Whether an answer may be compressed. */
export function takesGzip({ headers }: IncomingMessage): boolean {
  const accepted = headers['accept-encoding'];
  return typeof accepted === 'string' && /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:,|\s|$))/iu.test(accepted);
}

/** Elements of a list that are written at once. */
const PART = 100;

/**
 * An answer as JSON, in parts: the lists of a long run, which are its only large members, are written piece by piece, so
 * that other requests get their turn.
 */
export async function* jsonParts(answer: object): AsyncGenerator<string> {
  const turn = sliced();
  let before = '{';
  for (const [name, value] of Object.entries(answer)) {
    if (value === undefined) continue;
    yield `${before}${JSON.stringify(name)}:`;
    before = ',';
    if (!Array.isArray(value) || value.length <= PART) {
      yield JSON.stringify(value);
      continue;
    }
    for (let i = 0; i < value.length; i += PART) {
      const part = JSON.stringify(value.slice(i, i + PART)).slice(1, -1);
      yield `${i === 0 ? '[' : ','}${part}`;
      await turn();
    }
    yield ']';
  }
  yield before === '{' ? '{}' : '}';
}
