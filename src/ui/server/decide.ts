import type { IncomingMessage } from 'node:http';
import { invalidOption, ObservatoryError } from '../../base/index.ts';
import { PostgresReviewQueue } from '../../execution/index.ts';
import { isObject } from '../../json/index.ts';
import type { Queryable } from '../../postgres/index.ts';
import { readWaiting, type WaitingDetail } from '../store/index.ts';

/** Who decides on the page, as the reviews name it. */
const WORKER = 'page';
/** A claim of the page is decided at once; a crash between the two frees it after this time. */
const LEASE_MS = 5000;
const MAX_NOTE_CHARS = 2000;

/**
 * Decides what waits: `{"decision": "approve" | "reject", "note": "..."}`.
 * @returns it as it is then; undefined when there is none of this id.
 * @throws ObservatoryError `REVIEW_CONFLICT` when somebody else has claimed or decided it, or it has expired;
 * `INVALID_OPTION` for a body that says neither.
 */
export async function decideWaiting(
  db: Queryable,
  id: string,
  body: unknown,
): Promise<WaitingDetail | undefined> {
  const { decision, note } = isObject(body) ? body : {};
  if (decision !== 'approve' && decision !== 'reject') {
    throw invalidOption('decision', "'approve' or 'reject'", decision);
  }
  if (note !== undefined && (typeof note !== 'string' || note.length > MAX_NOTE_CHARS)) {
    throw invalidOption('note', `a text of at most ${MAX_NOTE_CHARS} characters`, typeof note);
  }
  const found = await readWaiting(db, id);
  if (found === undefined) return undefined;
  const queue = new PostgresReviewQueue({ connection: db });
  const claim = await queue.claim({ worker: WORKER, id, leaseMs: LEASE_MS });
  if (claim === undefined) {
    throw new ObservatoryError('REVIEW_CONFLICT', whyNot((await readWaiting(db, id)) ?? found));
  }
  const noted = note === undefined || note.trim() === '' ? {} : { note };
  if (decision === 'approve') await queue.approve(claim, noted);
  else await queue.reject(claim, noted);
  return readWaiting(db, id);
}

function whyNot({ status, decidedBy, claimedBy }: WaitingDetail): string {
  if (status === 'expired') return 'It has expired';
  if (status === 'approved' || status === 'rejected') return `It was ${status} by ${decidedBy} already`;
  return `It is claimed by ${claimedBy}, who decides it`;
}

/**
 * Reads a body of JSON. A page elsewhere cannot send one: its type needs the browser's leave, which is not given.
 * @throws ObservatoryError `INVALID_OPTION` for another type, one that is too large, or one that is no JSON.
 */
export async function readJsonBody(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  if (type !== 'application/json') throw invalidOption('content-type', 'application/json', type);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw invalidOption('the body', `at most ${maxBytes} bytes`, `${bytes} or more`);
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown;
  } catch {
    throw new ObservatoryError('INVALID_OPTION', 'The body is not JSON');
  }
}
