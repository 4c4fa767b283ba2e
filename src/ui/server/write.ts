/** What people write on the page: notes on runs, and views that they keep. */
import { invalidOption } from '../../base/index.ts';
import { isObject } from '../../json/index.ts';
import type { Queryable } from '../../postgres/index.ts';
import { annotateRun, removeView, saveView, VIEW_MEASURES } from '../../runs/index.ts';
import { formatAuthor, readMember } from './decide.ts';

const NOTE = /^\/api\/runs\/([0-9a-f]{32})\/note$/u;
const VIEW = /^\/api\/views\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\/remove$/u;

/**
 * Writes what was posted: `{"labels": [...], "note": "..."}` on a run; `{"name", "address", "measure", "threshold"}` as a
 * view; or nothing, to forget a view.
 * @param person who writes, where it is known.
 * @returns false where there is no such run, view or address.
 * @throws ObservatoryError `INVALID_OPTION` for a body of another form; the database's errors.
 */
export async function write(
  db: Queryable,
  path: string,
  body: unknown,
  person?: string | undefined,
): Promise<boolean> {
  const given = isObject(body) ? body : {};
  const run = NOTE.exec(path)?.[1];
  if (run !== undefined) {
    const { labels } = given;
    if (!Array.isArray(labels) || !labels.every((label) => typeof label === 'string'))
      throw invalidOption('labels', 'a list of texts', typeof labels);
    return annotateRun(db, run, formatAuthor(person), { labels, note: readText('note', given.note) });
  }
  const view = VIEW.exec(path)?.[1];
  if (view !== undefined) return removeView(db, view);
  if (path !== '/api/views') return false;
  const { measure = null, threshold = null } = given;
  if (threshold !== null && typeof threshold !== 'number')
    throw invalidOption('threshold', 'a number', typeof threshold);
  await saveView(db, formatAuthor(person), {
    name: readText('name', given.name),
    address: readText('address', given.address),
    measure: measure === null ? null : readMember('measure', VIEW_MEASURES, measure),
    threshold,
  });
  return true;
}

function readText(name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  throw invalidOption(name, 'a text', typeof value);
}
