import type { Dashboard, Panel } from './panel.ts';
import { CHOICES, CHOSEN, countOverTime, DURATION_MS, named, TRACE_HEX, TRACE_LINK, total } from './scope.ts';

const MODEL_CALL = 'model IS NOT NULL AND tool_name IS NULL AND counted_on IS NULL';
const TOOL_CALL = 'tool_name IS NOT NULL';
const PERCENTILES = `percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY ${DURATION_MS})`;

/** Median and 95th percentile over time, one series each. */
function latencyOverTime(title: string, condition: string): Panel {
  return {
    title,
    type: 'timeseries',
    unit: 'ms',
    sql: `SELECT time, metric, value
FROM (
  SELECT $__timeGroupAlias(start_time, $__interval), ${PERCENTILES} AS percentiles
  FROM mcp_traces
  WHERE ${CHOSEN}
    AND ${condition}
  GROUP BY 1
) AS slots, unnest(ARRAY['p50', 'p95', 'p99'], percentiles) AS series (metric, value)
ORDER BY 1`,
  };
}

/** Calls, errors and latency per value of a column. */
function latencyBy(title: string, column: string, condition: string, key = column): Panel {
  return {
    title,
    type: 'table',
    size: [8, 9],
    units: { errors: 'percentunit', p50: 'ms', p95: 'ms' },
    sql: `SELECT ${named(column)} AS "${column}", calls, errors, percentiles[1] AS p50, percentiles[2] AS p95
FROM (
  SELECT ${key === column ? column : `${key} AS ${column}`}, count(*) AS calls, avg((status_code = 'error')::integer) AS errors, ${PERCENTILES} AS percentiles
  FROM mcp_traces
  WHERE ${CHOSEN}
    AND ${condition}
  GROUP BY 1
) AS groups
ORDER BY calls DESC
LIMIT 50`,
  };
}

/** Traffic, latency and errors. */
export const traces: Dashboard = {
  uid: 'mcp-traces',
  title: 'MCP traces',
  description: 'Spans, errors and latency of model and tool calls, by service, model and tool',
  variables: CHOICES,
  from: 'now-6h',
  panels: [
    { title: 'Traces', type: 'stat', size: [6, 4], sql: total('count(DISTINCT trace_id)', 'traces') },
    { title: 'Model calls', type: 'stat', size: [6, 4], sql: total('count(*)', 'calls', MODEL_CALL) },
    { title: 'Tool calls', type: 'stat', size: [6, 4], sql: total('count(*)', 'calls', TOOL_CALL) },
    {
      title: 'Spans in error',
      type: 'stat',
      size: [6, 4],
      unit: 'percentunit',
      sql: total(`avg((status_code = 'error')::integer)`, 'share'),
    },
    { title: 'Spans by service', type: 'timeseries', stacked: true, sql: countOverTime('service') },
    {
      title: 'Errors by service',
      type: 'timeseries',
      stacked: true,
      sql: countOverTime('service', `status_code = 'error'`),
    },
    latencyOverTime('Latency of model calls', MODEL_CALL),
    latencyOverTime('Latency of tool calls', TOOL_CALL),
    latencyBy('By model', 'model', MODEL_CALL),
    // Two servers may have a tool of the same name.
    latencyBy('By tool', 'tool_name', TOOL_CALL, `concat_ws(': ', server_name, tool_name)`),
    latencyBy('By service', 'service', 'true'),
    latencyBy('By server', 'server_name', 'server_name IS NOT NULL'),
    latencyBy('By client', 'client_name', 'client_name IS NOT NULL'),
    {
      title: 'Latest traces',
      type: 'table',
      size: [24, 12],
      description: 'A click on a trace shows its spans.',
      units: { duration: 'ms', cost: 'currencyUSD', start: 'dateTimeAsIso' },
      link: TRACE_LINK,
      sql: `SELECT ${TRACE_HEX} AS trace, min(start_time) AS start,
  (array_agg(span_name ORDER BY start_time))[1] AS name, min(service) AS service,
  extract(epoch FROM max(end_time) - min(start_time)) * 1000 AS duration, count(*) AS spans,
  count(*) FILTER (WHERE status_code = 'error') AS errors, sum(prompt_tokens + completion_tokens) AS tokens,
  sum(cost_usd) AS cost, max(hallucination_risk_score) AS risk, coalesce(bool_or(gate_blocked), false) AS blocked
FROM mcp_traces
WHERE ${CHOSEN}
GROUP BY trace_id
ORDER BY start DESC
LIMIT 100`,
    },
  ],
};
