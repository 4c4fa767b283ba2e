import { invalidOption, sliced } from '../../base/index.ts';
import type { Queryable } from '../../postgres/index.ts';
import { type CallSpan, pairCalls } from '../calls.ts';
import { SPAN_STATUS } from '../status.ts';
import type { Condition } from './condition.ts';
import { type DurationClasses, findPercentile } from './duration-classes.ts';
import { ask } from './run-row.ts';
import { matchSpans } from './runs.ts';
import { IN_RANGE, rangeValues, type TimeRange } from './tools.ts';

/** Figures of one tool of one server. */
export interface ToolRow {
  /** The name the server gives itself; empty where it is not known. */
  readonly server: string;
  readonly tool: string;
  /** Calls that were made; one that both sides recorded counts once. */
  readonly calls: number;
  readonly errors: number;
  /** Calls that a gate refused. */
  readonly denied: number;
  /** Durations that so many of a hundred calls do not exceed; null where the spans are not stored any more. */
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  readonly p99Ms: number | null;
  readonly maxMs: number;
  /** p95 of the range of the same length before; null where too few calls were made to compare. */
  readonly p95BeforeMs: number | null;
  /** Calls by client; the name is empty where it is not known. */
  readonly clients: readonly { readonly client: string; readonly calls: number }[];
}

type Figures = Omit<ToolRow, 'p95BeforeMs'>;

/** Calls that are paired one by one; more are counted by the hourly roll-up. */
const MAX_SINGLE_CALLS = 20_000;
/** Spans of them: both sides, a gate and a framework. */
const MAX_SIDES = 4 * MAX_SINGLE_CALLS;
/** Fewest calls whose durations are compared with those of the range before. */
const MIN_COMPARED = 10;
const MAX_TOOLS = 1000;

/**
 * Tools by server, those with the most calls first; with a filter, of the runs that it selects.
 * @throws ObservatoryError `INVALID_OPTION` if more than 20,000 calls match a filter; the database's errors.
 */
export async function toolHealth(db: Queryable, range: TimeRange, filter = ''): Promise<readonly ToolRow[]> {
  const { sinceMs, untilMs } = range;
  const tools = await readFigures(db, range, filter);
  const before = await readFigures(db, { sinceMs: sinceMs - (untilMs - sinceMs), untilMs: sinceMs }, filter);
  const earlier = new Map(
    before.filter(({ calls }) => calls >= MIN_COMPARED).map((row) => [toKey(row), row.p95Ms]),
  );
  return tools.map((row) => ({
    ...row,
    p95BeforeMs: row.calls >= MIN_COMPARED ? (earlier.get(toKey(row)) ?? null) : null,
  }));
}

const toKey = ({ server, tool }: { readonly server: string; readonly tool: string | null }) =>
  JSON.stringify([server, tool]);

async function readFigures(db: Queryable, range: TimeRange, filter: string): Promise<readonly Figures[]> {
  const matching = await matchSpans(db, filter, rangeValues(range));
  if (matching !== undefined) {
    const found = await oneByOne(db, range, matching);
    if (found === undefined) throw invalidOption('q', `a filter of at most ${MAX_SIDES} calls`, filter);
    return found.rows;
  }
  const { rows, calls, firstMs } = await countedByTheHour(db, range);
  const single = calls > MAX_SINGLE_CALLS ? undefined : await oneByOne(db, range);
  if (single === undefined) return withPercentiles(rows, await percentilesByClass(db, range));
  // Spans are pruned before their sums.
  const isWhole = firstMs === undefined || single.firstMs <= firstMs;
  return isWhole ? single.rows : withPercentiles(rows, new Map());
}

const IN_SPANS = `start_time >= date_trunc('hour', $1::timestamptz, 'UTC') AND start_time < $2::timestamptz
      AND tool_name <> '' AND (counted_on IS NULL OR counted_on = 'children')
      AND (method = 'tools/call' OR operation = 'execute_tool' OR policy_decision IS NOT NULL)`;
const MS = `greatest(date_part('epoch', mcp_traces_time(end_time) - mcp_traces_time(start_time)) * 1000, 0)`;

interface ReadSpan extends CallSpan {
  readonly server: string;
  readonly client: string;
  readonly ms: number;
  readonly hourMs: number;
}

