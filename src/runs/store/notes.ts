import { errorMessage, invalidOption } from '../../base/index.ts';
import { canonicalUuid, cleanText, type Queryable } from '../../postgres/index.ts';
import { formatProblem, parseFilter } from '../filter/index.ts';
import { runMetrics } from './metrics.ts';
import { ask } from './run-row.ts';

const MAX_LABELS = 20;
const MAX_LABEL_CHARS = 50;
const MAX_TEXT_CHARS = 2000;
const DAY_MS = 86_400_000;

/** What people write on a run. */
export interface RunNote {
  readonly labels: readonly string[];
  /** Empty for none. */
  readonly note: string;
}

/**
 * Replaces labels and note of a run; false where there is no such run.
 * @param by who writes.
 * @throws ObservatoryError `INVALID_OPTION` for labels or a note that are too long; the database's errors.
 */
export async function annotateRun(db: Queryable, id: string, by: string, given: RunNote): Promise<boolean> {
  const labels = [...new Set(given.labels.map((label) => cleanText(label).trim()))].filter(Boolean);
  if (labels.length > MAX_LABELS || labels.some((label) => [...label].length > MAX_LABEL_CHARS))
    throw invalidOption('labels', `at most ${MAX_LABELS} of at most ${MAX_LABEL_CHARS} characters`, labels);
  checkText('note', given.note);
  const rows = await ask(
    db,
    'SELECT mcp_runs_annotate($1::text::uuid, $2::text[], $3::text, $4::text) AS done',
    [canonicalUuid(id), labels, cleanText(given.note).trim(), by],
  );
  return rows[0]?.done === true;
}

/** What a threshold compares, over the last 24 hours: US dollars, share of failed runs, runs with a contradicted answer. */
export const VIEW_MEASURES = ['cost', 'failed', 'contradicted'] as const;

/** A view of the page that somebody kept. */
export interface SavedView {
  readonly id: string;
  readonly name: string;
  /** Parameters of the view, as in the address of the page; `q` is its filter. */
  readonly address: string;
  readonly measure: (typeof VIEW_MEASURES)[number] | null;
  /** The webhook is called when the measure is above it. */
  readonly threshold: number | null;
  /** Whether the webhook was told so. */
  readonly isOver: boolean;
}

const VIEW = `name, address, measure, threshold, is_over AS "isOver"`;

/** The views that were kept, by name. @throws the database's errors. */
export async function listViews(db: Queryable): Promise<readonly SavedView[]> {
  const rows = await ask(db, `SELECT view_id::text AS id, ${VIEW} FROM mcp_views ORDER BY lower(name), name`);
  return rows as unknown as readonly SavedView[];
}

/**
 * Keeps a view under its name, in place of another one of that name.
 * @param by who keeps it.
 * @throws ObservatoryError `INVALID_OPTION` for a name, an address or a threshold out of range; the database's errors.
 */
export async function saveView(
  db: Queryable,
  by: string,
  { name, address, measure, threshold }: Omit<SavedView, 'id' | 'isOver'>,
): Promise<void> {
  const known = cleanText(name).trim();
  if (known === '' || [...known].length > 100) throw invalidOption('name', '1 to 100 characters', name);
  checkText('address', address);
  if ((measure === null) !== (threshold === null) || !(Math.abs(threshold ?? 0) <= 1e12))
    throw invalidOption('threshold', 'a number with what it is of, or neither', threshold);
  await ask(db, 'SELECT mcp_views_save($1::text, $2::text, $3::text, $4::text::float8, $5::text)', [
    known,
    cleanText(address),
    measure,
    threshold === null ? null : String(threshold),
    by,
  ]);
}

/** Forgets a view; false where there is none. @throws the database's errors. */
export async function removeView(db: Queryable, id: string): Promise<boolean> {
  const [row] = await ask(db, 'SELECT mcp_views_remove($1::text::uuid) AS done', [id]);
  return row?.done === true;
}

/** A view whose threshold was compared. `value` is null where too little is known, or it has a problem. */
export interface ComparedView extends SavedView {
  readonly value: number | null;
  readonly problem?: string;
}

/** Runs below which the share of failed ones says nothing. */
const MIN_RUNS = 10;

/**
 * Compares views that were not compared for a minute, a few at a time.
 * @param refresh adds up what has arrived, where nobody looks and so nobody does.
 * @throws the database's errors.
 */
export async function compareViews(
  db: Queryable,
  refresh: () => Promise<void>,
): Promise<readonly ComparedView[]> {
  const rows = await ask(db, `SELECT id::text, ${VIEW} FROM mcp_views_take(5)`);
  if (rows.length > 0) await refresh();
  const compared: ComparedView[] = [];
  for (const view of rows as unknown as readonly SavedView[]) {
    const filter = new URLSearchParams(view.address).get('q') ?? '';
    const sinceMs = Date.now() - DAY_MS;
    // A view that cannot be compared, for its filter or its time, keeps none of the others from it.
    const [unknown] = parseFilter(filter).problems;
    const figures =
      unknown === undefined
        ? await runMetrics(db, { filter, sinceMs }).catch(errorMessage)
        : formatProblem(unknown);
    if (typeof figures === 'string') {
      compared.push({ ...view, value: null, problem: `view '${view.name}' cannot be compared: ${figures}` });
      continue;
    }
    const { runs, failed, contradicted, costUsd } = figures;
    const share = runs < MIN_RUNS ? null : failed / runs;
    const value = { cost: costUsd, failed: share, contradicted }[view.measure ?? 'cost'];
    compared.push({ ...view, value });
  }
  return compared;
}

/** Notes that the webhook was told of a view. @throws the database's errors. */
export async function noteViewTold(db: Queryable, view: SavedView, isOver: boolean): Promise<void> {
  const values = [view.id, String(view.threshold), String(isOver)];
  await ask(db, 'SELECT mcp_views_told($1::text::uuid, $2::text::float8, $3::text::boolean)', values);
}

function checkText(name: string, text: string): void {
  if (text.length > MAX_TEXT_CHARS)
    throw invalidOption(name, `at most ${MAX_TEXT_CHARS} characters`, text.length);
}
