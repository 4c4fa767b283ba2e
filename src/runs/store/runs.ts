import { invalidOption, ObservatoryError } from '../../base/index.ts';
import type { Queryable } from '../../postgres/index.ts';
import { type FilterProblem, type FilterTerm, formatProblem, parseFilter } from '../filter/index.ts';
import { type Condition, toCondition } from './condition.ts';
import { nameRuns } from './names.ts';
import { ask, RUN_COLUMNS, type RunRow } from './run-row.ts';
import { isOfText, searchTexts, shareSearch } from './text-search.ts';

const MAX_LIMIT = 500;
const HEX_ID = /^[0-9a-f]{32}$/u;

/** Which runs to read. */
export interface RunQuery {
  /** A filter; see {@link parseFilter}. @defaultValue none */
  readonly filter?: string | undefined;
  /** Start of the range, milliseconds since 1970. @defaultValue 24 hours before `untilMs` */
  readonly sinceMs?: number | undefined;
  /** End of the range. @defaultValue now, and runs of clocks that are up to a day ahead */
  readonly untilMs?: number | undefined;
}

/** A page of a list of runs. */
export interface RunPage extends RunQuery {
  /** @defaultValue 50, at most 500 */
  readonly limit?: number | undefined;
  /** Continues after the run that `next` of the page before names; with the order by `started` alone. */
  readonly after?: string | undefined;
  /** A column of {@link RUN_ORDERS}, the largest first; with `-` before it, the smallest. @defaultValue `started` */
  readonly sort?: string | undefined;
}

/** What runs can be sorted by. */
const RUN_ORDERS: Readonly<Record<string, string>> = {
  started: 'r.started_at',
  calls: 'r.tool_calls',
  failed: 'r.failed_calls',
  duration: 'r.ended_at - r.started_at',
  cost: 'CASE WHEN r.priced > 0 THEN r.cost_usd END',
};

/** Runs, newest first, and what of the filter was not understood. */
export interface RunList {
  readonly runs: readonly RunRow[];
  /** For `after` of the next page; null on the last. */
  readonly next: string | null;
  readonly problems: readonly FilterProblem[];
  /** Start of the oldest run that was looked through for a text, where there are older ones: it takes too long. */
  readonly lookedMs?: number | undefined;
}

/**
 * The runs that a query selects, newest first.
 * @throws ObservatoryError `INVALID_OPTION` for a limit or a cursor out of range; the database's errors.
 */
export async function listRuns(db: Queryable, page: RunPage = {}): Promise<RunList> {
  const limit = page.limit ?? 50;
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT) {
    throw invalidOption('limit', `a whole number from 1 to ${MAX_LIMIT}`, limit);
  }
  const [, sign, by = ''] = /^(-?)([a-z]+)$/u.exec(page.sort ?? 'started') ?? [];
  const order = Object.hasOwn(RUN_ORDERS, by) ? RUN_ORDERS[by] : undefined;
  if (order === undefined)
    throw invalidOption('sort', `one of ${Object.keys(RUN_ORDERS).join(', ')}`, page.sort);
  const isNewest = sign === '' && by === 'started';
  const { where, problems, lookedMs } = await selectRuns(db, page);
  const values = [...where.values];
  let cursor = '';
  if (page.after !== undefined) {
    if (!isNewest) throw invalidOption('after', 'used with the newest runs first', page.after);
    const [micros = '', id = ''] = page.after.split('-');
    if (!/^\d{1,17}$/u.test(micros) || !HEX_ID.test(id)) {
      throw invalidOption('after', "the 'next' of an earlier page", page.after);
    }
    values.push(micros, id);
    cursor = ` AND (r.started_at, r.trace_id) < (timestamptz 'epoch' + $${values.length - 1}::bigint * interval '1 microsecond', $${values.length}::uuid)`;
  }
  const rows = await ask(
    db,
    `SELECT ${RUN_COLUMNS}, (extract(epoch FROM r.started_at) * 1000000)::bigint::text AS micros
      FROM mcp_runs r WHERE ${where.text}${cursor}
      ORDER BY ${isNewest ? '' : `${order} ${sign === '' ? 'DESC NULLS LAST' : 'ASC NULLS LAST'}, `}r.started_at DESC, r.trace_id DESC
      LIMIT ${limit + 1}`,
    values,
  );
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return {
    runs: await nameRuns(
      db,
      rows.slice(0, limit).map(({ micros: _, ...row }) => row as unknown as RunRow),
    ),
    next: last === undefined || !isNewest ? null : `${last.micros}-${last.id}`,
    problems,
    lookedMs,
  };
}

/** Says how far back a search for a text went, where it did not reach the oldest run. */
export function noteSearch({ lookedMs }: Pick<RunList, 'lookedMs'>): string | undefined {
  if (lookedMs === undefined) return undefined;
  return `The texts of runs since ${iso(lookedMs)} were looked through. For older ones add until:${iso(lookedMs)}`;
}

