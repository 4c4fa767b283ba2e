-- Every call to a model counts, also one that told no tokens or names no model; an agent or a workflow that names a model
-- does not. One rule for runs, sessions, costs and the spans of a run.

-- Whether a span is a call to a model, and not another record of one that is counted elsewhere.
CREATE FUNCTION mcp_traces_is_model_call(counted_on text, tool_name text, cost_source text, prompt_tokens integer, method text,
  operation text, model text, span_kind text, attributes jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  SELECT CASE
    WHEN counted_on IS NOT NULL OR tool_name IS NOT NULL THEN false
    WHEN cost_source IS NOT NULL OR prompt_tokens IS NOT NULL THEN true
    WHEN method IS NOT NULL OR model IS NULL AND operation IS NULL THEN false
    ELSE coalesce(mcp_traces_kind(method, operation, attributes) IN ('model', 'embeddings'),
      model IS NOT NULL AND (operation IS NULL OR span_kind = 'client')) END
$function$;

DO $$
DECLARE
  one CONSTANT text := 'mcp_traces_is_model_call(counted_on, tool_name, cost_source, prompt_tokens, method, operation, model, span_kind, attributes)';
  of_row CONSTANT text := 'mcp_traces_is_model_call(r.counted_on, r.tool_name, r.cost_source, r.prompt_tokens, r.method, r.operation, r.model, r.span_kind, r.attributes)';
  changes CONSTANT text[] := ARRAY[
    'mcp_traces_refresh_rollups()', 'counted_on IS NULL AS is_counted', one || ' AS is_counted',
    'mcp_traces_refresh_rollups()', 'model IS NOT NULL AND tool_name IS NULL AND is_counted AS is_model_call', 'is_counted AS is_model_call',
    'mcp_runs_refresh()', 'cost_source IS NOT NULL OR prompt_tokens IS NOT NULL AS is_model', one || ' AS is_model',
    'mcp_traces_correct(jsonb)', 'r.model IS NOT NULL AND r.tool_name IS NULL AND r.counted_on IS NULL AS is_model_call', of_row || ' AS is_model_call',
    'mcp_traces_correct(jsonb)', 'r.cost_source IS NOT NULL OR r.prompt_tokens IS NOT NULL AS is_model', of_row || ' AS is_model'];
  body text;
BEGIN
  FOR i IN 1 .. array_length(changes, 1) BY 3 LOOP
    body := pg_get_functiondef(changes[i]::regprocedure);
    IF position(changes[i + 1] IN body) = 0 THEN
      RAISE EXCEPTION '% does not hold: %', changes[i], changes[i + 1];
    END IF;
    EXECUTE replace(body, changes[i + 1], changes[i + 2]);
  END LOOP;
END
$$;

-- What was counted before by the rules of before.
WITH told AS MATERIALIZED (
  SELECT trace_id, session_id, ingest_xid, date_trunc('hour', start_time, 'UTC') AS hour, mcp_traces_short(provider) AS provider,
    mcp_traces_short(model) AS model, mcp_traces_short(user_id) AS user_id, coalesce(is_shadow, false) AS is_shadow,
    (status_code = 'error')::integer AS error, greatest(date_part('epoch', end_time - start_time) * 1000, 0) AS ms,
    coalesce(CASE WHEN prompt_tokens BETWEEN 0 AND 1000000000 THEN prompt_tokens END, 0) AS prompt_tokens,
    coalesce(CASE WHEN completion_tokens BETWEEN 0 AND 1000000000 THEN completion_tokens END, 0) AS completion_tokens,
    coalesce(CASE WHEN cached_prompt_tokens BETWEEN 0 AND 1000000000 THEN cached_prompt_tokens END, 0) AS cached_prompt_tokens,
    coalesce(CASE WHEN cost_usd BETWEEN 0 AND 1e9 THEN cost_usd END, 0) AS cost_usd,
    coalesce(mcp_traces_is_unpriced(cost_source), false)::integer AS unpriced,
    (hallucination_risk_level IS NOT DISTINCT FROM 'high')::integer AS high_risk,
    is_call::integer - (model IS NOT NULL AND tool_name IS NULL AND counted_on IS NULL)::integer AS in_models,
    is_call::integer - (cost_source IS NOT NULL OR prompt_tokens IS NOT NULL)::integer AS in_runs
  FROM mcp_traces, LATERAL (SELECT mcp_traces_is_model_call(counted_on, tool_name, cost_source, prompt_tokens, method, operation,
    model, span_kind, attributes) AS is_call) AS said
  WHERE is_call <> (model IS NOT NULL AND tool_name IS NULL AND counted_on IS NULL)
    OR is_call <> (cost_source IS NOT NULL OR prompt_tokens IS NOT NULL)
), counted AS MATERIALIZED (
  SELECT * FROM told WHERE in_models <> 0 AND ingest_xid < (SELECT next_xid FROM mcp_traces_rollup_state)
), models AS (
  INSERT INTO mcp_models_hourly AS old
  SELECT hour, provider, model, user_id, is_shadow, sum(in_models), sum(in_models * error), sum(in_models * ms),
    coalesce(max(ms) FILTER (WHERE in_models > 0), 0), sum(in_models * prompt_tokens), sum(in_models * completion_tokens),
    sum(in_models * cached_prompt_tokens), sum(in_models * cost_usd), sum(in_models * unpriced), sum(in_models * high_risk)
  FROM counted
  GROUP BY hour, provider, model, user_id, is_shadow
  ON CONFLICT (hour, provider, model, user_id, is_shadow) DO UPDATE SET calls = old.calls + excluded.calls,
    errors = old.errors + excluded.errors, duration_ms_sum = old.duration_ms_sum + excluded.duration_ms_sum,
    duration_ms_max = greatest(old.duration_ms_max, excluded.duration_ms_max),
    prompt_tokens = old.prompt_tokens + excluded.prompt_tokens,
    completion_tokens = old.completion_tokens + excluded.completion_tokens,
    cached_prompt_tokens = old.cached_prompt_tokens + excluded.cached_prompt_tokens,
    cost_usd = old.cost_usd + excluded.cost_usd, unpriced = old.unpriced + excluded.unpriced,
    high_risk = old.high_risk + excluded.high_risk
), sessions AS (
  UPDATE mcp_sessions AS s SET model_calls = s.model_calls + d.calls
  FROM (SELECT session_id, sum(in_models) AS calls FROM counted WHERE session_id IS NOT NULL GROUP BY 1) AS d
  WHERE s.session_id = d.session_id
)
UPDATE mcp_runs AS r SET model_calls = r.model_calls + d.calls
FROM (
  SELECT trace_id, sum(in_runs) AS calls FROM told
  WHERE in_runs <> 0 AND ingest_xid < (SELECT next_xid FROM mcp_runs_state) GROUP BY 1
) AS d
WHERE r.trace_id = d.trace_id;
