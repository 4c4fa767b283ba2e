import type { Dashboard, Panel } from './panel.ts';
import { CHOICES, CHOSEN, TRACE_HEX, TRACE_LINK, total, valueBy, valueOverTime } from './scope.ts';

const PRICED = 'cost_usd IS NOT NULL';
const TOKENS = 'coalesce(prompt_tokens, 0) + coalesce(completion_tokens, 0)';

function costBy(title: string, column: string): Panel {
  return {
    title,
    type: 'barchart',
    size: [8, 8],
    unit: 'currencyUSD',
    sql: valueBy('sum(cost_usd)', 'cost', column, PRICED),
  };
}

/** Spend, by who and what causes it. */
export const cost: Dashboard = {
  uid: 'mcp-cost',
  title: 'MCP cost',
  description: 'Spend and tokens by model, provider, service and prompt template',
  variables: CHOICES,
  from: 'now-24h',
  panels: [
    { title: 'Cost', type: 'stat', size: [6, 4], unit: 'currencyUSD', sql: total('sum(cost_usd)', 'cost') },
    { title: 'Tokens', type: 'stat', size: [6, 4], sql: total(`sum(${TOKENS})`, 'tokens') },
    {
      title: 'Cost of a trace',
      type: 'stat',
      size: [6, 4],
      unit: 'currencyUSD',
      sql: total('sum(cost_usd) / nullif(count(DISTINCT trace_id), 0)', 'cost', PRICED),
    },
    {
      title: 'Calls without a price',
      type: 'stat',
      size: [6, 4],
      description: 'Model calls whose model has no known price: their spend is missing here.',
      sql: total('count(*)', 'calls', 'model IS NOT NULL AND prompt_tokens IS NOT NULL AND cost_usd IS NULL'),
    },
    {
      title: 'Cost by model',
      type: 'timeseries',
      unit: 'currencyUSD',
      stacked: true,
      sql: valueOverTime('sum(cost_usd)', 'model', PRICED),
    },
    {
      title: 'Tokens by model',
      type: 'timeseries',
      stacked: true,
      sql: valueOverTime(`sum(${TOKENS})`, 'model', 'prompt_tokens IS NOT NULL'),
    },
    costBy('By service', 'service'),
    costBy('By provider', 'provider'),
    costBy('By prompt template', 'prompt_template_id'),
    costBy('By user', 'user_id'),
    {
      title: 'Spent by how the call ended',
      type: 'piechart',
      size: [8, 9],
      unit: 'currencyUSD',
      description: 'What failed, blocked and shadow calls cost beside the answered ones.',
      sql: `SELECT CASE WHEN is_shadow THEN 'shadow' WHEN status_code = 'error' THEN 'failed'
    WHEN gate_blocked THEN 'blocked' WHEN fallback_used THEN 'fell back' ELSE 'answered' END AS ending, sum(cost_usd) AS cost
FROM mcp_traces
WHERE ${CHOSEN}
  AND ${PRICED}
GROUP BY 1
ORDER BY 2 DESC`,
    },
    {
      title: 'Dearest traces',
      type: 'table',
      size: [16, 9],
      units: { cost: 'currencyUSD' },
      link: TRACE_LINK,
      sql: `SELECT ${TRACE_HEX} AS trace, min(start_time) AS start, min(service) AS service, count(*) AS calls,
  sum(${TOKENS}) AS tokens, sum(cost_usd) AS cost
FROM mcp_traces
WHERE ${CHOSEN}
  AND ${PRICED}
GROUP BY trace_id
ORDER BY cost DESC
LIMIT 50`,
    },
  ],
};
