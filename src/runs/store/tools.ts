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
  /** Empty where it is not known; by tool, for all that is no definition of a tool. */
  readonly name: string;
  /** Start of the hour, or of the day in a range of more than three days. */
  readonly timeMs: number;
  readonly calls: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
  readonly costUsd: number;
  /** Calls without a known price; they add nothing to the cost. */
  readonly unpriced: number;
}

const COST_SOURCES: Readonly<
  Record<Exclude<CostDimension, 'tool'>, { table: string; name: string; calls: string; where: string }>
> = {
  model: { table: 'mcp_models_hourly', name: 'model', calls: 'calls', where: 'true' },
  user: { table: 'mcp_models_hourly', name: 'user_id', calls: 'calls', where: 'true' },
  service: {
    table: 'mcp_traces_hourly',
    name: 'service',
    calls: 'spans',
    // An agent may name a model.
    where: `tool_name = '' AND (model <> '' AND operation !~ '_(agent|workflow)$' OR ${IS_MODEL_OPERATION})`,
  },
};

const DAYS_BY_THE_HOUR = 3;

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
  const unit = range.untilMs - range.sinceMs > DAYS_BY_THE_HOUR * 86_400_000 ? 'day' : 'hour';
  const toTime = (hour: string) => `(extract(epoch FROM date_trunc('${unit}', ${hour})) * 1000)::float8`;
  const matching = await matchSpans(db, filter, rangeValues(range));
  if (matching === undefined) {
    const text = by === 'tool' ? costsByTool(toTime('hour')) : costsBy(COST_SOURCES[by], toTime('hour'));
    return (await ask(db, text, rangeValues(range))) as unknown as readonly CostRow[];
  }
  if (by === 'tool') throw invalidOption('q', 'absent with the costs of tools', filter);
  const text = costsOfRuns(COST_SOURCES[by].name, toTime('start_time'), matching.text);
  return (await ask(db, text, matching.values)) as unknown as readonly CostRow[];
}

/** The same from the spans of some runs, as the roll-ups count them. */
function costsOfRuns(name: string, time: string, matching: string): string {
  const sum = (column: string, most: string) =>
    `coalesce(sum(${column}) FILTER (WHERE ${column} BETWEEN 0 AND ${most}), 0)::float8`;
  return `SELECT coalesce(${name}, '') AS name, ${time} AS "timeMs", count(*)::float8 AS calls,
      ${sum('prompt_tokens', '1000000000')} AS "promptTokens", ${sum('cached_prompt_tokens', '1000000000')} AS "cachedTokens",
      ${sum('completion_tokens', '1000000000')} AS "completionTokens", ${sum('cost_usd', '1e9')} AS "costUsd",
      (count(*) FILTER (WHERE mcp_traces_is_unpriced(cost_source)))::float8 AS unpriced
    FROM mcp_traces WHERE start_time >= date_trunc('hour', $1::timestamptz) AND start_time < $2::timestamptz
      AND ${IS_COUNTED_CALL} AND ${matching}
    GROUP BY 1, 2 ORDER BY 2, 1 LIMIT 5000`;
}

function costsBy({ table, name, calls, where }: (typeof COST_SOURCES)['model'], time: string): string {
  return `SELECT ${name} AS name, ${time} AS "timeMs",
      sum(${calls})::float8 AS calls, sum(prompt_tokens)::float8 AS "promptTokens",
      sum(cached_prompt_tokens)::float8 AS "cachedTokens", sum(completion_tokens)::float8 AS "completionTokens",
      sum(cost_usd)::float8 AS "costUsd", sum(unpriced)::float8 AS unpriced
    FROM ${table} WHERE ${IN_RANGE} AND ${where}
    GROUP BY 1, 2 ORDER BY 2, 1 LIMIT 5000`;
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
    SELECT name, time AS "timeMs", calls::float8 AS calls, tokens::float8 AS "promptTokens", 0::float8 AS "cachedTokens",
      0::float8 AS "completionTokens", cost_usd::float8 AS "costUsd", unpriced::float8 AS unpriced FROM taxed
    UNION ALL SELECT '', t.time, t.calls::float8, greatest(t.prompt_tokens - coalesce(n.tokens, 0), 0)::float8, t.cached::float8,
      t.completion::float8, greatest(t.cost_usd - coalesce(n.cost_usd, 0), 0)::float8, t.unpriced::float8
    FROM totals t LEFT JOIN named n USING (time)
    ORDER BY 2, 1 LIMIT 5000`;
}

export function rangeValues({ sinceMs, untilMs }: TimeRange): string[] {
  return [new Date(sinceMs).toISOString(), new Date(untilMs).toISOString()];
}
