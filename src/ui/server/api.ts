import { invalidOption } from '../../base/index.ts';
import type { Queryable } from '../../postgres/index.ts';
import {
  COST_DIMENSIONS,
  changedTools,
  compareRuns,
  contextTax,
  costs,
  explainRun,
  findGateReason,
  findRun,
  findSpans,
  listApprovals,
  listRuns,
  listSessions,
  listViews,
  listWaiting,
  listWaitingTools,
  type RunSpan,
  readRelated,
  readRunSpan,
  readRunSpans,
  readSaid,
  readShapes,
  readWaiting,
  readWholeTexts,
  runMetrics,
  type TaxReport,
  type ToolRow,
  toolHealth,
  toolRow,
} from '../../runs/index.ts';
import type { Announcer } from './announce.ts';
import { toSentSpans } from './findings.ts';
import { goldenNames } from './golden-file.ts';
import { readGoldenRun } from './goldens.ts';
import { printableAnswer } from './printable-answer.ts';
import { toMark } from './send.ts';
import { recording } from './statements.ts';
import type { StoreWatch } from './store-watch.ts';

/** The longest range of time, in days. */
const MAX_DAYS = 400;
const DAY_MS = 86_400_000;

/** What answers are made from. */
export interface ApiSources {
  readonly db: Queryable;
  /** Folder of the goldens to compare with. */
  readonly goldens: string;
  /** Announces crossed thresholds. @defaultValue none are announced */
  readonly announcer?: Announcer | undefined;
  /** What cannot be right in the store. @defaultValue nothing is known */
  readonly watch?: StoreWatch | undefined;
  /** Marks the answer before it is read: true if who asks has the one of this mark. */
  readonly isKnown?: ((mark: string) => boolean) | undefined;
}

/** In place of an answer that who asks has already. */
export const UNCHANGED: object = {};

/** An answer of the API: undefined is "not found". */
type Answer = Promise<object | undefined>;
type Route = (sources: ApiSources, query: URLSearchParams, ...parts: string[]) => Answer;

/** What the page asks for by GET; all of it only reads. */
const ROUTES: readonly (readonly [pattern: RegExp, route: Route])[] = [
  [/^\/api\/runs$/u, runs],
  [/^\/api\/sessions$/u, sessions],
  [/^\/api\/metrics$/u, metrics],
  [/^\/api\/runs\/([0-9a-f]{1,32})$/u, run],
  [/^\/api\/runs\/([0-9a-f]{32})\/spans\/([0-9a-f]{16})$/u, span],
  [/^\/api\/runs\/([0-9a-f]{32})\/spans\/([0-9a-f]{16})\/said$/u, said],
  [/^\/api\/runs\/([0-9a-f]{32})\/related$/u, async ({ db }, _query, id = '') => readRelated(db, id)],
  [/^\/api\/runs\/([0-9a-f]{32})\/find$/u, find],
  [/^\/api\/views$/u, views],
  [/^\/api\/tools$/u, tools],
  [/^\/api\/cost$/u, cost],
  [/^\/api\/check$/u, check],
  [/^\/api\/goldens$/u, async ({ goldens }) => ({ goldens: await goldenNames(goldens) })],
  [/^\/api\/waiting$/u, async ({ db }) => printableAnswer(await listWaiting(db))],
  // Apart from what calls wait for: it takes longer, and its failure must not hide them.
  [/^\/api\/waiting\/tools$/u, waitingTools],
  [/^\/api\/waiting\/([0-9a-f-]{36})$/u, waiting],
  [/^\/api\/compare\/([0-9a-f]{1,32})\/([0-9a-f]{1,32})$/u, compare],
  [/^\/api\/compare\/golden\/([0-9a-f]{1,32})$/u, compareWithGolden],
  [/^\/api\/compare\/ranges$/u, compareRanges],
];

/**
 * Answers one request of the page; undefined when there is no such path, run or span. With `sql` among the parameters,
 * the answer is the statements behind it.
 *
 * @throws ObservatoryError `INVALID_OPTION` for parameters out of range, and the database's errors.
 */
export async function answerApi(sources: ApiSources, path: string, query: URLSearchParams): Answer {
  for (const [pattern, route] of ROUTES) {
    const match = pattern.exec(path);
    if (match === null) continue;
    if (!query.has('sql')) return route(sources, query, ...match.slice(1));
    const { db, statements } = recording(sources.db);
    await route({ ...sources, db }, query, ...match.slice(1));
    return { statements };
  }
  return undefined;
}

