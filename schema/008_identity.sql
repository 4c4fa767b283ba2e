-- Who called what, for whom and in which run; an index for each question that is asked often; and roll-ups by server,
-- client, tool, model, user and session.

ALTER TABLE mcp_traces
  ADD COLUMN server_name text,
  ADD COLUMN client_name text,
  ADD COLUMN user_id text,
  ADD COLUMN connection_id text,
  ADD COLUMN run_id text,
  ADD COLUMN counted_on text;
COMMENT ON COLUMN mcp_traces.server_name IS 'MCP server, by the name it gives itself: not verified';
COMMENT ON COLUMN mcp_traces.client_name IS 'MCP client, by the name it gives itself: not verified';
COMMENT ON COLUMN mcp_traces.user_id IS 'User the call was made for, as the application names it';
COMMENT ON COLUMN mcp_traces.connection_id IS 'One connection of an MCP client, or one client of a stateless server; chosen at random';
COMMENT ON COLUMN mcp_traces.run_id IS 'Run of an agent or of the orchestrator that the call belongs to';
COMMENT ON COLUMN mcp_traces.counted_on IS 'Where tokens and cost are counted instead: children, or the id of the span of the same call';
COMMENT ON COLUMN mcp_traces.session_id IS 'MCP session, the session the application governs by, or else the connection';

