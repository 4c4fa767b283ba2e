-- What only a whole trace shows: which spans repeat the tokens of the calls below them, and which are a second record of a
-- tool call. The processor decides it where it has the spans together; this does where they came apart, to several
-- collectors or in several requests. A row that is corrected is corrected in the roll-ups too.

COMMENT ON COLUMN mcp_traces.verifier_score IS '1 less `evidence_risk_score` where that is known, else local verifier goodness (0..1)';
COMMENT ON COLUMN mcp_traces.counted_on IS 'Where the call, with its tokens and cost, is counted instead: children, or the id of another span of the same call';

CREATE TABLE mcp_traces_settle_state (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  next_xid bigint NOT NULL,
  refreshed_at timestamptz NOT NULL
);
COMMENT ON TABLE mcp_traces_settle_state IS 'Traces of rows of transactions before next_xid are settled';
-- What is stored already is left to `mcp-observatory db check`.
INSERT INTO mcp_traces_settle_state (next_xid, refreshed_at) VALUES (txid_current(), now());

-- A second record of a call, to the refreshes of roll-ups and runs.
DO $$
DECLARE
  rollups text := pg_get_functiondef('mcp_traces_refresh_rollups()'::regprocedure);
  runs text := pg_get_functiondef('mcp_runs_refresh()'::regprocedure);
BEGIN
  rollups := replace(rollups, 'counted_on IS NULL AS is_counted,', 'counted_on IS NULL AS is_counted, coalesce(counted_on <> ''children'', false) AS is_twin,');
  rollups := replace(rollups, 'tool_hash, is_counted, bucket', 'tool_hash, is_counted, is_twin, bucket');
  rollups := replace(rollups, E'bucket,\n      spans, errors,', E'bucket, is_twin,\n      spans, errors,');
  rollups := replace(rollups, 'tool_name IS NOT NULL OR server_name IS NOT NULL OR client_name IS NOT NULL AS is_mcp',
    'NOT is_twin AND (tool_name IS NOT NULL OR server_name IS NOT NULL OR client_name IS NOT NULL) AS is_mcp');
  rollups := replace(rollups, 'FILTER (WHERE tool_name <> '''' AND span_kind', 'FILTER (WHERE tool_name <> '''' AND NOT is_twin AND span_kind');
  runs := replace(runs, 'CASE WHEN method = ''tools/call'' AND span_kind = ''client'' THEN 1',
    'CASE WHEN counted_on <> ''children'' THEN NULL WHEN method = ''tools/call'' AND span_kind = ''client'' THEN 1');
  EXECUTE rollups;
  EXECUTE runs;
END
$$;

-- Which side of a tool call a span is: 1 its client's, 2 its server's, 3 a framework's. NULL for what is none.
CREATE FUNCTION mcp_traces_side(method text, span_kind text, operation text) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  SELECT CASE WHEN method = 'tools/call' AND span_kind = 'client' THEN 1
    WHEN method = 'tools/call' AND span_kind = 'server' THEN 2
    WHEN operation = 'execute_tool' THEN 3 END
$function$;

