import type { Queryable } from '../../postgres/index.ts';
import { conditionOfStatus } from '../status.ts';
import type { Condition } from './condition.ts';
import { findPercentile } from './duration-classes.ts';
import { ask } from './run-row.ts';
import { type RunQuery, selectRuns } from './runs.ts';

/** Parts of the range, and bars of the strip of metrics. */
const BUCKETS = 24;
const HOUR_MS = 3_600_000;
/** Runs that are added up one by one; figures over more, of at least three hours, come from those by the hour. */
const MAX_SINGLE_RUNS = 20_000;
const MIN_HOURS = 3;

/** Figures over all runs that a query selects. */
export interface RunMetrics {
  readonly runs: number;
  readonly failed: number;
  readonly contradicted: number;
  readonly unsupported: number;
  readonly held: number;
  readonly durationP50Ms: number | null;
  readonly durationP95Ms: number | null;
  readonly costUsd: number;
  readonly unpriced: number;
  /** The same by time: equal parts of the range, oldest first. */
  readonly buckets: readonly RunBucket[];
}

export interface RunBucket {
  readonly runs: number;
  readonly failed: number;
  readonly contradicted: number;
  readonly held: number;
  readonly durationP95Ms: number;
  readonly costUsd: number;
}

/**
 * Figures over the runs that a query selects. Over many runs and without a filter they come from `mcp_runs_hourly`: sums
 * are exact, percentiles to 1 %, and each hour counts for the part of the range that its middle is in.
 *
 * @throws the database's errors.
 */
export async function runMetrics(db: Queryable, query: RunQuery = {}): Promise<RunMetrics> {
  const { where, sinceMs, untilMs, isAll } = await selectRuns(db, query);
  // The end is open while it is now: a run that starts meanwhile belongs to the list.
  const endMs = query.untilMs === undefined ? undefined : untilMs;
  const hours = [
    Math.ceil(sinceMs / HOUR_MS) * HOUR_MS,
    Math.floor((endMs ?? untilMs + HOUR_MS) / HOUR_MS) * HOUR_MS,
  ] as const;
  if (isAll && hours[1] - hours[0] >= MIN_HOURS * HOUR_MS) {
    const [counted] = await ask(
      db,
      `SELECT coalesce(sum(runs), 0)::float8 AS runs FROM mcp_runs_hourly WHERE ${IN_HOURS}`,
      hours.map(iso),
    );
    if (Number(counted?.runs) > MAX_SINGLE_RUNS) return byTheHour(db, sinceMs, untilMs, endMs, hours);
  }
  return oneByOne(db, where, sinceMs, untilMs);
}

const IN_HOURS = 'hour >= $1::timestamptz AND hour < $2::timestamptz';

const iso = (ms: number) => new Date(ms).toISOString();

/** The part of the range, from 1, that a time is in; the parameters are seconds since 1970. */
function toPart(time: string, since: number): string {
  const part = `width_bucket(date_part('epoch', ${time}), $${since}::float8, $${since + 1}::float8, ${BUCKETS})`;
  return `least(greatest(${part}, 1), ${BUCKETS})`;
}

/** Columns of one run, each a number. */
const ONE_RUN = `r.is_failed::integer AS failed, r.contradicted::integer AS contradicted,
        (r.unsupported AND NOT r.contradicted)::integer AS unsupported, (${conditionOfStatus('held')})::integer AS held, r.cost_usd, r.unpriced`;

const SUMS = ['failed', 'contradicted', 'unsupported', 'held', 'cost_usd', 'unpriced'] as const;
const SUMMED = SUMS.map((name) => `coalesce(sum(${name}), 0)::float8 AS ${name}`).join(', ');

/** One aggregate for both figures: each of its own would sort all runs again. */
const HALF_AND_TAIL = 'percentile_disc(ARRAY[0.5, 0.95]::float8[]) WITHIN GROUP (ORDER BY ms)';

