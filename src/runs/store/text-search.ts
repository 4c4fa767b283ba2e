import type { Queryable } from '../../postgres/index.ts';
import type { FilterTerm } from '../filter/index.ts';
import { type Condition, toCondition } from './condition.ts';
import { ask } from './run-row.ts';

/** How long texts are looked through for one answer, and for one statement of it, in milliseconds. */
const ALL_MS = 1000;
const PART_MS = 150;
/** Spans of the first statement, and the most and the fewest of the next ones. */
const FIRST_SPANS = 2000;
const MAX_SPANS = 100_000;
const MIN_SPANS = 200;
/** Runs of one statement. */
const MAX_RUNS = 2000;

/** Which runs of a selection hold a text. */
export interface TextSearch {
  readonly ids: readonly string[];
  /** Start of the last run that was looked through, where the time was over before all were. */
  readonly lookedMs: number | undefined;
}

/** Whether a term is looked for in what spans say. No index has their texts: it would be as large as they are. */
export const isOfText = ({ field }: FilterTerm): boolean => field.kind === 'text' || field.name === 'name';

/**
 * Looks for the texts of a filter in the runs that meet a condition, the newest first, and no further than the time allows.
 * @throws the database's errors.
 */
export async function searchTexts(
  db: Queryable,
  { text, values }: Condition,
  terms: readonly FilterTerm[],
  nowMs: number,
): Promise<TextSearch> {
  const ids: string[] = [];
  const begunMs = performance.now();
  const [time, id] = [values.length + 1, values.length + 2];
  let last: Readonly<Record<string, unknown>> | undefined;
  for (let most = FIRST_SPANS; ; ) {
    const first = last === undefined ? values : [...values, last.time, last.id];
    const matches = toCondition(terms.filter(isOfText), nowMs, first);
    const after =
      last === undefined ? '' : ` AND (r.started_at, r.trace_id) < ($${time}::timestamptz, $${id}::uuid)`;
    const partMs = performance.now();
    const rows = await ask(
      db,
      `SELECT r.trace_id::text AS id, r.started_at::text AS time,
          (extract(epoch FROM r.started_at) * 1000)::float8 AS "startMs", ${matches.text} AS matches
        FROM (SELECT *, sum(spans) OVER (ORDER BY started_at DESC, trace_id DESC) - spans AS before FROM (
          SELECT * FROM mcp_runs r WHERE ${text}${after} ORDER BY r.started_at DESC, r.trace_id DESC LIMIT ${MAX_RUNS}
        ) AS newest) AS r
        WHERE r.before < ${most} ORDER BY r.started_at DESC, r.trace_id DESC`,
      matches.values,
    );
    last = rows.at(-1);
    if (last === undefined) return { ids, lookedMs: undefined };
    ids.push(...rows.flatMap((row) => (row.matches === true ? [String(row.id)] : [])));
    const nextMs = performance.now();
    if (nextMs - begunMs > ALL_MS) return { ids, lookedMs: Number(last.startMs) };
    const fitting = (most * PART_MS) / Math.max(1, nextMs - partMs);
    most = Math.round(Math.max(MIN_SPANS, Math.min(MAX_SPANS, 4 * most, fitting)));
  }
}

/** Searches that several views of one moment ask for. */
const searches = new WeakMap<Queryable, Map<string, Promise<TextSearch>>>();
const SHARED_MS = 500;

/** The same search, once for all who ask for it at about the same time. */
export function shareSearch(
  db: Queryable,
  key: string,
  search: () => Promise<TextSearch>,
): Promise<TextSearch> {
  const shared = searches.get(db) ?? new Map<string, Promise<TextSearch>>();
  searches.set(db, shared);
  const begun = shared.get(key) ?? search();
  if (shared.has(key)) return begun;
  shared.set(key, begun);
  const end = () => void setTimeout(() => shared.delete(key), SHARED_MS).unref();
  begun.then(end, end);
  return begun;
}