-- A session, a conversation, a run: few rows each. The same id on many rows takes next to no space.
CREATE INDEX mcp_traces_session_id ON mcp_traces (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX mcp_traces_conversation_id ON mcp_traces (conversation_id) WHERE conversation_id IS NOT NULL;
CREATE INDEX mcp_traces_run_id ON mcp_traces (run_id) WHERE run_id IS NOT NULL;
-- The newest of something: runs, calls of a tool, and what went wrong, which is rare.
CREATE INDEX mcp_traces_roots ON mcp_traces (start_time DESC) WHERE parent_span_id IS NULL;
CREATE INDEX mcp_traces_tool_name_start_time ON mcp_traces (tool_name, start_time DESC) WHERE tool_name IS NOT NULL;
CREATE INDEX mcp_traces_errors ON mcp_traces (start_time DESC) WHERE status_code = 'error';
CREATE INDEX mcp_traces_high_risk ON mcp_traces (start_time DESC) WHERE hallucination_risk_level = 'high';
CREATE INDEX mcp_traces_high_evidence_risk ON mcp_traces (start_time DESC) WHERE evidence_risk_level = 'high';
CREATE INDEX mcp_traces_gate_blocked ON mcp_traces (start_time DESC) WHERE gate_blocked;

CREATE OR REPLACE VIEW mcp_traces_hex AS
SELECT
  replace(trace_id::text, '-', '') AS trace_id,
  right(replace(span_id::text, '-', ''), 16) AS span_id,
  right(replace(parent_span_id::text, '-', ''), 16) AS parent_span_id,
  service,
  model,
  tool_name,
  start_time,
  end_time,
  prompt_tokens,
  completion_tokens,
  cost_usd,
  retries,
  fallback_used,
  confidence,
  risk_tier,
  prompt_template_id,
  prompt_hash,
  normalized_prompt_hash,
  answer_hash,
  grounding_score,
  verifier_score,
  self_consistency_score,
  numeric_variance_score,
  tool_claim_mismatch,
  hallucination_risk_score,
  hallucination_risk_level,
  prompt_size_chars,
  is_shadow,
  replace(shadow_parent_trace_id::text, '-', '') AS shadow_parent_trace_id,
  gate_blocked,
  fallback_type,
  fallback_reason,
  span_name,
  span_kind,
  status_code,
  status_message,
  scope,
  provider,
  operation,
  method,
  session_id,
  conversation_id,
  response_id,
  finish_reason,
  cached_prompt_tokens,
  cache_write_tokens,
  reasoning_tokens,
  tokens_estimated,
  cost_source,
  policy_decision,
  policy_reason,
  policy_hash,
  tool_hash,
  tool_args_hash,
  verifier_reason,
  shadow_disagreement_score,
  shadow_numeric_variance,
  attributes,
  resource,
  events,
  links,
  evidence_risk_score,
  evidence_risk_level,
  evidence_support,
  evidence_findings,
  evidence_sampled,
  server_name,
  client_name,
  user_id,
  connection_id,
  run_id,
  counted_on
FROM mcp_traces;

-- Two servers with a tool of the same name are two lines.
ALTER TABLE mcp_traces_hourly ADD COLUMN server_name text NOT NULL DEFAULT '';
ALTER TABLE mcp_traces_hourly DROP CONSTRAINT mcp_traces_hourly_pkey;
ALTER TABLE mcp_traces_hourly ADD PRIMARY KEY
  (hour, service, provider, model, operation, method, tool_name, prompt_template_id, is_shadow, server_name);

CREATE TABLE mcp_tools_hourly (
  hour timestamptz NOT NULL,
  server_name text NOT NULL,
  tool_name text NOT NULL,
  client_name text NOT NULL,
  span_kind text NOT NULL,
  spans bigint NOT NULL,
  errors bigint NOT NULL,
  gate_blocked bigint NOT NULL,
  duration_ms_sum double precision NOT NULL,
  duration_ms_max double precision NOT NULL,
  duration_buckets bigint[] NOT NULL,
  PRIMARY KEY (hour, server_name, tool_name, client_name, span_kind)
);
COMMENT ON TABLE mcp_tools_hourly IS 'MCP spans and tool calls by server, tool and client, and the hour they started in (UTC); an absent name is an empty text';
COMMENT ON COLUMN mcp_tools_hourly.span_kind IS 'A call that both sides recorded counts once as client and once as server';
COMMENT ON COLUMN mcp_tools_hourly.duration_buckets IS 'As in mcp_traces_hourly';

CREATE TABLE mcp_models_hourly (
  hour timestamptz NOT NULL,
  provider text NOT NULL,
  model text NOT NULL,
  user_id text NOT NULL,
  is_shadow boolean NOT NULL,
  calls bigint NOT NULL,
  errors bigint NOT NULL,
  duration_ms_sum double precision NOT NULL,
  duration_ms_max double precision NOT NULL,
  prompt_tokens bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  cached_prompt_tokens bigint NOT NULL,
  cost_usd double precision NOT NULL,
  unpriced bigint NOT NULL,
  high_risk bigint NOT NULL,
  PRIMARY KEY (hour, provider, model, user_id, is_shadow)
);
COMMENT ON TABLE mcp_models_hourly IS 'Model calls by model and user, and the hour they started in (UTC); an absent name is an empty text';
COMMENT ON COLUMN mcp_models_hourly.unpriced IS 'Calls whose cost is not known; they are not in cost_usd';

CREATE TABLE mcp_sessions (
  session_id text PRIMARY KEY,
  first_time timestamptz NOT NULL,
  last_time timestamptz NOT NULL,
  client_name text,
  user_id text,
  spans bigint NOT NULL,
  errors bigint NOT NULL,
  model_calls bigint NOT NULL,
  tool_calls bigint NOT NULL,
  served_tool_calls bigint NOT NULL,
  prompt_tokens bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  cost_usd double precision NOT NULL,
  high_risk bigint NOT NULL,
  gate_blocked bigint NOT NULL
);
CREATE INDEX mcp_sessions_last_time ON mcp_sessions (last_time DESC);
COMMENT ON TABLE mcp_sessions IS 'Spans of mcp_traces counted by session; db prune removes sessions that ended before its time';
COMMENT ON COLUMN mcp_sessions.served_tool_calls IS 'Tool calls as their servers recorded them; tool_calls are those that callers recorded';

-- A name as a key: never null, and never too long for an index.
CREATE FUNCTION mcp_traces_short(name text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  SELECT CASE WHEN name IS NULL THEN '' WHEN octet_length(name) <= 240 THEN name ELSE left(name, 50) || '~' || md5(name) END
$function$;

-- Counts what was inserted since the last refresh. Returns the spans counted, NULL when another process is at it. Run it
-- as often as the dashboard should be fresh; any number of processes may. Rows of a transaction that is still open are
-- counted once every transaction that began before it has ended. Groups are counted in hash tables: sorting wide rows
-- takes most of a minute for a million; what they hold is inserted in the order of its key.
CREATE OR REPLACE FUNCTION mcp_traces_refresh_rollups() RETURNS bigint
LANGUAGE plpgsql SET timezone = 'UTC' SET work_mem = '64MB' SET enable_sort = off SET jit = off AS $function$
DECLARE
  from_xid bigint;
  to_xid bigint;
  counted bigint;
BEGIN
  IF NOT pg_try_advisory_xact_lock(7882267396523914870) THEN
    RETURN NULL;
  END IF;
  SELECT next_xid INTO from_xid FROM mcp_traces_rollup_state FOR UPDATE;
  to_xid := txid_snapshot_xmin(txid_current_snapshot());
  WITH fresh AS MATERIALIZED (
    SELECT date_trunc('hour', start_time) AS hour, start_time, end_time, mcp_traces_short(service) AS service,
      mcp_traces_short(provider) AS provider, mcp_traces_short(model) AS model, mcp_traces_short(operation) AS operation,
      mcp_traces_short(method) AS method, mcp_traces_short(tool_name) AS tool_name,
      mcp_traces_short(prompt_template_id) AS prompt_template_id, coalesce(is_shadow, false) AS is_shadow,
      mcp_traces_short(server_name) AS server_name, mcp_traces_short(client_name) AS client_name,
      mcp_traces_short(user_id) AS user_id, session_id, span_kind, coalesce(status_code = 'error', false) AS is_error,
      greatest(date_part('epoch', end_time - start_time) * 1000, 0) AS ms,
      width_bucket(greatest(date_part('epoch', end_time - start_time) * 1000, 0),
        ARRAY[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 30000, 60000, 300000]::double precision[]) AS bucket,
      -- What no call can have been is not summed: one absurd row must not make the sums overflow for ever.
      CASE WHEN prompt_tokens BETWEEN 0 AND 1000000000 THEN prompt_tokens END AS prompt_tokens,
      CASE WHEN completion_tokens BETWEEN 0 AND 1000000000 THEN completion_tokens END AS completion_tokens,
      CASE WHEN cached_prompt_tokens BETWEEN 0 AND 1000000000 THEN cached_prompt_tokens END AS cached_prompt_tokens,
      CASE WHEN cost_usd BETWEEN 0 AND 1e9 THEN cost_usd END AS cost_usd, cost_source = 'unknown' AS is_unpriced,
      CASE WHEN hallucination_risk_score BETWEEN 0 AND 1 THEN hallucination_risk_score END AS risk,
      hallucination_risk_level = 'high' AS is_high, gate_blocked AS is_blocked, fallback_used AS fell_back,
      CASE WHEN mcp_traces.retries BETWEEN 0 AND 1000000 THEN mcp_traces.retries END AS tries,
      model IS NOT NULL AND tool_name IS NULL AND counted_on IS NULL AS is_model_call,
      tool_name IS NOT NULL OR server_name IS NOT NULL OR client_name IS NOT NULL AS is_mcp
    FROM mcp_traces
    WHERE ingest_xid >= from_xid AND ingest_xid < to_xid OR from_xid IS NULL AND (ingest_xid IS NULL OR ingest_xid < to_xid)
  ), spans AS (
    INSERT INTO mcp_traces_hourly AS old (hour, service, provider, model, operation, method, tool_name, prompt_template_id,
      is_shadow, spans, errors, duration_ms_sum, duration_ms_max, duration_buckets, prompt_tokens, completion_tokens,
      cached_prompt_tokens, cost_usd, unpriced, scored, risk_sum, high_risk, gate_blocked, fallbacks, retries, server_name)
    SELECT hour, service, provider, model, operation, method, tool_name, prompt_template_id, is_shadow, count(*),
      count(*) FILTER (WHERE is_error), sum(ms), max(ms),
      ARRAY[
        count(*) FILTER (WHERE bucket = 0), count(*) FILTER (WHERE bucket = 1), count(*) FILTER (WHERE bucket = 2),
        count(*) FILTER (WHERE bucket = 3), count(*) FILTER (WHERE bucket = 4), count(*) FILTER (WHERE bucket = 5),
        count(*) FILTER (WHERE bucket = 6), count(*) FILTER (WHERE bucket = 7), count(*) FILTER (WHERE bucket = 8),
        count(*) FILTER (WHERE bucket = 9), count(*) FILTER (WHERE bucket = 10), count(*) FILTER (WHERE bucket = 11),
        count(*) FILTER (WHERE bucket = 12), count(*) FILTER (WHERE bucket = 13), count(*) FILTER (WHERE bucket = 14),
        count(*) FILTER (WHERE bucket = 15), count(*) FILTER (WHERE bucket = 16)
      ],
      coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0), coalesce(sum(cached_prompt_tokens), 0),
      coalesce(sum(cost_usd), 0), count(*) FILTER (WHERE is_unpriced), count(risk), coalesce(sum(risk), 0),
      count(*) FILTER (WHERE is_high), count(*) FILTER (WHERE is_blocked), count(*) FILTER (WHERE fell_back),
      coalesce(sum(tries), 0), server_name
    FROM fresh
    GROUP BY hour, service, provider, model, operation, method, tool_name, prompt_template_id, is_shadow, server_name
    ORDER BY hour, service, provider, model, operation, method, tool_name
    ON CONFLICT (hour, service, provider, model, operation, method, tool_name, prompt_template_id, is_shadow, server_name)
    DO UPDATE SET
      spans = old.spans + excluded.spans,
      errors = old.errors + excluded.errors,
      duration_ms_sum = old.duration_ms_sum + excluded.duration_ms_sum,
      duration_ms_max = greatest(old.duration_ms_max, excluded.duration_ms_max),
      duration_buckets = mcp_traces_add_buckets(old.duration_buckets, excluded.duration_buckets),
      prompt_tokens = old.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = old.completion_tokens + excluded.completion_tokens,
      cached_prompt_tokens = old.cached_prompt_tokens + excluded.cached_prompt_tokens,
      cost_usd = old.cost_usd + excluded.cost_usd,
      unpriced = old.unpriced + excluded.unpriced,
      scored = old.scored + excluded.scored,
      risk_sum = old.risk_sum + excluded.risk_sum,
      high_risk = old.high_risk + excluded.high_risk,
      gate_blocked = old.gate_blocked + excluded.gate_blocked,
      fallbacks = old.fallbacks + excluded.fallbacks,
      retries = old.retries + excluded.retries
  ), tools AS (
    INSERT INTO mcp_tools_hourly AS old
    SELECT hour, server_name, tool_name, client_name, span_kind, count(*), count(*) FILTER (WHERE is_error),
      count(*) FILTER (WHERE is_blocked), sum(ms), max(ms),
      ARRAY[
        count(*) FILTER (WHERE bucket = 0), count(*) FILTER (WHERE bucket = 1), count(*) FILTER (WHERE bucket = 2),
        count(*) FILTER (WHERE bucket = 3), count(*) FILTER (WHERE bucket = 4), count(*) FILTER (WHERE bucket = 5),
        count(*) FILTER (WHERE bucket = 6), count(*) FILTER (WHERE bucket = 7), count(*) FILTER (WHERE bucket = 8),
        count(*) FILTER (WHERE bucket = 9), count(*) FILTER (WHERE bucket = 10), count(*) FILTER (WHERE bucket = 11),
        count(*) FILTER (WHERE bucket = 12), count(*) FILTER (WHERE bucket = 13), count(*) FILTER (WHERE bucket = 14),
        count(*) FILTER (WHERE bucket = 15), count(*) FILTER (WHERE bucket = 16)
      ]
    FROM fresh WHERE is_mcp
    GROUP BY hour, server_name, tool_name, client_name, span_kind
    ORDER BY hour, server_name, tool_name, client_name
    ON CONFLICT (hour, server_name, tool_name, client_name, span_kind) DO UPDATE SET
      spans = old.spans + excluded.spans,
      errors = old.errors + excluded.errors,
      gate_blocked = old.gate_blocked + excluded.gate_blocked,
      duration_ms_sum = old.duration_ms_sum + excluded.duration_ms_sum,
      duration_ms_max = greatest(old.duration_ms_max, excluded.duration_ms_max),
      duration_buckets = mcp_traces_add_buckets(old.duration_buckets, excluded.duration_buckets)
  ), models AS (
    INSERT INTO mcp_models_hourly AS old
    SELECT hour, provider, model, user_id, is_shadow, count(*), count(*) FILTER (WHERE is_error), sum(ms), max(ms),
      coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0), coalesce(sum(cached_prompt_tokens), 0),
      coalesce(sum(cost_usd), 0), count(*) FILTER (WHERE is_unpriced), count(*) FILTER (WHERE is_high)
    FROM fresh WHERE is_model_call
    GROUP BY hour, provider, model, user_id, is_shadow
    ORDER BY hour, provider, model, user_id
    ON CONFLICT (hour, provider, model, user_id, is_shadow) DO UPDATE SET
      calls = old.calls + excluded.calls,
      errors = old.errors + excluded.errors,
      duration_ms_sum = old.duration_ms_sum + excluded.duration_ms_sum,
      duration_ms_max = greatest(old.duration_ms_max, excluded.duration_ms_max),
      prompt_tokens = old.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = old.completion_tokens + excluded.completion_tokens,
      cached_prompt_tokens = old.cached_prompt_tokens + excluded.cached_prompt_tokens,
      cost_usd = old.cost_usd + excluded.cost_usd,
      unpriced = old.unpriced + excluded.unpriced,
      high_risk = old.high_risk + excluded.high_risk
  ), sessions AS (
    INSERT INTO mcp_sessions AS old
    SELECT session_id, min(start_time), max(end_time), max(nullif(client_name, '')), max(nullif(user_id, '')), count(*),
      count(*) FILTER (WHERE is_error), count(*) FILTER (WHERE is_model_call),
      count(*) FILTER (WHERE tool_name <> '' AND span_kind <> 'server'),
      count(*) FILTER (WHERE tool_name <> '' AND span_kind = 'server'),
      coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0), coalesce(sum(cost_usd), 0),
      count(*) FILTER (WHERE is_high), count(*) FILTER (WHERE is_blocked)
    FROM fresh WHERE session_id IS NOT NULL
    GROUP BY session_id
    ORDER BY session_id
    ON CONFLICT (session_id) DO UPDATE SET
      first_time = least(old.first_time, excluded.first_time),
      last_time = greatest(old.last_time, excluded.last_time),
      client_name = coalesce(old.client_name, excluded.client_name),
      user_id = coalesce(old.user_id, excluded.user_id),
      spans = old.spans + excluded.spans,
      errors = old.errors + excluded.errors,
      model_calls = old.model_calls + excluded.model_calls,
      tool_calls = old.tool_calls + excluded.tool_calls,
      served_tool_calls = old.served_tool_calls + excluded.served_tool_calls,
      prompt_tokens = old.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = old.completion_tokens + excluded.completion_tokens,
      cost_usd = old.cost_usd + excluded.cost_usd,
      high_risk = old.high_risk + excluded.high_risk,
      gate_blocked = old.gate_blocked + excluded.gate_blocked
  )
  SELECT count(*) INTO counted FROM fresh;
  INSERT INTO mcp_traces_rollup_state (next_xid, refreshed_at) VALUES (to_xid, now())
    ON CONFLICT (is_only) DO UPDATE SET next_xid = excluded.next_xid, refreshed_at = excluded.refreshed_at;
  RETURN counted;
