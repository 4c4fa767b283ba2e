-- A run has not recovered from a failed call if its answer says the contrary: that something was done which no call did, or
-- found where nothing was. Such an answer took no note of the failure, and a root span that ended well proves nothing then.

LOCK TABLE mcp_runs, mcp_runs_hourly IN ACCESS EXCLUSIVE MODE;

-- A claim without support, or a value that is not the one of the results, says nothing of a call that failed.
CREATE OR REPLACE FUNCTION mcp_traces_is_answer(is_model boolean, status text, operation text, tool_claim_mismatch boolean, evidence_findings text)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  SELECT is_model AND status = 'ok' AND coalesce(lower(operation) NOT IN ('embeddings', 'embedding', 'rerank'), true)
    AND tool_claim_mismatch IS NOT TRUE AND coalesce(evidence_findings !~ '"kind":"(?!unsupported|wrong)', true)
$function$;

-- Answers that were taken for such before.
UPDATE mcp_runs AS r SET last_answer_at = s.last_answer_at
FROM (
  SELECT t.trace_id, max(t.end_time) FILTER (WHERE mcp_traces_is_answer(t.cost_source IS NOT NULL OR t.prompt_tokens IS NOT NULL,
    mcp_traces_status(t.status_code, t.policy_decision, t.gate_blocked), t.operation, t.tool_claim_mismatch, t.evidence_findings)) AS last_answer_at
  FROM mcp_runs AS known JOIN mcp_traces AS t USING (trace_id)
  WHERE known.contradicted AND known.errors > 0 AND known.last_answer_at < 'infinity'
    AND t.ingest_xid < (SELECT next_xid FROM mcp_runs_state)
  GROUP BY 1
) AS s
WHERE r.trace_id = s.trace_id;

ALTER TABLE mcp_runs DROP COLUMN is_failed;
ALTER TABLE mcp_runs
  ADD COLUMN is_failed boolean GENERATED ALWAYS AS (
    root_failed AND denied + withheld + held = 0
    OR greatest(client_failures, server_failures, other_failures) > 0
      AND (coalesce(last_failure_at > last_answer_at, true) OR contradicted AND last_answer_at = 'infinity')
    OR errors > 0 AND denied + withheld + held = 0 AND coalesce(last_error_at > last_answer_at, true)
  ) STORED;
COMMENT ON COLUMN mcp_runs.is_failed IS 'Its root failed, or a call, or another span where no gate stopped anything, and no model answered truly after it';

DELETE FROM mcp_runs_hourly;
INSERT INTO mcp_runs_hourly
SELECT date_trunc('hour', started_at, 'UTC'), mcp_runs_duration_class(started_at, ended_at), count(*), sum(spans),
  count(*) FILTER (WHERE is_failed), count(*) FILTER (WHERE contradicted), count(*) FILTER (WHERE unsupported AND NOT contradicted),
  count(*) FILTER (WHERE held > 0), sum(cost_usd), sum(unpriced)
FROM mcp_runs WHERE NOT is_handshake GROUP BY 1, 2;
