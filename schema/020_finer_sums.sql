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

-- What is one call follows from its response or from its numbers, never from its model alone, as in the processor.

DROP FUNCTION mcp_traces_spent(timestamptz, timestamptz, bigint, bigint);
-- The counted rows with usage of the traces with a row that started in a range of time and was stored in a range of
-- transactions, and the rows that are counted on these.
CREATE FUNCTION mcp_traces_spent(since timestamptz, until timestamptz, from_xid bigint, to_xid bigint)
RETURNS TABLE (trace_id uuid, span_id uuid, parent_span_id uuid, start_time timestamptz, end_time timestamptz, scope text,
  response_id text, prompt_tokens integer, completion_tokens integer, tokens_estimated boolean, is_less boolean, kind text,
  models text[], process text, counted_on text)
-- The plans of what reads it are for many rows.
LANGUAGE sql STABLE ROWS 100000 SET work_mem = '64MB' SET jit = off SET enable_nestloop = on AS $function$
  WITH fresh AS MATERIALIZED (
    SELECT t.trace_id, mcp_traces_time(min(t.start_time)) - interval '1 day' AS first, mcp_traces_time(max(t.start_time)) + interval '1 day' AS last
    FROM mcp_traces AS t
    WHERE t.ingest_xid >= from_xid AND t.ingest_xid < to_xid AND t.start_time >= since AND t.start_time < until
      -- A span without usage may join two that have it. A root joins none.
      AND (t.parent_span_id IS NOT NULL OR t.prompt_tokens IS NOT NULL OR t.completion_tokens IS NOT NULL)
    GROUP BY t.trace_id
  )
  SELECT trace_id, span_id, parent_span_id, mcp_traces_time(start_time), mcp_traces_time(end_time), scope, response_id,
    prompt_tokens, completion_tokens, tokens_estimated, provider = 'aws.bedrock' AND cached_prompt_tokens IS NULL,
    mcp_traces_kind(method, operation, attributes),
    ARRAY[model, attributes ->> 'gen_ai.request.model', attributes ->> 'gen_ai.response.model', attributes ->> 'ai.model.id',
      attributes ->> 'ai.response.model'],
    concat_ws(' ', service, resource ->> 'service.instance.id', resource ->> 'host.name', resource ->> 'process.pid'), counted_on
  FROM (
    SELECT t.*, count(*) OVER (PARTITION BY t.trace_id) AS calls FROM fresh JOIN mcp_traces AS t USING (trace_id)
    WHERE t.start_time BETWEEN first AND last AND CASE WHEN t.counted_on IS NULL
      THEN t.prompt_tokens IS NOT NULL OR t.completion_tokens IS NOT NULL ELSE t.counted_on <> 'children' AND t.tool_name IS NULL END
  ) AS counted WHERE calls BETWEEN 2 AND 10000
$function$;

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
    ON CONFLICT (hour, provider, model, user_id, is_shadow, asked_model)'],
    'mcp_traces_repeats(timestamptz, timestamptz, bigint, bigint)', ARRAY[
    'WITH spent AS MATERIALIZED (' || E'\n    SELECT * FROM mcp_traces_spent(since, until, from_xid, to_xid)\n  )',
      'WITH known AS MATERIALIZED (
    SELECT *, right(replace(span_id::text, ''-'', ''''), 16) AS id FROM mcp_traces_spent(since, until, from_xid, to_xid)
  ), spent AS MATERIALIZED (
    SELECT * FROM known WHERE counted_on IS NULL
  )',
    'FROM spent AS s WHERE s.parent_span_id IS NOT NULL', 'FROM known AS s WHERE s.parent_span_id IS NOT NULL',
    '), pairs AS MATERIALIZED (', '), held AS MATERIALIZED (
    SELECT o.trace_id, o.span_id AS at, h.span_id AS held, count(*) OVER (PARTITION BY o.trace_id, o.span_id) AS spans
    FROM known AS h JOIN spent AS o ON o.trace_id = h.trace_id AND o.id = h.counted_on
  ), lines AS MATERIALIZED (
    -- What is around all spans that are counted on one, or in them: what is beside these is not below that call.
    SELECT trace_id, at, call, count(*) AS spans FROM (
      SELECT h.trace_id, h.at, c.at AS call, h.held FROM held AS h JOIN climb AS c ON c.trace_id = h.trace_id AND c.call = h.held
      UNION
      SELECT h.trace_id, h.at, c.call, h.held FROM held AS h JOIN climb AS c ON c.trace_id = h.trace_id AND c.at = h.held
    ) AS steps GROUP BY trace_id, at, call
  ), pairs AS MATERIALIZED (',
    'ELSE mcp_traces_same_model(i.models, o.models) END AS is_same',
      'ELSE mcp_traces_same_model(i.models, o.models) AND (
          i.tokens_estimated IS TRUE OR o.tokens_estimated IS TRUE
          OR (i.is_less IS TRUE OR o.is_less IS TRUE OR coalesce(i.prompt_tokens = o.prompt_tokens, true))
            AND coalesce(i.completion_tokens = o.completion_tokens, true)
          -- It took as long; of short ones that says nothing.
          OR o.end_time - o.start_time >= interval ''10 milliseconds''
            AND least(o.end_time, i.end_time) - greatest(o.start_time, i.start_time)
              >= 0.9 * greatest(o.end_time - o.start_time, i.end_time - i.start_time)) END AS is_same',
    'JOIN spent AS i ON i.trace_id = c.trace_id AND i.span_id = c.call',
      'JOIN spent AS i ON i.trace_id = c.trace_id AND i.span_id = c.call
    LEFT JOIN (SELECT DISTINCT trace_id, at, spans FROM held) AS h ON h.trace_id = c.trace_id AND h.at = c.at
    LEFT JOIN lines AS l ON l.trace_id = c.trace_id AND l.at = c.at AND l.call = c.call',
    'WHERE c.at <> c.call', 'WHERE c.at <> c.call AND coalesce(h.spans = l.spans, h.spans IS NULL)']);
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