END
$function$;

CREATE OR REPLACE VIEW mcp_traces_daily AS
SELECT date_trunc('day', hour AT TIME ZONE 'UTC')::date AS day, service, provider, model, operation, method, tool_name,
  prompt_template_id, is_shadow, sum(spans)::bigint AS spans, sum(errors)::bigint AS errors,
  sum(duration_ms_sum) / sum(spans) AS duration_ms_mean, max(duration_ms_max) AS duration_ms_max,
  mcp_traces_percentile(mcp_traces_sum_buckets(duration_buckets), 0.5) AS duration_ms_p50,
  mcp_traces_percentile(mcp_traces_sum_buckets(duration_buckets), 0.95) AS duration_ms_p95,
  sum(prompt_tokens)::bigint AS prompt_tokens, sum(completion_tokens)::bigint AS completion_tokens,
  sum(cached_prompt_tokens)::bigint AS cached_prompt_tokens, sum(cost_usd) AS cost_usd, sum(unpriced)::bigint AS unpriced,
  sum(risk_sum) / nullif(sum(scored), 0) AS risk_mean, sum(high_risk)::bigint AS high_risk,
  sum(gate_blocked)::bigint AS gate_blocked, sum(fallbacks)::bigint AS fallbacks, sum(retries)::bigint AS retries,
  server_name
FROM mcp_traces_hourly
GROUP BY day, service, provider, model, operation, method, tool_name, prompt_template_id, is_shadow, server_name;
