import { invalidOption } from '../../base/index.ts';
import type { Queryable } from '../../postgres/index.ts';
import { compareRuns, explainRun } from '../explain/index.ts';
import {
  COST_DIMENSIONS,
  costs,
  findRun,
  listRuns,
  readRunSpan,
  readRunSpans,
  readSaid,
  readShapes,
  runMetrics,
  toolHealth,
} from '../store/index.ts';

/** The longest range of time, in days. */
const MAX_DAYS = 400;
const DAY_MS = 86_400_000;

/** An answer of the API: undefined is "not found". */
type Answer = Promise<object | undefined>;
type Route = (db: Queryable, query: URLSearchParams, ...parts: string[]) => Answer;

/** What the page asks for, by path; all of it only reads. */
const ROUTES: readonly (readonly [pattern: RegExp, route: Route])[] = [
  [/^\/api\/runs$/u, runs],
  [/^\/api\/metrics$/u, metrics],
  [/^\/api\/runs\/([0-9a-f]{1,32})$/u, run],
  [/^\/api\/runs\/([0-9a-f]{32})\/spans\/([0-9a-f]{16})$/u, span],
  [/^\/api\/tools$/u, async (db, query) => ({ tools: await toolHealth(db, rangeOf(query)) })],
  [/^\/api\/cost$/u, cost],
  [/^\/api\/compare\/([0-9a-f]{1,32})\/([0-9a-f]{1,32})$/u, compare],
];

/**
 * Answers one request of the page; undefined when there is no such path, run or span.
 * @throws ObservatoryError `INVALID_OPTION` for parameters out of range, and the database's errors.
 */
export async function answerApi(db: Queryable, path: string, query: URLSearchParams): Answer {
  for (const [pattern, route] of ROUTES) {
    const match = pattern.exec(path);
    if (match !== null) return route(db, query, ...match.slice(1));
  }
  return undefined;
}

async function runs(db: Queryable, query: URLSearchParams): Answer {
  const limit = query.get('limit');
  const list = await listRuns(db, {
    ...selectionOf(query),
    limit: limit === null ? undefined : Number(limit),
    after: query.get('after') ?? undefined,
  });
  return {
    ...list,
    shapes: await readShapes(
      db,
      list.runs.map(({ id }) => id),
    ),
  };
}

async function metrics(db: Queryable, query: URLSearchParams): Answer {
  return runMetrics(db, selectionOf(query));
}

async function run(db: Queryable, _query: URLSearchParams, id = ''): Answer {
  const row = await findRun(db, id);
  if (row === undefined) return undefined;
  const [spans, said] = await Promise.all([readRunSpans(db, row.id), readSaid(db, row.id)]);
  return { run: row, spans, said, explanation: explainRun(spans) };
}

async function span(db: Queryable, _query: URLSearchParams, traceId = '', spanId = ''): Answer {
  return readRunSpan(db, traceId, spanId);
}

async function cost(db: Queryable, query: URLSearchParams): Answer {
  const given = query.get('by') ?? 'model';
  const by = COST_DIMENSIONS.find((dimension: string) => dimension === given);
  if (by === undefined) throw invalidOption('by', `one of ${COST_DIMENSIONS.join(', ')}`, given);
  return { rows: await costs(db, by, rangeOf(query)) };
}

async function compare(db: Queryable, _query: URLSearchParams, a = '', b = ''): Answer {
  const found = await Promise.all([findRun(db, a), findRun(db, b)]);
  const [one, other] = found;
  if (one === undefined || other === undefined) return undefined;
  const [first, second] = await Promise.all([readRunSpans(db, one.id), readRunSpans(db, other.id)]);
  return { a: one, b: other, ...compareRuns(first, second) };
}

function selectionOf(query: URLSearchParams): {
  filter: string;
  sinceMs: number;
  untilMs: number | undefined;
} {
  const { sinceMs, untilMs } = rangeOf(query);
  return {
    filter: query.get('q') ?? '',
    sinceMs,
    untilMs: query.has('until') ? untilMs : undefined,
  };
}

function rangeOf(query: URLSearchParams): { sinceMs: number; untilMs: number } {
  const untilMs = timeOf(query, 'until') ?? Date.now();
  const sinceMs = timeOf(query, 'since') ?? untilMs - DAY_MS;
  if (sinceMs < untilMs && untilMs - sinceMs <= MAX_DAYS * DAY_MS) return { sinceMs, untilMs };
  throw invalidOption('since', `a time at most ${MAX_DAYS} days before 'until'`, query.get('since'));
}

/** Milliseconds since 1970; a whole number that a Date can hold. */
function timeOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const ms = Number(text);
  if (/^\d{1,13}$/u.test(text) && !Number.isNaN(new Date(ms).getTime())) return ms;
  throw invalidOption(name, 'milliseconds since 1970', text);
}
