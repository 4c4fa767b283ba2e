-- A failed tool does not fail an agent's run: a model reads the error as it reads any other result, and goes on. A run has
-- failed if its root span did, or if no model answered after the last thing that failed. An answer that a gate withheld, or
-- that claims the success of a call that failed, does not count.

ALTER TABLE mcp_runs
  DROP COLUMN is_failed,
  ADD COLUMN root_failed boolean NOT NULL DEFAULT false,
  ADD COLUMN last_failure_at timestamptz,
  ADD COLUMN last_error_at timestamptz,
  ADD COLUMN last_answer_at timestamptz;
ALTER TABLE mcp_runs
  ADD COLUMN is_failed boolean GENERATED ALWAYS AS (
    root_failed AND denied + withheld + held = 0
    OR greatest(client_failures, server_failures, other_failures) > 0 AND coalesce(last_failure_at > last_answer_at, true)
    OR errors > 0 AND denied + withheld + held = 0 AND coalesce(last_error_at > last_answer_at, true)
  ) STORED;
COMMENT ON COLUMN mcp_runs.is_failed IS 'Its root failed, or a call, or another span where no gate stopped anything, and no model answered after it';
COMMENT ON COLUMN mcp_runs.root_failed IS 'Whether a root span has an error that is no gate''s doing';
COMMENT ON COLUMN mcp_runs.last_failure_at IS 'End of the last tool call that failed';
COMMENT ON COLUMN mcp_runs.last_error_at IS 'End of the last span that failed';
COMMENT ON COLUMN mcp_runs.last_answer_at IS 'End of the last answer of a model; infinity where the root span says that the run ended well';

-- Whether a span is an answer of a model that took note of what failed before, as far as is known.
CREATE FUNCTION mcp_traces_is_answer(is_model boolean, status text, operation text, tool_claim_mismatch boolean, evidence_findings text)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  SELECT is_model AND status = 'ok' AND coalesce(lower(operation) NOT IN ('embeddings', 'embedding', 'rerank'), true)
    AND tool_claim_mismatch IS NOT TRUE AND coalesce(evidence_findings NOT LIKE '%"kind":"tool_failed_claimed_success"%', true)
$function$;

DO $$
DECLARE
  runs text := pg_get_functiondef('mcp_runs_refresh()'::regprocedure);
  named text := 'trace_id, started_at, ended_at, has_root, root_at, name, service, client_name, user_id, session_id, '
    'conversation_id, models, tools, servers, failed_tools, spans, errors, model_calls, client_calls, server_calls, other_calls, '
    'client_failures, server_failures, other_failures, denied, withheld, held, prompt_tokens, completion_tokens, '
    'cached_prompt_tokens, cost_usd, priced, unpriced, risk, contradicted, unsupported, is_shadow, '
    'root_failed, last_failure_at, last_error_at, last_answer_at';
BEGIN
  runs := replace(runs, 'status = ''failed'' AS is_error, status,', 'status = ''failed'' AS is_error, status, status_code, operation, tool_claim_mismatch, evidence_findings,');
  runs := replace(runs, 'bool_or(is_shadow) AS is_shadow',
    'bool_or(is_shadow) AS is_shadow, bool_or(is_root AND is_error) AS root_failed,
      max(end_time) FILTER (WHERE is_error AND call IS NOT NULL) AS last_failure_at, max(end_time) FILTER (WHERE is_error) AS last_error_at,
      max(CASE WHEN is_root AND status_code = ''ok'' THEN ''infinity'' ELSE end_time END)
        FILTER (WHERE mcp_traces_is_answer(is_model, status, operation, tool_claim_mismatch, evidence_findings) OR is_root AND status_code = ''ok'') AS last_answer_at');
  runs := replace(runs, 'INSERT INTO mcp_runs AS old', 'INSERT INTO mcp_runs AS old (' || named || ')');
  runs := replace(runs, E'is_shadow\n    FROM summed', E'is_shadow,\n      root_failed, last_failure_at, last_error_at, last_answer_at\n    FROM summed');
  runs := replace(runs, 'is_shadow = old.is_shadow OR excluded.is_shadow',
    'is_shadow = old.is_shadow OR excluded.is_shadow,
      root_failed = old.root_failed OR excluded.root_failed,
      last_failure_at = greatest(old.last_failure_at, excluded.last_failure_at),
      last_error_at = greatest(old.last_error_at, excluded.last_error_at),
      last_answer_at = greatest(old.last_answer_at, excluded.last_answer_at)');
  EXECUTE runs;
END
$$;

-- Runs that were counted as failed, of the spans counted so far.
UPDATE mcp_runs AS r SET root_failed = s.root_failed, last_failure_at = s.last_failure_at, last_error_at = s.last_error_at,
  last_answer_at = s.last_answer_at
FROM (
  SELECT t.trace_id, bool_or(t.parent_span_id IS NULL AND status = 'failed') AS root_failed,
    max(t.end_time) FILTER (WHERE status = 'failed' AND mcp_traces_side(t.method, t.span_kind, t.operation) IS NOT NULL) AS last_failure_at,
    max(t.end_time) FILTER (WHERE status = 'failed') AS last_error_at,
    max(CASE WHEN t.parent_span_id IS NULL AND t.status_code = 'ok' THEN 'infinity' ELSE t.end_time END) FILTER (WHERE
      mcp_traces_is_answer(t.cost_source IS NOT NULL OR t.prompt_tokens IS NOT NULL, status, t.operation,
        t.tool_claim_mismatch, t.evidence_findings)
      OR t.parent_span_id IS NULL AND t.status_code = 'ok') AS last_answer_at
  FROM mcp_runs AS failed JOIN mcp_traces AS t USING (trace_id),
    LATERAL (SELECT mcp_traces_status(t.status_code, t.policy_decision, t.gate_blocked) AS status) AS ended
  WHERE failed.is_failed AND t.ingest_xid < (SELECT next_xid FROM mcp_runs_state)
  GROUP BY t.trace_id
) AS s
WHERE r.trace_id = s.trace_id;