async function runs({ db }: ApiSources, query: URLSearchParams): Answer {
  const limit = query.get('limit');
  const list = await listRuns(db, {
    ...readSelection(query),
    limit: limit === null ? undefined : Number(limit),
    after: query.get('after') ?? undefined,
    sort: query.get('sort') ?? undefined,
  });
  return {
    ...list,
    shapes: await readShapes(
      db,
      list.runs.map(({ id }) => id),
    ),
  };
}

async function views({ db, announcer }: ApiSources): Answer {
  return {
    views: await listViews(db),
    webhook: announcer === undefined ? null : { problem: announcer.problem ?? null },
  };
}

async function sessions({ db }: ApiSources, query: URLSearchParams): Answer {
  const list = await listSessions(db, readSelection(query));
  const ids = list.sessions.flatMap(({ newest }) => newest.map(({ id }) => id));
  return { ...list, shapes: await readShapes(db, ids) };
}

async function metrics({ db }: ApiSources, query: URLSearchParams): Answer {
  return runMetrics(db, readSelection(query));
}

async function tools({ db }: ApiSources, query: URLSearchParams): Answer {
  const range = readRange(query);
  const filter = query.get('q') ?? '';
  const health = await toolHealth(db, range, filter);
  // What definitions cost is known of all runs together.
  const tax = filter === '' ? await contextTax(db, range) : NO_TAX;
  return { tools: health, tax: withServers(tax, health), changed: await changedTools(db, range) };
}

const NO_TAX: TaxReport = {
  calls: 0,
  promptTokens: 0,
  tokens: 0,
  costUsd: 0,
  unpriced: 0,
  otherTokens: 0,
  otherCostUsd: 0,
  tools: [],
};

/** Definitions whose sender did not say whose they are, under the one server that the tool was called on. */
function withServers(tax: TaxReport, tools: readonly ToolRow[]): TaxReport {
  const toServer = (tool: string) => {
    const servers = new Set(
      tools.flatMap((row) => (row.tool === tool && row.server !== '' ? [row.server] : [])),
    );
    return servers.size === 1 ? [...servers][0] : undefined;
  };
  return {
    ...tax,
    tools: tax.tools.map((row) => (row.server === '' ? { ...row, server: toServer(row.tool) ?? '' } : row)),
  };
}

async function run({ db, isKnown }: ApiSources, _query: URLSearchParams, id = ''): Answer {
  const row = await findRun(db, id);
  if (row === undefined) return undefined;
  const approvals = printableAnswer(await listApprovals(db, row));
  // Each of its spans changes the row, which is a thousandth of the work.
  if (isKnown?.(toMark(JSON.stringify([row, approvals]))) === true) return UNCHANGED;
  const spans = await readRunSpans(db, row);
  const texts = await readSaid(db, row.id, spans);
  const explanation = explainRun(spans, approvals, row.status);
  const reasons = Object.fromEntries(spans.map(({ reason }) => [reason, findGateReason(reason)]));
  return {
    run: row,
    spans: await toSentSpans(spans),
    said: texts,
    explanation,
    approvals,
    reasons,
  };
}

async function span({ db }: ApiSources, _query: URLSearchParams, traceId = '', spanId = ''): Answer {
  return readRunSpan(db, traceId, spanId);
}

async function said({ db }: ApiSources, _query: URLSearchParams, traceId = '', spanId = ''): Answer {
  return readWholeTexts(db, traceId, spanId);
}

/** Longest text that is looked for in a run. */
const MAX_TEXT_CHARS = 200;

async function find({ db }: ApiSources, query: URLSearchParams, id = ''): Answer {
  const text = query.get('text') ?? '';
  if (text === '' || text.length > MAX_TEXT_CHARS)
    throw invalidOption('text', `1 to ${MAX_TEXT_CHARS} characters`, text.length);
  return { spans: await findSpans(db, id, text) };
}

async function cost({ db }: ApiSources, query: URLSearchParams): Answer {
  const given = query.get('by') ?? 'model';
  const by = COST_DIMENSIONS.find((dimension: string) => dimension === given);
  if (by === undefined) throw invalidOption('by', `one of ${COST_DIMENSIONS.join(', ')}`, given);
  return { by, rows: await costs(db, by, readRange(query), query.get('q') ?? '') };
}