/** What is read of a span. */
const READ: Readonly<Record<keyof ReadSpan, string>> = {
  id: 'span_id',
  parentId: 'parent_span_id',
  kind: 'span_kind',
  tool: 'tool_name',
  server: `coalesce(server_name, '')`,
  client: `coalesce(client_name, '')`,
  method: 'method',
  operation: 'operation',
  decision: 'policy_decision',
  isBlocked: 'coalesce(gate_blocked, false)',
  status: SPAN_STATUS,
  ms: `${MS}::float8`,
  hourMs: `(date_part('epoch', date_trunc('hour', start_time, 'UTC')) * 1000)::float8`,
};
const NAMES = Object.keys(READ);
const toSpan = (values: readonly unknown[]) =>
  Object.fromEntries(NAMES.map((name, i) => [name, values[i]])) as unknown as ReadSpan;

/** Each call by its innermost span, as in the view of its run: exact figures; undefined where there are too many. */
async function oneByOne(
  db: Queryable,
  range: TimeRange,
  matching?: Condition,
): Promise<{ rows: readonly Figures[]; firstMs: number } | undefined> {
  // A row for each span would take three times as long to bring here.
  const runs = (await ask(
    db,
    `SELECT json_agg(span) AS spans FROM (
      SELECT trace_id, json_build_array(${Object.values(READ).join(', ')}) AS span
      FROM mcp_traces WHERE ${IN_SPANS}${matching === undefined ? '' : ` AND ${matching.text}`} LIMIT ${MAX_SIDES + 1}
    ) AS sides GROUP BY trace_id`,
    matching?.values ?? rangeValues(range),
  )) as unknown as readonly { readonly spans: readonly (readonly unknown[])[] }[];
  if (runs.reduce((sum, { spans }) => sum + spans.length, 0) > MAX_SIDES) return undefined;
  const turn = sliced();
  const tools = new Map<string, ReadSpan[]>();
  let firstMs = Infinity;
  for (const run of runs) {
    const spans = run.spans.map(toSpan);
    firstMs = spans.reduce((least, { hourMs }) => Math.min(least, hourMs), firstMs);
    for (const { span } of pairCalls(spans)) {
      const calls = tools.get(toKey(span)) ?? [];
      tools.set(toKey(span), calls);
      calls.push(span);
    }
    await turn();
  }
  const rows = [...tools.values()].map(figuresOfCalls).sort((a, b) => b.calls - a.calls);
  return { rows: rows.slice(0, MAX_TOOLS), firstMs };
}

function figuresOfCalls(calls: readonly ReadSpan[]): Figures {
  const made = calls.filter(({ status }) => status !== 'denied' && status !== 'held');
  const times = made.map(({ ms }) => ms).sort((a, b) => a - b);
  const clients = new Map<string, number>();
  for (const { client } of made) clients.set(client, (clients.get(client) ?? 0) + 1);
  const { server = '', tool = '' } = calls[0] ?? {};
  const count = (wanted: ReadSpan['status']) => calls.filter(({ status }) => status === wanted).length;
  const [p50Ms, p95Ms, p99Ms] = FRACTIONS.map((fraction) => quantile(times, fraction)) as [
    number,
    number,
    number,
  ];
  return {
    server,
    tool: tool ?? '',
    calls: made.length,
    errors: count('failed'),
    denied: count('denied'),
    p50Ms,
    p95Ms,
    p99Ms,
    maxMs: times.at(-1) ?? 0,
    clients: [...clients].map(([client, n]) => ({ client, calls: n })).sort((a, b) => b.calls - a.calls),
  };
}

/** As `percentile_cont` of SQL. */
function quantile(sorted: readonly number[], fraction: number): number | null {
  const at = (sorted.length - 1) * fraction;
  const [low, high] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  return low === undefined || high === undefined ? null : low + (high - low) * (at - Math.floor(at));
}

/** A line of the roll-up: one side of the calls of one client. */
interface CountedSide {
  readonly server: string;
  readonly tool: string;
  readonly kind: string;
  readonly client: string;
  readonly calls: number;
  readonly errors: number;
  readonly denied: number;
  readonly maxMs: number;
}

