import type { Dashboard } from './panel.ts';
import { DURATION_MS } from './scope.ts';

/** The trace id from the text box, as 32 hex digits or a UUID; empty text matches nothing. */
const GIVEN = `trace_id = nullif(\${trace:sqlstring}, '')::uuid`;

/** One trace, with its spans as a tree. */
export const trace: Dashboard = {
  uid: 'mcp-trace',
  title: 'MCP trace',
  description: 'The spans of one trace, as a tree',
  variables: [{ name: 'trace', label: 'Trace id' }],
  from: 'now-6h',
  panels: [
    {
      title: 'Spans',
      type: 'table',
      size: [24, 20],
      units: { at: 'ms', duration: 'ms', cost: 'currencyUSD' },
      sql: `WITH RECURSIVE spans AS (
  SELECT *, start_time - min(start_time) OVER () AS since FROM mcp_traces WHERE ${GIVEN}
), tree AS (
  SELECT spans.*, 0 AS depth, ARRAY[since] AS path FROM spans
  WHERE NOT EXISTS (SELECT FROM spans AS parent WHERE parent.span_id = spans.parent_span_id)
  UNION ALL
  SELECT spans.*, depth + 1, path || spans.since FROM spans JOIN tree ON spans.parent_span_id = tree.span_id
)
SELECT repeat('· ', depth) || span_name AS span, service, span_kind AS kind, model, tool_name AS tool,
  extract(epoch FROM since) * 1000 AS at, ${DURATION_MS} AS duration, status_code AS status,
  prompt_tokens, completion_tokens, cost_usd AS cost, hallucination_risk_score AS risk,
  policy_decision AS policy, policy_reason AS reason, fallback_type AS fallback
FROM tree
ORDER BY path
LIMIT 1000`,
    },
  ],
};
