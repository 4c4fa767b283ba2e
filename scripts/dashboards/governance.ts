import type { Dashboard } from './panel.ts';
import { CHOICES, CHOSEN, countOverTime, named, TRACE_HEX, TRACE_LINK, total, valueBy } from './scope.ts';

const DECIDED = 'policy_decision IS NOT NULL';
const BLOCKED = `(gate_blocked OR policy_decision IN ('deny', 'require_approval'))`;

/** Decisions of the gates, and fallbacks. */
export const governance: Dashboard = {
  uid: 'mcp-governance',
  title: 'MCP governance',
  description: 'Decisions of the policy gate, fallbacks and shadow runs',
  variables: CHOICES,
  from: 'now-24h',
  panels: [
    { title: 'Decisions', type: 'stat', size: [6, 4], sql: total('count(*)', 'decisions', DECIDED) },
    { title: 'Blocked', type: 'stat', size: [6, 4], sql: total('count(*)', 'blocked', BLOCKED) },
    { title: 'Fell back', type: 'stat', size: [6, 4], sql: total('count(*)', 'calls', 'fallback_used') },
    { title: 'Shadow runs', type: 'stat', size: [6, 4], sql: total('count(*)', 'runs', 'is_shadow') },
    {
      title: 'Decisions of the gate',
      type: 'timeseries',
      stacked: true,
      sql: countOverTime('policy_decision', DECIDED),
    },
    {
      title: 'Fallbacks by kind',
      type: 'timeseries',
      stacked: true,
      sql: countOverTime('fallback_type', 'fallback_used'),
    },
    {
      title: 'Why the gate refused',
      type: 'barchart',
      size: [8, 9],
      sql: valueBy('count(*)', 'decisions', 'policy_reason', `policy_decision <> 'allow'`),
    },
    {
      title: 'Why a fallback answered',
      type: 'barchart',
      size: [8, 9],
      sql: valueBy('count(*)', 'calls', 'fallback_reason', 'fallback_used'),
    },
    {
      title: 'Blocked by risk tier',
      type: 'piechart',
      size: [8, 9],
      sql: valueBy('count(*)', 'calls', 'risk_tier', BLOCKED),
    },
    {
      title: 'Decisions by tool',
      type: 'table',
      size: [12, 9],
      units: { refused: 'percentunit' },
      sql: `SELECT ${named('tool_name')} AS tool, count(*) AS decisions, count(*) FILTER (WHERE policy_decision = 'allow') AS allowed,
  count(*) FILTER (WHERE policy_decision = 'deny') AS denied,
  count(*) FILTER (WHERE policy_decision = 'require_approval') AS to_approve,
  avg((policy_decision <> 'allow')::integer) AS refused, count(DISTINCT policy_hash) AS policies
FROM mcp_traces
WHERE ${CHOSEN}
  AND ${DECIDED}
GROUP BY 1
ORDER BY decisions DESC
LIMIT 50`,
    },
    {
      title: 'Shadow against primary',
      type: 'table',
      size: [12, 9],
      sql: `SELECT ${named('model')} AS shadow_model, count(*) AS runs, avg(shadow_disagreement_score) AS disagreement,
  avg(shadow_numeric_variance) AS numeric_variance, sum(cost_usd) AS cost
FROM mcp_traces
WHERE ${CHOSEN}
  AND is_shadow
GROUP BY 1
ORDER BY runs DESC`,
    },
    {
      title: 'Latest blocked calls',
      type: 'table',
      size: [24, 10],
      link: TRACE_LINK,
      sql: `SELECT ${TRACE_HEX} AS trace, start_time AS start, service, tool_name AS tool, model, risk_tier,
  policy_decision AS decision, policy_reason AS reason, policy_hash AS policy, fallback_type AS fallback
FROM mcp_traces
WHERE ${CHOSEN}
  AND ${BLOCKED}
ORDER BY start_time DESC
LIMIT 100`,
    },
  ],
};
