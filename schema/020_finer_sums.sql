-- Durations in classes fine enough for percentiles within 2 %, of runs as of tools; and model calls by the model they asked
-- for: a call that failed has no other, so that an error rate by model needs it of those that were answered too.

LOCK TABLE mcp_models_hourly, mcp_runs, mcp_runs_hourly IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE FUNCTION mcp_runs_duration_class(started_at timestamptz, ended_at timestamptz) RETURNS smallint
LANGUAGE sql STABLE PARALLEL SAFE AS $function$
  SELECT floor(ln(least(greatest(date_part('epoch', ended_at - started_at) * 1000, 0.001), 1e12)) / ln(1.02::double precision))::smallint
$function$;
COMMENT ON COLUMN mcp_runs_hourly.duration_class IS 'n: from 1.02 ^ n ms to 1.02 ^ (n + 1)';

DELETE FROM mcp_runs_hourly;
INSERT INTO mcp_runs_hourly
SELECT date_trunc('hour', started_at, 'UTC'), mcp_runs_duration_class(started_at, ended_at), count(*), sum(spans),
  count(*) FILTER (WHERE is_failed), count(*) FILTER (WHERE contradicted), count(*) FILTER (WHERE unsupported AND NOT contradicted),
  count(*) FILTER (WHERE held > 0), sum(cost_usd), sum(unpriced)
FROM mcp_runs WHERE NOT is_handshake GROUP BY 1, 2;