async function oneByOne(
  db: Queryable,
  { text, values }: Condition,
  sinceMs: number,
  untilMs: number,
): Promise<RunMetrics> {
  const rows = await ask(
    db,
    `WITH chosen AS (
      SELECT ${toPart('r.started_at', values.length + 1)} AS part, ${ONE_RUN},
        date_part('epoch', r.ended_at - r.started_at) * 1000 AS ms
      FROM mcp_runs r WHERE ${text}
    )
    SELECT part, count(*)::float8 AS runs, ${SUMMED}, (${HALF_AND_TAIL})[1] AS p50, (${HALF_AND_TAIL})[2] AS p95
    FROM chosen GROUP BY GROUPING SETS ((part), ())`,
    [...values, sinceMs / 1000, untilMs / 1000],
  );
  return toMetrics(
    rows.find((row) => row.part === null),
    new Map(rows.map((row) => [Number(row.part ?? 0), row])),
  );
}

/** Whole hours from the roll-up, and the runs of those that the range cuts. */
async function byTheHour(
  db: Queryable,
  sinceMs: number,
  untilMs: number,
  endMs: number | undefined,
  hours: readonly [firstMs: number, lastMs: number],
): Promise<RunMetrics> {
  const cut = (condition: string) => `UNION ALL
      SELECT r.started_at, mcp_runs_duration_class(r.started_at, r.ended_at), 1, ${ONE_RUN}
      FROM mcp_runs r WHERE ${condition}`;
  const last = iso(endMs === undefined ? untilMs + 24 * HOUR_MS : hours[1]);
  const rows = await ask(
    db,
    `WITH pieces AS (
      SELECT hour + interval '30 minutes' AS time, duration_class, runs, ${SUMS.join(', ')}
      FROM mcp_runs_hourly WHERE ${IN_HOURS}
      ${cut('r.started_at >= $3::timestamptz AND r.started_at < $1::timestamptz')}
      ${endMs === undefined ? '' : cut('r.started_at >= $2::timestamptz AND r.started_at < $6::timestamptz')}
    ), classes AS (
      SELECT ${toPart('time', 4)} AS part, duration_class, sum(runs) AS runs,
        ${SUMS.map((name) => `sum(${name}) AS ${name}`).join(', ')}
      FROM pieces GROUP BY 1, 2
    )
    SELECT part, sum(runs)::float8 AS runs, ${SUMMED},
      json_agg(json_build_array(duration_class, runs)) AS durations
    FROM classes GROUP BY part`,
    [
      iso(hours[0]),
      last,
      iso(sinceMs),
      sinceMs / 1000,
      untilMs / 1000,
      ...(endMs === undefined ? [] : [iso(endMs)]),
    ],
  );
  const all = new Map<number, number>();
  const total: Record<string, number> = {};
  for (const row of rows) {
    for (const name of ['runs', ...SUMS]) total[name] = (total[name] ?? 0) + Number(row[name]);
    const durations = new Map(row.durations as readonly (readonly [number, number])[]);
    for (const [place, runs] of durations) all.set(place, (all.get(place) ?? 0) + runs);
    row.p95 = findPercentile(durations, 0.95);
  }
  return toMetrics(
    { ...total, p50: findPercentile(all, 0.5), p95: findPercentile(all, 0.95) },
    new Map(rows.map((row) => [Number(row.part), row])),
  );
}

type Figures = Readonly<Record<string, unknown>>;

function toMetrics(total: Figures | undefined, parts: ReadonlyMap<number, Figures>): RunMetrics {
  const figure = (row: Figures | undefined, name: string) => Number(row?.[name] ?? 0);
  const orNull = (name: string) => (total?.[name] == null ? null : Number(total[name]));
  return {
    runs: figure(total, 'runs'),
    failed: figure(total, 'failed'),
    contradicted: figure(total, 'contradicted'),
    unsupported: figure(total, 'unsupported'),
    held: figure(total, 'held'),
    durationP50Ms: orNull('p50'),
    durationP95Ms: orNull('p95'),
    costUsd: figure(total, 'cost_usd'),
    unpriced: figure(total, 'unpriced'),
    buckets: Array.from({ length: BUCKETS }, (_, i) => {
      const row = parts.get(i + 1);
      return {
        runs: figure(row, 'runs'),
        failed: figure(row, 'failed'),
        contradicted: figure(row, 'contradicted'),
        held: figure(row, 'held'),
        durationP95Ms: figure(row, 'p95'),
        costUsd: figure(row, 'cost_usd'),
      };
    }),
  };
}