-- Whether a span says in a known word that it is a model call.
CREATE FUNCTION mcp_traces_says_call(operation text, attributes jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  SELECT coalesce(lower(operation) IN ('chat', 'generate_content', 'text_completion', 'completion', 'embeddings', 'embedding', 'rerank')
    OR operation LIKE 'ai.%.do%' OR upper(attributes ->> 'openinference.span.kind') IN ('LLM', 'EMBEDDING', 'RERANKER'), false)
$function$;

-- Changes rows, and what roll-ups have counted of them. `corrections` is a list of {"trace_id", "span_id"} and new values of
-- counted_on, of the columns of tokens, of cost_usd and cost_source; those not named stay. Returns the rows found.
CREATE FUNCTION mcp_traces_correct(corrections jsonb) RETURNS bigint
LANGUAGE plpgsql SET timezone = 'UTC' SET jit = off AS $function$
DECLARE
  rollups_xid bigint;
  runs_xid bigint;
  tax_xid bigint;
  corrected bigint;
BEGIN
  IF jsonb_array_length(corrections) = 0 THEN
    RETURN 0;
  END IF;
  -- No refresh may count a row between this and the end of the transaction.
  PERFORM pg_advisory_xact_lock(7882267396523914871);
  PERFORM pg_advisory_xact_lock(7882267396523914874);
  PERFORM pg_advisory_xact_lock(7882267396523914870);
  SELECT next_xid INTO rollups_xid FROM mcp_traces_rollup_state;
  SELECT next_xid INTO runs_xid FROM mcp_runs_state;
  SELECT next_xid INTO tax_xid FROM mcp_tax_state;
  WITH wanted AS MATERIALIZED (
    SELECT DISTINCT ON (1, 2) (value ->> 'trace_id')::uuid AS trace_id, (value ->> 'span_id')::uuid AS span_id, value AS patch
    FROM jsonb_array_elements(corrections)
  ), before AS MATERIALIZED (
    SELECT t AS old, jsonb_populate_record(t, patch) AS new FROM wanted JOIN mcp_traces AS t USING (trace_id, span_id)
  ), changed AS (
    UPDATE mcp_traces AS t SET counted_on = (new).counted_on, prompt_tokens = (new).prompt_tokens,
      completion_tokens = (new).completion_tokens, cached_prompt_tokens = (new).cached_prompt_tokens,
      cache_write_tokens = (new).cache_write_tokens, reasoning_tokens = (new).reasoning_tokens,
      cost_usd = (new).cost_usd, cost_source = (new).cost_source,
      offered_tools_tokens = (new).offered_tools_tokens, offered_tools_cost_usd = (new).offered_tools_cost_usd
    FROM before
    WHERE t.trace_id = (old).trace_id AND t.span_id = (old).span_id AND t.start_time = (old).start_time
    RETURNING 1
  ), deltas AS MATERIALIZED (
    SELECT sign, r.trace_id, r.ingest_xid, date_trunc('hour', r.start_time) AS hour, mcp_traces_short(r.service) AS service,
      mcp_traces_short(r.provider) AS provider, mcp_traces_short(r.model) AS model,
      mcp_traces_short(r.operation) AS operation, mcp_traces_short(r.method) AS method,
      mcp_traces_short(r.tool_name) AS tool_name, mcp_traces_short(r.prompt_template_id) AS prompt_template_id,
      coalesce(r.is_shadow, false) AS is_shadow, mcp_traces_short(r.server_name) AS server_name,
      mcp_traces_short(r.client_name) AS client_name, mcp_traces_short(r.user_id) AS user_id, r.session_id, r.span_kind,
      r.model IS NOT NULL AND r.tool_name IS NULL AND r.counted_on IS NULL AS is_model_call,
      r.cost_source IS NOT NULL OR r.prompt_tokens IS NOT NULL AS is_model,
      CASE WHEN r.counted_on <> 'children' THEN NULL ELSE mcp_traces_side(r.method, r.span_kind, r.operation) END AS side,
      r.counted_on <> 'children' IS NOT TRUE
        AND (r.tool_name IS NOT NULL OR r.server_name IS NOT NULL OR r.client_name IS NOT NULL) AS is_mcp,
      (r.status_code = 'error')::integer AS error,
      (mcp_traces_status(r.status_code, r.policy_decision, r.gate_blocked) = 'failed')::integer AS failure,
      (r.gate_blocked IS TRUE)::integer AS blocked, (r.hallucination_risk_level IS NOT DISTINCT FROM 'high')::integer AS high_risk,
      greatest(date_part('epoch', r.end_time - r.start_time) * 1000, 0) AS ms,
      coalesce(CASE WHEN r.prompt_tokens BETWEEN 0 AND 1000000000 THEN r.prompt_tokens END, 0) AS prompt_tokens,
      coalesce(CASE WHEN r.completion_tokens BETWEEN 0 AND 1000000000 THEN r.completion_tokens END, 0) AS completion_tokens,
      coalesce(CASE WHEN r.cached_prompt_tokens BETWEEN 0 AND 1000000000 THEN r.cached_prompt_tokens END, 0) AS cached_prompt_tokens,
      coalesce(CASE WHEN r.cost_usd BETWEEN 0 AND 1e9 THEN r.cost_usd END, 0) AS cost_usd,
      (coalesce(r.cost_usd BETWEEN 0 AND 1e9, false))::integer AS priced,
      (coalesce(r.cost_source = 'unknown' OR r.cost_source LIKE 'unpriced:%', false))::integer AS unpriced,
      left(r.offered_tools_hash, 64) AS offered_tools_hash,
      r.offered_tools_hash IS NOT NULL AND r.counted_on IS NULL
        AND coalesce(r.offered_tools_tokens BETWEEN 0 AND 1000000000, false) AS is_paid,
      r.offered_tools_tokens AS offered, CASE WHEN r.offered_tools_cost_usd BETWEEN 0 AND 1e9 THEN r.offered_tools_cost_usd END AS offered_cost
    FROM before, LATERAL (SELECT -1 AS sign, (old).* UNION ALL SELECT 1, (new).*) AS r
  ), hourly AS (
    UPDATE mcp_traces_hourly AS h SET prompt_tokens = h.prompt_tokens + d.prompt_tokens,
      completion_tokens = h.completion_tokens + d.completion_tokens,
      cached_prompt_tokens = h.cached_prompt_tokens + d.cached_prompt_tokens, cost_usd = h.cost_usd + d.cost_usd,
      unpriced = h.unpriced + d.unpriced
    FROM (
      SELECT hour, service, provider, model, operation, method, tool_name, prompt_template_id, is_shadow, server_name,
        sum(sign * prompt_tokens) AS prompt_tokens, sum(sign * completion_tokens) AS completion_tokens,
        sum(sign * cached_prompt_tokens) AS cached_prompt_tokens, sum(sign * cost_usd) AS cost_usd, sum(sign * unpriced) AS unpriced
      FROM deltas WHERE ingest_xid < rollups_xid
      GROUP BY hour, service, provider, model, operation, method, tool_name, prompt_template_id, is_shadow, server_name
    ) AS d
    WHERE (h.hour, h.service, h.provider, h.model, h.operation, h.method, h.tool_name, h.prompt_template_id, h.is_shadow, h.server_name)
      = (d.hour, d.service, d.provider, d.model, d.operation, d.method, d.tool_name, d.prompt_template_id, d.is_shadow, d.server_name)
  ), tools AS (
    UPDATE mcp_tools_hourly AS h SET spans = h.spans + d.spans, errors = h.errors + d.errors,
      gate_blocked = h.gate_blocked + d.blocked, duration_ms_sum = h.duration_ms_sum + d.ms,
      duration_buckets = mcp_traces_add_buckets(h.duration_buckets, d.buckets)
    FROM (
      SELECT hour, server_name, tool_name, client_name, span_kind, sum(sign) AS spans, sum(sign * error) AS errors,
        sum(sign * blocked) AS blocked, sum(sign * ms) AS ms,
        mcp_traces_sum_buckets(ARRAY(SELECT CASE WHEN i = width_bucket(ms,
          ARRAY[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 30000, 60000, 300000]::double precision[])
          THEN sign ELSE 0 END::bigint FROM generate_series(0, 16) AS i)) AS buckets
      FROM deltas WHERE is_mcp AND ingest_xid < rollups_xid
      GROUP BY hour, server_name, tool_name, client_name, span_kind HAVING sum(sign) <> 0
    ) AS d
    WHERE (h.hour, h.server_name, h.tool_name, h.client_name, h.span_kind)
      = (d.hour, d.server_name, d.tool_name, d.client_name, d.span_kind)
  ), models AS (
    INSERT INTO mcp_models_hourly AS old
    SELECT hour, provider, model, user_id, is_shadow, sum(sign), sum(sign * error), sum(sign * ms),
      coalesce(max(ms) FILTER (WHERE sign > 0), 0), sum(sign * prompt_tokens), sum(sign * completion_tokens),
      sum(sign * cached_prompt_tokens), sum(sign * cost_usd), sum(sign * unpriced), sum(sign * high_risk)
    FROM deltas WHERE is_model_call AND ingest_xid < rollups_xid
    GROUP BY hour, provider, model, user_id, is_shadow
    ORDER BY hour, provider, model, user_id
    ON CONFLICT (hour, provider, model, user_id, is_shadow) DO UPDATE SET calls = old.calls + excluded.calls,
      errors = old.errors + excluded.errors, duration_ms_sum = old.duration_ms_sum + excluded.duration_ms_sum,
      duration_ms_max = greatest(old.duration_ms_max, excluded.duration_ms_max),
      prompt_tokens = old.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = old.completion_tokens + excluded.completion_tokens,
      cached_prompt_tokens = old.cached_prompt_tokens + excluded.cached_prompt_tokens,
      cost_usd = old.cost_usd + excluded.cost_usd, unpriced = old.unpriced + excluded.unpriced,
      high_risk = old.high_risk + excluded.high_risk
  ), sessions AS (
    UPDATE mcp_sessions AS s SET model_calls = s.model_calls + d.model_calls, tool_calls = s.tool_calls + d.tool_calls,
      served_tool_calls = s.served_tool_calls + d.served, prompt_tokens = s.prompt_tokens + d.prompt_tokens,
      completion_tokens = s.completion_tokens + d.completion_tokens, cost_usd = s.cost_usd + d.cost_usd
    FROM (
      SELECT session_id, coalesce(sum(sign) FILTER (WHERE is_model_call), 0) AS model_calls,
        coalesce(sum(sign) FILTER (WHERE is_mcp AND tool_name <> '' AND span_kind <> 'server'), 0) AS tool_calls,
        coalesce(sum(sign) FILTER (WHERE is_mcp AND tool_name <> '' AND span_kind = 'server'), 0) AS served,
        sum(sign * prompt_tokens) AS prompt_tokens, sum(sign * completion_tokens) AS completion_tokens, sum(sign * cost_usd) AS cost_usd
      FROM deltas WHERE session_id IS NOT NULL AND ingest_xid < rollups_xid
      GROUP BY session_id
    ) AS d
    WHERE s.session_id = d.session_id
  ), runs AS (
    UPDATE mcp_runs AS r SET model_calls = r.model_calls + d.model_calls, client_calls = r.client_calls + d.client_calls,
      server_calls = r.server_calls + d.server_calls, other_calls = r.other_calls + d.other_calls,
      client_failures = r.client_failures + d.client_failures, server_failures = r.server_failures + d.server_failures,
      other_failures = r.other_failures + d.other_failures, prompt_tokens = r.prompt_tokens + d.prompt_tokens,
      completion_tokens = r.completion_tokens + d.completion_tokens,
      cached_prompt_tokens = r.cached_prompt_tokens + d.cached_prompt_tokens, cost_usd = r.cost_usd + d.cost_usd,
      priced = r.priced + d.priced, unpriced = r.unpriced + d.unpriced
    FROM (
      SELECT trace_id, coalesce(sum(sign) FILTER (WHERE is_model), 0) AS model_calls,
        coalesce(sum(sign) FILTER (WHERE side = 1), 0) AS client_calls, coalesce(sum(sign) FILTER (WHERE side = 2), 0) AS server_calls,
        coalesce(sum(sign) FILTER (WHERE side = 3), 0) AS other_calls,
        coalesce(sum(sign * failure) FILTER (WHERE side = 1), 0) AS client_failures,
        coalesce(sum(sign * failure) FILTER (WHERE side = 2), 0) AS server_failures,
        coalesce(sum(sign * failure) FILTER (WHERE side = 3), 0) AS other_failures,
        sum(sign * prompt_tokens) AS prompt_tokens, sum(sign * completion_tokens) AS completion_tokens,
        sum(sign * cached_prompt_tokens) AS cached_prompt_tokens, sum(sign * cost_usd) AS cost_usd,
        sum(sign * priced) AS priced, sum(sign * unpriced) AS unpriced
      FROM deltas WHERE ingest_xid < runs_xid
      GROUP BY trace_id
    ) AS d
    WHERE r.trace_id = d.trace_id
  ), tax AS (
    INSERT INTO mcp_tax_hourly AS old
    SELECT hour, provider, model, offered_tools_hash, sum(sign), sum(sign * offered), coalesce(sum(sign * offered_cost), 0),
      coalesce(sum(sign) FILTER (WHERE offered_cost IS NULL), 0), sum(sign * prompt_tokens)
    FROM deltas WHERE is_paid AND ingest_xid < tax_xid
    GROUP BY hour, provider, model, offered_tools_hash
    ORDER BY hour, provider, model, offered_tools_hash
    ON CONFLICT (hour, provider, model, offered_tools_hash) DO UPDATE SET calls = old.calls + excluded.calls,
      tokens = old.tokens + excluded.tokens, cost_usd = old.cost_usd + excluded.cost_usd,
      unpriced = old.unpriced + excluded.unpriced, prompt_tokens = old.prompt_tokens + excluded.prompt_tokens
  )
  SELECT count(*) INTO corrected FROM changed;
  RETURN corrected;
END
$function$;

-- Settles the traces of what was inserted since the last time. Returns the rows corrected, NULL when another process is at
-- it. A row with usage is an aggregate if calls are counted below it and its usage is their sum, or it does not say that it
-- is a model call; one with the response id of a call below it is that call. The innermost go first.
CREATE FUNCTION mcp_traces_settle() RETURNS bigint
LANGUAGE plpgsql SET work_mem = '64MB' SET jit = off AS $function$
DECLARE
  from_xid bigint;
  to_xid bigint;
  found jsonb;
  corrected bigint := 0;
BEGIN
  IF NOT pg_try_advisory_xact_lock(7882267396523914875) THEN
    RETURN NULL;
  END IF;
  SELECT next_xid INTO from_xid FROM mcp_traces_settle_state FOR UPDATE;
  to_xid := txid_snapshot_xmin(txid_current_snapshot());
  IF from_xid = to_xid THEN
    RETURN 0;
  END IF;
  FOR round IN 1..8 LOOP
    WITH RECURSIVE fresh AS MATERIALIZED (
      SELECT trace_id, min(start_time) - interval '1 day' AS since, max(start_time) + interval '1 day' AS until
      FROM mcp_traces
      WHERE ingest_xid >= coalesce(from_xid, 0) AND ingest_xid < to_xid AND counted_on IS NULL
        AND (prompt_tokens IS NOT NULL OR completion_tokens IS NOT NULL)
      GROUP BY trace_id
    ), spent AS MATERIALIZED (
      SELECT * FROM (
        SELECT t.*, count(*) OVER (PARTITION BY t.trace_id) AS calls FROM fresh JOIN mcp_traces AS t USING (trace_id)
        WHERE t.start_time BETWEEN since AND until AND t.counted_on IS NULL
          AND (t.prompt_tokens IS NOT NULL OR t.completion_tokens IS NOT NULL)
      ) AS counted WHERE calls BETWEEN 2 AND 10000
    ), climb (trace_id, call, at, depth) AS (
      SELECT trace_id, span_id, parent_span_id, 1 FROM spent WHERE parent_span_id IS NOT NULL
      UNION ALL
      SELECT climb.trace_id, call, t.parent_span_id, depth + 1 FROM climb JOIN mcp_traces AS t ON t.trace_id = climb.trace_id AND t.span_id = at
      WHERE depth < 32 AND t.parent_span_id IS NOT NULL
    ), below AS (
      SELECT outer_span.trace_id, outer_span.span_id, sum(inner_span.prompt_tokens) AS prompt_tokens,
        coalesce(sum(inner_span.completion_tokens), 0) AS completion_tokens,
        min(inner_span.span_id::text) FILTER (WHERE inner_span.response_id = outer_span.response_id) AS same
      FROM climb
      JOIN spent AS outer_span ON outer_span.trace_id = climb.trace_id AND outer_span.span_id = at
      JOIN spent AS inner_span ON inner_span.trace_id = climb.trace_id AND inner_span.span_id = call
      GROUP BY outer_span.trace_id, outer_span.span_id
    )
    SELECT coalesce(jsonb_agg(jsonb_build_object('trace_id', trace_id, 'span_id', span_id,
        'counted_on', coalesce(right(replace(same, '-', ''), 16), 'children')) || '{"prompt_tokens": null, "completion_tokens": null, "cached_prompt_tokens": null, "cache_write_tokens": null, "reasoning_tokens": null, "cost_usd": null, "cost_source": null, "offered_tools_tokens": null, "offered_tools_cost_usd": null}'::jsonb), '[]')
      INTO found
      FROM below JOIN spent USING (trace_id, span_id)
      WHERE same IS NOT NULL OR NOT mcp_traces_says_call(operation, attributes)
        OR spent.prompt_tokens = below.prompt_tokens AND coalesce(spent.completion_tokens, 0) = below.completion_tokens;
    EXIT WHEN found = '[]';
    corrected := corrected + mcp_traces_correct(found);
  END LOOP;
  -- Two instrumentations that record the same side of a tool call: ours counts, else the one that began first.
  WITH fresh AS MATERIALIZED (
    SELECT trace_id, min(start_time) - interval '1 day' AS since, max(start_time) + interval '1 day' AS until
    FROM mcp_traces
    WHERE ingest_xid >= coalesce(from_xid, 0) AND ingest_xid < to_xid
      AND mcp_traces_side(method, span_kind, operation) IS NOT NULL
    GROUP BY trace_id
  ), sides AS MATERIALIZED (
    SELECT t.trace_id, span_id, parent_span_id, tool_name, scope, start_time, end_time, counted_on,
      mcp_traces_side(method, span_kind, operation) AS side, coalesce(scope LIKE 'mcp-observatory%', false) AS is_ours
    FROM fresh JOIN mcp_traces AS t USING (trace_id)
    WHERE start_time BETWEEN since AND until AND tool_name IS NOT NULL AND mcp_traces_side(method, span_kind, operation) IS NOT NULL
  )
  SELECT coalesce(jsonb_agg(jsonb_build_object('trace_id', trace_id, 'span_id', span_id, 'counted_on', kept)), '[]')
  INTO found FROM (
    SELECT DISTINCT ON (one.trace_id, one.span_id) one.trace_id, one.span_id,
      right(replace(other.span_id::text, '-', ''), 16) AS kept
    FROM sides AS one JOIN sides AS other ON other.trace_id = one.trace_id AND other.span_id <> one.span_id
      AND other.side = one.side AND other.tool_name = one.tool_name AND other.scope IS DISTINCT FROM one.scope
      AND (other.parent_span_id = one.parent_span_id OR other.parent_span_id = one.span_id OR other.span_id = one.parent_span_id)
      AND 2 * (least(other.end_time, one.end_time) - greatest(other.start_time, one.start_time))
        >= least(other.end_time - other.start_time, one.end_time - one.start_time)
    WHERE one.counted_on IS NULL AND other.counted_on IS NULL
      AND (other.is_ours, one.start_time, one.span_id) > (one.is_ours, other.start_time, other.span_id)
    ORDER BY one.trace_id, one.span_id, other.is_ours DESC, other.start_time, other.span_id
  ) AS twins;
  corrected := corrected + mcp_traces_correct(found);
  INSERT INTO mcp_traces_settle_state (next_xid, refreshed_at) VALUES (to_xid, now())
    ON CONFLICT (is_only) DO UPDATE SET next_xid = excluded.next_xid, refreshed_at = excluded.refreshed_at;
  RETURN corrected;
END
$function$;