-- The model that a call asked for; the one it names where it says no more.
CREATE FUNCTION mcp_traces_asked_model(model text, attributes jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  SELECT CASE WHEN model IS NOT NULL THEN coalesce(attributes ->> 'gen_ai.request.model', attributes ->> 'llm.request.model',
    attributes ->> 'llm.request.model_name', attributes ->> 'ai.model.id', model) END
$function$;

ALTER TABLE mcp_models_hourly ADD COLUMN asked_model text NOT NULL DEFAULT '';
UPDATE mcp_models_hourly SET asked_model = model;
ALTER TABLE mcp_models_hourly
  DROP CONSTRAINT mcp_models_hourly_pkey,
  ADD CONSTRAINT mcp_models_hourly_pkey PRIMARY KEY (hour, provider, model, user_id, is_shadow, asked_model);
COMMENT ON COLUMN mcp_models_hourly.model IS 'The model that answered; of a call without an answer the one asked for';
COMMENT ON COLUMN mcp_models_hourly.asked_model IS 'The model that the calls asked for';

DO $$
DECLARE
  changes CONSTANT jsonb := jsonb_build_object(
    'mcp_traces_refresh_rollups()', ARRAY[
      'SELECT *, floor(', 'SELECT *, mcp_traces_asked_model(model, attributes) AS asked_model, floor(',
      'hour_number, service, provider, model,', 'hour_number, service, provider, model, asked_model,',
      'mcp_traces_short(model) AS model,', 'mcp_traces_short(model) AS model, mcp_traces_short(asked_model) AS asked_model,',
      'sum(high_risk)' || E'\n      FROM fresh WHERE is_model_call\n      GROUP BY hour, provider, model, user_id, is_shadow',
        'sum(high_risk), asked_model FROM fresh WHERE is_model_call GROUP BY hour, provider, model, user_id, is_shadow, asked_model',
      'ORDER BY hour, provider, model, user_id' || E'\n    ON CONFLICT (hour, provider, model, user_id, is_shadow)',
        'ORDER BY hour, provider, model, user_id, asked_model ON CONFLICT (hour, provider, model, user_id, is_shadow, asked_model)'],
    'mcp_traces_correct(jsonb)', ARRAY[
      'mcp_traces_short(r.model) AS model,',
        'mcp_traces_short(r.model) AS model, mcp_traces_short(mcp_traces_asked_model(r.model, r.attributes)) AS asked_model,',
      'sum(sign * high_risk)' || E'\n    FROM deltas WHERE is_model_call AND ingest_xid < rollups_xid\n    GROUP BY hour, provider, model, user_id, is_shadow'
        || E'\n    ORDER BY hour, provider, model, user_id\n    ON CONFLICT (hour, provider, model, user_id, is_shadow)',
        'sum(sign * high_risk), asked_model FROM deltas WHERE is_model_call AND ingest_xid < rollups_xid
    GROUP BY hour, provider, model, user_id, is_shadow, asked_model ORDER BY hour, provider, model, user_id, asked_model
    ON CONFLICT (hour, provider, model, user_id, is_shadow, asked_model)']);
  signature text;
  parts jsonb;
  body text;
BEGIN
  FOR signature, parts IN SELECT * FROM jsonb_each(changes) LOOP
    body := pg_get_functiondef(signature::regprocedure);
    FOR i IN 0 .. jsonb_array_length(parts) - 1 BY 2 LOOP
      IF position(parts ->> i IN body) = 0 THEN
        RAISE EXCEPTION '% does not hold: %', signature, parts ->> i;
      END IF;
      body := replace(body, parts ->> i, parts ->> i + 1);
    END LOOP;
    EXECUTE body;
  END LOOP;
END
$$;

-- Calls that were counted before, as far as their spans are kept.
WITH moved AS MATERIALIZED (
  SELECT date_trunc('hour', mcp_traces_time(start_time), 'UTC') AS hour, mcp_traces_short(provider) AS provider,
    mcp_traces_short(model) AS model, mcp_traces_short(user_id) AS user_id, coalesce(is_shadow, false) AS is_shadow,
    count(*) AS calls, count(*) FILTER (WHERE status_code = 'error') AS errors, sum(ms) AS ms_sum, max(ms) AS ms_max,
    coalesce(sum(prompt_tokens) FILTER (WHERE prompt_tokens BETWEEN 0 AND 1000000000), 0) AS prompt_tokens,
    coalesce(sum(completion_tokens) FILTER (WHERE completion_tokens BETWEEN 0 AND 1000000000), 0) AS completion_tokens,
    coalesce(sum(cached_prompt_tokens) FILTER (WHERE cached_prompt_tokens BETWEEN 0 AND 1000000000), 0) AS cached_prompt_tokens,
    coalesce(sum(cost_usd) FILTER (WHERE cost_usd BETWEEN 0 AND 1e9), 0) AS cost_usd,
    count(*) FILTER (WHERE mcp_traces_is_unpriced(cost_source)) AS unpriced,
    count(*) FILTER (WHERE hallucination_risk_level = 'high') AS high_risk, asked AS asked_model
  FROM mcp_traces, LATERAL (SELECT mcp_traces_short(mcp_traces_asked_model(model, attributes)) AS asked,
    greatest(date_part('epoch', mcp_traces_time(end_time) - mcp_traces_time(start_time)) * 1000, 0) AS ms) AS said
  WHERE mcp_traces_short(model) <> asked AND ingest_xid < (SELECT next_xid FROM mcp_traces_rollup_state)
    AND mcp_traces_is_model_call(counted_on, tool_name, cost_source, prompt_tokens, method, operation, model, span_kind, attributes)
  GROUP BY 1, 2, 3, 4, 5, asked
), fewer AS (
  UPDATE mcp_models_hourly AS h SET calls = h.calls - m.calls, errors = h.errors - m.errors,
    duration_ms_sum = h.duration_ms_sum - m.ms_sum, prompt_tokens = h.prompt_tokens - m.prompt_tokens,
    completion_tokens = h.completion_tokens - m.completion_tokens, cached_prompt_tokens = h.cached_prompt_tokens - m.cached_prompt_tokens,
    cost_usd = h.cost_usd - m.cost_usd, unpriced = h.unpriced - m.unpriced, high_risk = h.high_risk - m.high_risk
  FROM (
    SELECT hour, provider, model, user_id, is_shadow, sum(calls) AS calls, sum(errors) AS errors, sum(ms_sum) AS ms_sum,
      sum(prompt_tokens) AS prompt_tokens, sum(completion_tokens) AS completion_tokens,
      sum(cached_prompt_tokens) AS cached_prompt_tokens, sum(cost_usd) AS cost_usd, sum(unpriced) AS unpriced, sum(high_risk) AS high_risk
    FROM moved GROUP BY 1, 2, 3, 4, 5
  ) AS m
  WHERE (h.hour, h.provider, h.model, h.user_id, h.is_shadow, h.asked_model)
    = (m.hour, m.provider, m.model, m.user_id, m.is_shadow, m.model)
)
INSERT INTO mcp_models_hourly SELECT * FROM moved;
DELETE FROM mcp_models_hourly WHERE calls = 0;
