import type { Queryable } from '../../postgres/index.ts';
import { ask } from './runs.ts';

/** A range of time; roll-ups are by the hour, so it is widened to whole hours. */
export interface TimeRange {
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** Figures of one tool of one server. */
export interface ToolRow {
  /** The name the server gives itself; empty where it is not known. */
  readonly server: string;
  readonly tool: string;
  readonly calls: number;
  readonly errors: number;
  readonly denied: number;
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  readonly p99Ms: number | null;
  readonly maxMs: number;
  /** Calls by client; the name is empty where it is not known. */
  readonly clients: readonly { readonly client: string; readonly calls: number }[];
}

const BUCKETS = 17;

/** Buckets of durations added up, place by place: a tenth of the work of `mcp_traces_sum_buckets`. */
function summed(column: string): string {
  const sums = Array.from({ length: BUCKETS }, (_, i) => `coalesce(sum(${column}[${i + 1}]), 0)`);
  return `ARRAY[${sums.join(', ')}]::bigint[]`;
}

/** Tools by server, those with the most calls first. A call that both sides recorded counts once. */
export async function toolHealth(db: Queryable, range: TimeRange): Promise<readonly ToolRow[]> {
  const rows = await ask(
    db,
    `WITH sides AS (
      SELECT server_name, tool_name, span_kind, client_name, sum(spans) AS calls, sum(errors) AS errors,
        sum(gate_blocked) AS denied, max(duration_ms_max) AS max_ms, ${summed('duration_buckets')} AS buckets
      FROM mcp_tools_hourly WHERE hour >= date_trunc('hour', $1::timestamptz) AND hour < $2::timestamptz AND tool_name <> ''
      GROUP BY server_name, tool_name, span_kind, client_name
    ), kinds AS (
      SELECT server_name, tool_name, span_kind, sum(calls) AS calls, sum(errors) AS errors, sum(denied) AS denied,
        max(max_ms) AS max_ms, ${summed('buckets')} AS buckets,
        json_agg(json_build_object('client', client_name, 'calls', calls) ORDER BY calls DESC) AS clients
      FROM sides GROUP BY server_name, tool_name, span_kind
    ), chosen AS (
      -- A gate or a framework around a call is another span of it.
      SELECT DISTINCT ON (server_name, tool_name) * FROM kinds WHERE span_kind <> 'internal'
        OR NOT EXISTS (SELECT 1 FROM kinds k WHERE k.tool_name = kinds.tool_name AND k.span_kind <> 'internal')
      ORDER BY server_name, tool_name, calls DESC, span_kind
    )
    SELECT server_name AS server, tool_name AS tool, calls::float8 AS calls, errors::float8 AS errors,
      denied::float8 AS denied, max_ms AS "maxMs", mcp_traces_percentile(buckets, 0.5) AS "p50Ms",
      mcp_traces_percentile(buckets, 0.95) AS "p95Ms", mcp_traces_percentile(buckets, 0.99) AS "p99Ms", clients
    FROM chosen ORDER BY calls DESC, server_name, tool_name LIMIT 1000`,
    rangeValues(range),
  );
  return rows as unknown as readonly ToolRow[];
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
    where: "model <> '' AND tool_name = ''",
  },
};

const DAYS_BY_THE_HOUR = 3;

const IN_RANGE = `hour >= date_trunc('hour', $1::timestamptz) AND hour < $2::timestamptz`;

/** What model calls cost, over time. @throws the database's errors. */
export async function costs(db: Queryable, by: CostDimension, range: TimeRange): Promise<readonly CostRow[]> {
  const unit = range.untilMs - range.sinceMs > DAYS_BY_THE_HOUR * 86_400_000 ? 'day' : 'hour';
  const time = `(extract(epoch FROM date_trunc('${unit}', hour)) * 1000)::float8`;
  const text = by === 'tool' ? costsByTool(time) : costsBy(COST_SOURCES[by], time);
  return (await ask(db, text, rangeValues(range))) as unknown as readonly CostRow[];
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

function rangeValues({ sinceMs, untilMs }: TimeRange): string[] {
  return [new Date(sinceMs).toISOString(), new Date(untilMs).toISOString()];
}
