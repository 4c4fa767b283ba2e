import { invalidOption } from '../../base/index.ts';
import { IS_COUNTED_CALL, IS_MODEL_OPERATION, type Queryable } from '../../postgres/index.ts';
import { ask } from './run-row.ts';
import { matchSpans } from './runs.ts';

/** A range of time; roll-ups are by the hour, so it is widened to whole hours. */
export interface TimeRange {
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** What costs are grouped by. */
export const COST_DIMENSIONS = ['model', 'tool', 'user', 'service'] as const;
export type CostDimension = (typeof COST_DIMENSIONS)[number];

/** Model calls of one model, user or service in one part of the range, or the part of them that a tool's definition took. */
export interface CostRow {
  /** Empty where it is not known; by tool, for all that is no definition of a tool; by model, the one asked for. */
  readonly name: string;
  /** Other models that answered, where the one asked for is the name. */
  readonly answered: readonly string[];
  /** Start of the hour, or of the day where the range is longer than three days or there are very many names. */
  readonly timeMs: number;
  readonly calls: number;
  /** Null by tool: a definition does not fail. */
  readonly failed: number | null;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
  readonly costUsd: number;
  /** Calls without a known price; they add nothing to the cost. */
  readonly unpriced: number;
}

const COST_SOURCES: Readonly<
  Record<
    Exclude<CostDimension, 'tool'>,
    { table: string; name: string; ofSpan: string; calls: string; where: string }
  >
> = {
  model: {
    table: 'mcp_models_hourly',
    name: 'asked_model',
    ofSpan: 'mcp_traces_asked_model(model, attributes)',
    calls: 'calls',
    where: 'true',
  },
  user: { table: 'mcp_models_hourly', name: 'user_id', ofSpan: 'user_id', calls: 'calls', where: 'true' },
  service: {
    table: 'mcp_traces_hourly',
    name: 'service',
    ofSpan: 'service',
    calls: 'spans',
    // An agent may name a model.
    where: `tool_name = '' AND (model <> '' AND operation !~ '_(agent|workflow)$' OR ${IS_MODEL_OPERATION})`,
  },
};

const DAYS_BY_THE_HOUR = 3;
/** Rows of costs by the hour, and by the day; of more, times are put together, so that no sum lacks a part. */
const MAX_COST_ROWS = 5000;
const COST_UNITS = ['hour', 'day', 'range'] as const;

export const IN_RANGE = `hour >= date_trunc('hour', $1::timestamptz) AND hour < $2::timestamptz`;

/**
 * What model calls cost, over time; with a filter, of the runs that it selects.
 * @throws ObservatoryError `INVALID_OPTION` for a filter with the costs of tools; the database's errors.
 */
export async function costs(
  db: Queryable,
  by: CostDimension,
  range: TimeRange,
  filter = '',
): Promise<readonly CostRow[]> {
  const matching = await matchSpans(db, filter, rangeValues(range));
  if (matching !== undefined && by === 'tool')
    throw invalidOption('q', 'absent with the costs of tools', filter);
  let rows: readonly unknown[] = [];
  for (const unit of COST_UNITS.slice(
    range.untilMs - range.sinceMs > DAYS_BY_THE_HOUR * 86_400_000 ? 1 : 0,
  )) {
    const toTime = (time: string) =>
      unit === 'range'
        ? '(extract(epoch FROM $1::timestamptz) * 1000)::float8'
        : `(extract(epoch FROM date_trunc('${unit}', ${time})) * 1000)::float8`;
    const text =
      by === 'tool'
        ? costsByTool(toTime('hour'))
        : matching === undefined
          ? costsBy(COST_SOURCES[by], by, toTime('hour'))
          : costsOfRuns(COST_SOURCES[by].ofSpan, by, toTime('start_time'), matching.text);
    rows = await ask(db, text, matching?.values ?? rangeValues(range));
    if (rows.length < MAX_COST_ROWS) break;
  }
  return rows as readonly CostRow[];
}

/** The models that answered under another name than the one asked for. */
const toAnswered = (by: CostDimension, asked: string) =>
  by === 'model'
    ? `coalesce((array_agg(DISTINCT left(model, 200)) FILTER (WHERE model <> ${asked}))[1:20], '{}')`
    : `'{}'::text[]`;

/** The same from the spans of some runs, as the roll-ups count them. */
function costsOfRuns(name: string, by: CostDimension, time: string, matching: string): string {
  const sum = (column: string, most: string) =>
    `coalesce(sum(${column}) FILTER (WHERE ${column} BETWEEN 0 AND ${most}), 0)::float8`;
  return `SELECT coalesce(${name}, '') AS name, ${toAnswered(by, name)} AS answered, ${time} AS "timeMs",
      count(*)::float8 AS calls, (count(*) FILTER (WHERE status_code = 'error'))::float8 AS failed,
      ${sum('prompt_tokens', '1000000000')} AS "promptTokens", ${sum('cached_prompt_tokens', '1000000000')} AS "cachedTokens",
      ${sum('completion_tokens', '1000000000')} AS "completionTokens", ${sum('cost_usd', '1e9')} AS "costUsd",
      (count(*) FILTER (WHERE mcp_traces_is_unpriced(cost_source)))::float8 AS unpriced
    FROM mcp_traces WHERE start_time >= date_trunc('hour', $1::timestamptz) AND start_time < $2::timestamptz
      AND ${IS_COUNTED_CALL} AND ${matching}
    GROUP BY 1, 3 ORDER BY 3, "costUsd" DESC, 1 LIMIT ${MAX_COST_ROWS}`;
}

function costsBy(
  { table, name, calls, where }: (typeof COST_SOURCES)['model'],
  by: CostDimension,
  time: string,
): string {
  return `SELECT ${name} AS name, ${toAnswered(by, name)} AS answered, ${time} AS "timeMs",
      sum(${calls})::float8 AS calls, sum(errors)::float8 AS failed, sum(prompt_tokens)::float8 AS "promptTokens",
      sum(cached_prompt_tokens)::float8 AS "cachedTokens", sum(completion_tokens)::float8 AS "completionTokens",
      sum(cost_usd)::float8 AS "costUsd", sum(unpriced)::float8 AS unpriced
    FROM ${table} WHERE ${IN_RANGE} AND ${where}
    GROUP BY 1, 3 ORDER BY 3, "costUsd" DESC, 1 LIMIT ${MAX_COST_ROWS}`;
}

/** What the definitions of tools took of model calls; the rest of these calls has no name. The sum is that of all calls. */
function costsByTool(time: string): string {
  return `WITH taxed AS (
      SELECT tool_name AS name, ${time} AS time, sum(calls) AS calls, sum(tokens) AS tokens, sum(cost_usd) AS cost_usd,
        sum(unpriced) AS unpriced
      FROM mcp_tool_tax WHERE ${IN_RANGE} AND tool_name <> '' GROUP BY 1, 2
    ), totals AS (
      SELECT ${time} AS time, sum(calls) AS calls, sum(prompt_tokens) AS prompt_tokens,
        sum(cached_prompt_tokens) AS cached, sum(completion_tokens) AS completion, sum(cost_usd) AS cost_usd,
        sum(unpriced) AS unpriced
      FROM mcp_models_hourly WHERE ${IN_RANGE} GROUP BY 1
    ), named AS (
      SELECT time, sum(tokens) AS tokens, sum(cost_usd) AS cost_usd FROM taxed GROUP BY time
    )
    SELECT name, '{}'::text[] AS answered, time AS "timeMs", calls::float8 AS calls, NULL::float8 AS failed,
      tokens::float8 AS "promptTokens", 0::float8 AS "cachedTokens", 0::float8 AS "completionTokens", cost_usd::float8 AS "costUsd", unpriced::float8 AS unpriced FROM taxed
    UNION ALL SELECT '', '{}', t.time, t.calls::float8, NULL, greatest(t.prompt_tokens - coalesce(n.tokens, 0), 0)::float8, t.cached::float8,
      t.completion::float8, greatest(t.cost_usd - coalesce(n.cost_usd, 0), 0)::float8, t.unpriced::float8
    FROM totals t LEFT JOIN named n USING (time)
    ORDER BY 3, "costUsd" DESC, 1 LIMIT ${MAX_COST_ROWS}`;
}

export function rangeValues({ sinceMs, untilMs }: TimeRange): string[] {
  return [new Date(sinceMs).toISOString(), new Date(untilMs).toISOString()];
}