async function check({ watch }: ApiSources): Answer {
  const findings = watch?.look() ?? [];
  return { findings: findings.map(({ name, says, rows, costUsd }) => ({ name, says, rows, costUsd })) };
}

async function waiting({ db }: ApiSources, _query: URLSearchParams, id = ''): Answer {
  return printableAnswer(await readWaiting(db, id));
}

async function waitingTools({ db }: ApiSources): Answer {
  return { tools: printableAnswer((await listWaitingTools(db)).map(toolRow)) };
}

async function compare({ db }: ApiSources, _query: URLSearchParams, a = '', b = ''): Answer {
  const [one, other] = await Promise.all([findRun(db, a), findRun(db, b)]);
  if (one === undefined || other === undefined) return undefined;
  const [first, second] = await Promise.all([readRunSpans(db, one), readRunSpans(db, other)]);
  const answers = { a: await readAnswer(db, one.id, first), b: await readAnswer(db, other.id, second) };
  return { a: one, b: other, answers, ...compareRuns(first, second) };
}

async function compareWithGolden({ db, goldens }: ApiSources, query: URLSearchParams, id = ''): Answer {
  const row = await findRun(db, id);
  const golden = await readGoldenRun(goldens, query.get('golden') ?? '');
  if (row === undefined || golden === undefined) return undefined;
  const spans = await readRunSpans(db, row);
  const { figures, ...rest } = compareRuns(golden.spans, spans);
  // A golden has the calls and the answer; what they cost was another day's.
  const shared = figures.filter(({ name }) => name === 'calls' || name === 'failed');
  const answers = { a: golden.answer, b: await readAnswer(db, row.id, spans) };
  const a = { name: golden.name, startMs: golden.recordedMs };
  return { a, b: row, answers, figures: shared, ...rest };
}

/** The figures and the tools of two ranges of time, for the runs that a filter selects. */
async function compareRanges({ db }: ApiSources, query: URLSearchParams): Answer {
  const filter = query.get('q') ?? '';
  const of = async (side: string) => {
    const range = readRange(query, `${side}_`);
    const [figures, health] = await Promise.all([
      runMetrics(db, { filter, ...range }),
      toolHealth(db, range, filter),
    ]);
    return { ...range, figures, tools: health };
  };
  return { a: await of('a'), b: await of('b') };
}

/** The last answer of a run, where it is stored. */
async function readAnswer(db: Queryable, id: string, spans: readonly RunSpan[]): Promise<string | null> {
  return (await readSaid(db, id, spans)).findLast(({ answer }) => answer !== undefined)?.answer ?? null;
}

function readSelection(query: URLSearchParams): {
  filter: string;
  sinceMs: number;
  untilMs: number | undefined;
} {
  const { sinceMs, untilMs } = readRange(query);
  return {
    filter: query.get('q') ?? '',
    sinceMs,
    untilMs: query.has('until') ? untilMs : undefined,
  };
}

function readRange(query: URLSearchParams, prefix = ''): { sinceMs: number; untilMs: number } {
  const untilMs = readTime(query, `${prefix}until`) ?? Date.now();
  const lastMs = readTime(query, `${prefix}last`);
  const sinceMs = readTime(query, `${prefix}since`) ?? toStart(untilMs, lastMs ?? DAY_MS);
  if (sinceMs < untilMs && untilMs - sinceMs <= MAX_DAYS * DAY_MS) return { sinceMs, untilMs };
  throw invalidOption(
    `${prefix}since`,
    `a time at most ${MAX_DAYS} days before '${prefix}until'`,
    query.get(`${prefix}since`),
  );
}

/** Start of a range that ends now; it moves on with the clock in steps, so that not every look is another question. */
function toStart(untilMs: number, lastMs: number): number {
  const step = Math.max(1000, Math.min(60_000, lastMs / 200));
  return Math.floor((untilMs - lastMs) / step) * step;
}

/** Milliseconds since 1970; a whole number that a Date can hold. */
function readTime(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const ms = Number(text);
  if (/^\d{1,13}$/u.test(text) && !Number.isNaN(new Date(ms).getTime())) return ms;
  throw invalidOption(name, 'milliseconds since 1970', text);
}