/** One run by its trace id, or by a beginning that no other run has. @throws the database's errors. */
export async function findRun(db: Queryable, id: string): Promise<RunRow | undefined> {
  const hex = id.replaceAll('-', '').toLowerCase();
  if (!/^[0-9a-f]{1,32}$/u.test(hex)) return undefined;
  // Ids that begin alike are neighbors in the index.
  const bounds = [hex.padEnd(32, '0'), hex.padEnd(32, 'f')];
  const rows = await ask(
    db,
    `SELECT ${RUN_COLUMNS} FROM mcp_runs r WHERE r.trace_id BETWEEN $1::uuid AND $2::uuid LIMIT 2`,
    bounds,
  );
  const [run] = rows.length === 1 ? await nameRuns(db, rows as unknown as readonly RunRow[]) : [];
  return run;
}

const DAY_MS = 86_400_000;
const iso = (ms: number) => new Date(ms).toISOString();

/** The condition that a run meets all terms, those about texts by the runs that were found to hold them. */
async function withTexts(
  db: Queryable,
  base: Condition,
  terms: readonly FilterTerm[],
  key?: string,
): Promise<Condition & { readonly lookedMs?: number | undefined }> {
  const nowMs = Date.now();
  const others = toCondition(
    terms.filter((term) => !isOfText(term)),
    nowMs,
    base.values,
  );
  const all = { text: `${base.text} AND ${others.text}`, values: others.values };
  if (!terms.some(isOfText)) return all;
  const search = () => searchTexts(db, all, terms, nowMs);
  const { ids, lookedMs } = await (key === undefined ? search() : shareSearch(db, key, search));
  const values = [...base.values, ids];
  return { text: `${base.text} AND r.trace_id = ANY ($${values.length}::text[]::uuid[])`, values, lookedMs };
}

/**
 * The condition that a span belongs to a run which a filter selects, for statements whose first two parameters are a range of
 * time; undefined where the filter selects all runs.
 */
export async function matchSpans(
  db: Queryable,
  filter: string,
  range: readonly string[],
): Promise<Condition | undefined> {
  const { terms, problems } = parseFilter(filter);
  if (problems[0] !== undefined) throw new ObservatoryError('INVALID_OPTION', formatProblem(problems[0]));
  if (terms.length === 0) return undefined;
  // Spans of the range may belong to a run that began before.
  const base = `r.started_at < $2::timestamptz AND r.ended_at >= $1::timestamptz - interval '1 hour'`;
  const { text, values, lookedMs } = await withTexts(db, { text: base, values: range }, terms);
  // Figures of a part would be taken for those of all.
  if (lookedMs !== undefined)
    throw invalidOption(
      'q',
      `a filter for a shorter range: texts were looked through back to ${iso(lookedMs)}`,
      filter,
    );
  return { text: `trace_id IN (SELECT r.trace_id FROM mcp_runs r WHERE ${text})`, values };
}

/** What a query selects, and its range. */
interface Selection {
  readonly where: Condition;
  readonly problems: readonly FilterProblem[];
  readonly sinceMs: number;
  readonly untilMs: number;
  /** Whether nothing but the range selects. */
  readonly isAll: boolean;
  readonly lookedMs: number | undefined;
}

/** Finds out which runs a query selects. @throws the database's errors. */
export async function selectRuns(db: Queryable, query: RunQuery): Promise<Selection> {
  const nowMs = Date.now();
  const untilMs = query.untilMs ?? nowMs;
  const sinceMs = query.sinceMs ?? untilMs - DAY_MS;
  if (!(sinceMs < untilMs)) throw invalidOption('sinceMs', 'a time before untilMs', sinceMs);
  const { terms, problems } = parseFilter(query.filter ?? '');
  const range = [iso(sinceMs), iso(untilMs)];
  // The end is open while it is now: a run that starts meanwhile belongs to the list. One dated days ahead has a wrong
  // clock, and would stay on top until then.
  const until =
    query.untilMs === undefined
      ? `r.started_at < $2::timestamptz + interval '1 day'`
      : 'r.started_at < $2::timestamptz';
  // Connecting and listing are no runs of the user's, unless they are asked for.
  const wantsAny = terms.some(
    ({ field, values: words }) =>
      field.name === 'run' || (field.name === 'is' && words.includes('handshake')),
  );
  const kind = wantsAny ? '' : ' AND NOT r.is_handshake';
  const known = problems.length === 0 ? '' : ' AND false';
  const base = { text: `r.started_at >= $1::timestamptz AND ${until}${kind}${known}`, values: range };
  const { lookedMs, ...where } = await withTexts(db, base, terms, JSON.stringify(query, KEY_OF_QUERY));
  return {
    where,
    problems,
    sinceMs,
    untilMs,
    isAll: terms.length === 0 && problems.length === 0,
    lookedMs,
  };
}

/** What two questions about the same runs have in common. */
const KEY_OF_QUERY = ['filter', 'sinceMs', 'untilMs'];
