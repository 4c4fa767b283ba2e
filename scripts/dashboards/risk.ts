import type { Dashboard } from './panel.ts';
import {
  CHOICES,
  CHOSEN,
  countOverTime,
  named,
  TRACE_HEX,
  TRACE_LINK,
  total,
  valueOverTime,
} from './scope.ts';

const CONTRADICTED = `evidence_findings ~ '"kind":"(tool_|partial|empty_|wrong_)'`;
const SCORED = 'hallucination_risk_score IS NOT NULL';

/** Hallucination risk, and the signals behind it. */
export const risk: Dashboard = {
  uid: 'mcp-risk',
  title: 'MCP risk',
  description: 'Hallucination risk, what it is made of, and drift of the prompts',
  variables: CHOICES,
  from: 'now-24h',
  panels: [
    { title: 'Scored answers', type: 'stat', size: [6, 4], sql: total('count(*)', 'answers', SCORED) },
    {
      title: 'At high risk',
      type: 'stat',
      size: [6, 4],
      unit: 'percentunit',
      sql: total(`avg((hallucination_risk_level = 'high')::integer)`, 'share', SCORED),
    },
    {
      title: 'Claims against the tool',
      type: 'stat',
      size: [6, 4],
      description: 'Answers that claim success where the tool reported failure.',
      sql: total('count(*)', 'answers', 'tool_claim_mismatch'),
    },
    {
      title: 'Mean risk',
      type: 'stat',
      size: [6, 4],
      sql: total('avg(hallucination_risk_score)', 'risk', SCORED),
    },
    {
      title: 'Contradicted by the trace',
      type: 'stat',
      size: [6, 4],
      description: 'Answers with a finding against the tool calls of their run.',
      sql: total('count(*)', 'answers', CONTRADICTED),
    },
    {
      title: 'At high evidence risk',
      type: 'stat',
      size: [6, 4],
      unit: 'percentunit',
      description: 'Of the answers that had tool calls or documents to be held against.',
      sql: total(`avg((evidence_risk_level = 'high')::integer)`, 'share', 'evidence_risk_level IS NOT NULL'),
    },
    {
      title: 'Answers by evidence risk level',
      type: 'timeseries',
      stacked: true,
      sql: countOverTime('evidence_risk_level', 'evidence_risk_level IS NOT NULL'),
    },
    {
      title: 'Answers by risk level',
      type: 'timeseries',
      stacked: true,
      sql: countOverTime('hallucination_risk_level', SCORED),
    },
    {
      title: 'Mean risk by model',
      type: 'timeseries',
      sql: valueOverTime('avg(hallucination_risk_score)', 'model', SCORED),
    },
    {
      title: 'Scores by how many answers have them',
      type: 'barchart',
      size: [8, 9],
      sql: `SELECT to_char(bucket * 0.1, 'FM0.0') || ' to ' || to_char((bucket + 1) * 0.1, 'FM0.0') AS risk, count(*) AS answers
FROM (
  SELECT least(floor(hallucination_risk_score * 10), 9) AS bucket
  FROM mcp_traces
  WHERE ${CHOSEN}
    AND ${SCORED}
) AS scores
GROUP BY bucket
ORDER BY bucket`,
    },
    {
      title: 'What the risk is made of',
      type: 'table',
      size: [16, 9],
      description: 'Means; a score nobody could compute is left out of its mean.',
      sql: `SELECT ${named('model')} AS model, count(*) AS answers, avg(hallucination_risk_score) AS risk,
  avg(grounding_score) AS grounding, avg(verifier_score) AS verifier, avg(self_consistency_score) AS consistency,
  avg(numeric_variance_score) AS numeric_variance, avg(tool_claim_mismatch::integer) AS claim_mismatch
FROM mcp_traces
WHERE ${CHOSEN}
  AND ${SCORED}
GROUP BY 1
ORDER BY risk DESC`,
    },
    {
      title: 'Riskiest answers',
      type: 'table',
      size: [14, 10],
      link: TRACE_LINK,
      sql: `SELECT ${TRACE_HEX} AS trace, start_time AS start, service, model, hallucination_risk_score AS risk,
  hallucination_risk_level AS level, verifier_reason AS verifier, tool_claim_mismatch AS claim_mismatch
FROM mcp_traces
WHERE ${CHOSEN}
  AND ${SCORED}
ORDER BY hallucination_risk_score DESC, start_time DESC
LIMIT 50`,
    },
    {
      title: 'Drift of the prompts',
      type: 'table',
      size: [10, 10],
      description:
        'More normalized prompts than the template has wordings: it changed, or it is not one template.',
      sql: `SELECT ${named('prompt_template_id')} AS template, count(*) AS calls,
  count(DISTINCT prompt_hash) AS prompts, count(DISTINCT normalized_prompt_hash) AS normalized_prompts,
  max(start_time) AS last_seen
FROM mcp_traces
WHERE ${CHOSEN}
  AND prompt_hash IS NOT NULL
GROUP BY 1
ORDER BY normalized_prompts DESC
LIMIT 50`,
    },
  ],
};
