import type { IncomingMessage } from 'node:http';
import { APPROVAL_SCOPES, type DecisionNow, decideNow, PostgresReviewQueue } from '../../approvals/index.ts';
import { invalidOption, ObservatoryError, readBytes } from '../../base/index.ts';
import { isObject } from '../../json/index.ts';
import type { Queryable } from '../../postgres/index.ts';
import { readWaiting, type WaitingDetail } from '../../runs/index.ts';

const MAX_NOTE_CHARS = 2000;

const DECISIONS = ['approve', 'reject', 'revoke'] as const;

/**
 * Decides what waits: `{"decision": "approve" | "reject", "note": "...", "scope": "once" | "session" | "definition"}`; or
 * ends an approval that can still be used: `{"decision": "revoke"}`. A tool is approved or rejected once for each of its
 * definitions.
 * @param person who decides, where it is known.
 * @returns it as it is then; undefined when there is none of this id.
 * @throws ObservatoryError `REVIEW_CONFLICT` when somebody else has claimed or decided it, or it has expired;
 * `INVALID_OPTION` for a body that says neither, or a scope that the policy does not offer.
 */
export async function decideWaiting(
  db: Queryable,
  id: string,
  body: unknown,
  person?: string | undefined,
): Promise<WaitingDetail | undefined> {
  const by = formatAuthor(person);
  const { decision, note, scope = 'once' } = isObject(body) ? body : {};
  const how = readMember('decision', DECISIONS, decision);
  const reach = readMember('scope', APPROVAL_SCOPES, scope);
  if (note !== undefined && (typeof note !== 'string' || note.length > MAX_NOTE_CHARS)) {
    throw invalidOption('note', `a text of at most ${MAX_NOTE_CHARS} characters`, typeof note);
  }
  const waiting = await readWaiting(db, id);
  if (waiting === undefined) return undefined;
  const queue = new PostgresReviewQueue({ connection: db });
  const noted = note === undefined || note.trim() === '' ? {} : { note };
  if (waiting.kind === 'tool') await decideTool(queue, waiting, { how, by, ...noted });
  else if (how === 'revoke') await queue.revoke(id, { by, ...noted });
  else await decideNow(queue, id, { how, by, scope: reach, ...noted });
  return readWaiting(db, id);
}

/**
 * Keeps who decided about a definition, and what was looked at. It changes no gate: a gate believes its pins, in a file that
 * no page writes.
 */
async function decideTool(
  queue: PostgresReviewQueue,
  { id, tool, run, definition }: WaitingDetail,
  { how, ...rest }: Omit<DecisionNow, 'how'> & { readonly how: (typeof DECISIONS)[number] },
): Promise<void> {
  if (how === 'revoke') throw invalidOption('decision', `'approve' or 'reject' for a tool`, how);
  if (how === 'approve' && definition?.state === 'refused') {
    const why = `'reject' for a definition that cannot be approved (${definition.barred})`;
    throw invalidOption('decision', why, how);
  }
  const about = { toolName: tool ?? '', content: definition };
  await queue.record(id, { ...about, ...(run === null ? {} : { traceId: run }) }, { how, ...rest });
}

/** Who decides or writes on the page, as it is stored. */
export const formatAuthor = (person: string | undefined): string =>
  person === undefined ? 'page' : `page:${person}`;

export function readMember<T extends string>(name: string, known: readonly T[], value: unknown): T {
  const found = known.find((one) => one === value);
  if (found !== undefined) return found;
  throw invalidOption(name, known.map((one) => `'${one}'`).join(' or '), value);
}

/**
 * Reads a body of JSON. A page elsewhere cannot send one: its type needs the browser's leave, which is not given.
 * @throws ObservatoryError `INVALID_OPTION` for another type, one that is too large, or one that is no JSON.
 */
export async function readJsonBody(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  if (type !== 'application/json') throw invalidOption('content-type', 'application/json', type);
  const body = await readBytes(request, maxBytes, (bytes) =>
    invalidOption('the body', `at most ${maxBytes} bytes`, `${bytes} or more`),
  );
  try {
    return JSON.parse(body.toString('utf8')) as unknown;
  } catch {
    throw new ObservatoryError('INVALID_OPTION', 'The body is not JSON');
  }
}