async function countedByTheHour(
  db: Queryable,
  range: TimeRange,
): Promise<{ rows: readonly Figures[]; calls: number; firstMs: number | undefined }> {
  const sides = (await ask(
    db,
    `SELECT server_name AS server, tool_name AS tool, span_kind AS kind, client_name AS client, sum(spans)::float8 AS calls,
      sum(errors)::float8 AS errors, sum(gate_blocked)::float8 AS denied, max(duration_ms_max) AS "maxMs",
      date_part('epoch', min(hour)) * 1000 AS "firstMs"
    FROM mcp_tools_hourly WHERE ${IN_RANGE} AND tool_name <> ''
    GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC LIMIT ${10 * MAX_TOOLS}`,
    rangeValues(range),
  )) as unknown as readonly (CountedSide & { readonly firstMs: number })[];
  const byTool = new Map<string, CountedSide[]>();
  for (const side of sides) byTool.set(toKey(side), [...(byTool.get(toKey(side)) ?? []), side]);
  const rows = [...byTool.values()].map(addedUp).sort((a, b) => b.calls - a.calls);
  return {
    rows: rows.slice(0, MAX_TOOLS),
    calls: rows.reduce((sum, row) => sum + row.calls, 0),
    firstMs: sides.length === 0 ? undefined : Math.min(...sides.map(({ firstMs }) => firstMs)),
  };
}

/**
 * The calls of one tool, of the side that recorded the most: of each client where all are named, so that calls which only
 * the server saw count as well; otherwise nobody can say which of its calls a client recorded too.
 */
function addedUp(all: readonly CountedSide[]): Figures {
  // A gate or a framework around a call is another span of it.
  const outside = all.filter(({ kind }) => kind !== 'internal');
  const sides = outside.length > 0 ? outside : all;
  const isNamed = sides.every(({ client }) => client !== '');
  const groups = new Map<string, CountedSide[]>();
  for (const side of sides) {
    const of = isNamed ? side.client : '';
    groups.set(of, [...(groups.get(of) ?? []), side]);
  }
  const chosen = [...groups.values()].flatMap((group) => {
    const sums = new Map<string, number>();
    for (const { kind, calls } of group) sums.set(kind, (sums.get(kind) ?? 0) + calls);
    const [most] = [...sums].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
    return group.filter(({ kind }) => kind === most?.[0]);
  });
  const sum = (of: (side: CountedSide) => number) => chosen.reduce((total, side) => total + of(side), 0);
  const { server = '', tool = '' } = all[0] ?? {};
  return {
    server,
    tool,
    calls: sum(({ calls }) => calls),
    errors: sum(({ errors }) => errors),
    denied: all.reduce((total, { denied }) => total + denied, 0),
    p50Ms: null,
    p95Ms: null,
    p99Ms: null,
    maxMs: Math.max(...chosen.map(({ maxMs }) => maxMs)),
    clients: chosen.map(({ client, calls }) => ({ client, calls })),
  };
}

const FRACTIONS = [0.5, 0.95, 0.99] as const;

type Percentiles = readonly (number | null)[];

/** Percentiles of many calls, from their counts in fine classes: one pass, and nothing is sorted. */
async function percentilesByClass(
  db: Queryable,
  range: TimeRange,
): Promise<ReadonlyMap<string, Percentiles>> {
  const rows = await ask(
    db,
    `WITH classed AS (
      SELECT coalesce(server_name, '') AS server, tool_name AS tool, span_kind,
        mcp_runs_duration_class(mcp_traces_time(start_time), mcp_traces_time(end_time)) AS class, count(*) AS calls
      FROM mcp_traces WHERE ${IN_SPANS} AND (method = 'tools/call' OR operation = 'execute_tool') GROUP BY 1, 2, 3, 4
    ), kinds AS (
      SELECT server, tool, span_kind, json_agg(json_build_array(class, calls)) AS classes, sum(calls) AS calls
      FROM classed GROUP BY 1, 2, 3
    )
    SELECT DISTINCT ON (server, tool) server, tool, classes FROM kinds
    ORDER BY server, tool, span_kind = 'internal', calls DESC LIMIT ${MAX_TOOLS}`,
    rangeValues(range),
  );
  return new Map(
    rows.map(({ server, tool, classes }) => [
      toKey({ server: String(server), tool: String(tool) }),
      FRACTIONS.map((fraction) => findPercentile(classes as DurationClasses, fraction)),
    ]),
  );
}

function withPercentiles(
  rows: readonly Figures[],
  percentiles: ReadonlyMap<string, Percentiles>,
): readonly Figures[] {
  return rows.map((row) => {
    // The middle of the last class may be beyond the longest call.
    const [p50Ms = null, p95Ms = null, p99Ms = null] = (percentiles.get(toKey(row)) ?? []).map((ms) =>
      ms === null ? null : Math.min(ms, row.maxMs),
    );
    return { ...row, p50Ms, p95Ms, p99Ms };
  });
}
