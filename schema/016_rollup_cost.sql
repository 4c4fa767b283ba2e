-- The roll-ups of many spans take a sixth less CPU time: what several sums need is computed once for each row (OFFSET 0
-- keeps the planner from copying it into each), groups are counted in hash tables before what they hold is sorted, and
-- spans are not sorted for the name of a run. The figures are those of before.

-- The definitions of tools that policy gates saw, so that those which changed are not looked for in all spans.
CREATE TABLE mcp_definitions_hourly (
  hour timestamptz NOT NULL,
  server_name text NOT NULL,
  tool_name text NOT NULL,
  tool_hash text NOT NULL,
  first_time timestamptz NOT NULL,
  last_time timestamptz NOT NULL,
  calls bigint NOT NULL,
  PRIMARY KEY (hour, server_name, tool_name, tool_hash)
);
COMMENT ON TABLE mcp_definitions_hourly IS 'Calls that a policy gate decided by tool and hash of its definition, and the hour they started in (UTC); an absent name is an empty text';

-- What gates said of tools that they do not offer: such a span has a definition and is no call.
CREATE INDEX mcp_traces_barred ON mcp_traces (start_time) WHERE tool_hash IS NOT NULL AND tool_name IS NULL;

-- The spans counted before; a refresh that runs meanwhile would count others.
DO $counted$ BEGIN
  PERFORM pg_advisory_xact_lock(7882267396523914870);
END $counted$;
INSERT INTO mcp_definitions_hourly
SELECT date_trunc('hour', start_time, 'UTC'), mcp_traces_short(server_name), mcp_traces_short(tool_name),
  mcp_traces_short(tool_hash), min(start_time), max(start_time), count(*)
FROM mcp_traces, mcp_traces_rollup_state
WHERE tool_hash IS NOT NULL AND (ingest_xid IS NULL OR ingest_xid < next_xid)
GROUP BY 1, 2, 3, 4;

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
    -- Names are shortened once for a group.
    SELECT to_timestamp(hour_number * 3600) AS hour, mcp_traces_short(service) AS service, mcp_traces_short(provider) AS provider,
      mcp_traces_short(model) AS model, mcp_traces_short(operation) AS operation, mcp_traces_short(method) AS method,
      mcp_traces_short(tool_name) AS tool_name, mcp_traces_short(prompt_template_id) AS prompt_template_id,
      coalesce(is_shadow, false) AS is_shadow, mcp_traces_short(server_name) AS server_name,
      mcp_traces_short(client_name) AS client_name, mcp_traces_short(user_id) AS user_id, session_id, span_kind, tool_hash,
      bucket,
      spans, errors, first_time, last_start, last_time, ms_sum, ms_max, prompt_tokens, completion_tokens, cached_prompt_tokens, cost_usd,
      unpriced, scored, risk_sum, high_risk, blocked, fallbacks, tries,
      model IS NOT NULL AND tool_name IS NULL AND is_counted AS is_model_call,
      tool_name IS NOT NULL OR server_name IS NOT NULL OR client_name IS NOT NULL AS is_mcp
    FROM (
      SELECT hour_number, service, provider, model, operation, method, tool_name, prompt_template_id, is_shadow, server_name,
        client_name, user_id, session_id, span_kind, tool_hash, is_counted, bucket, count(*)::integer AS spans,
        (count(*) FILTER (WHERE status_code = 'error'))::integer AS errors,
        min(start_time) AS first_time, max(start_time) AS last_start, max(end_time) AS last_time, sum(ms) AS ms_sum, max(ms) AS ms_max,
        -- What no call can have been is not summed: one absurd row must not make the sums overflow for ever.
        sum(prompt_tokens) FILTER (WHERE prompt_tokens BETWEEN 0 AND 1000000000) AS prompt_tokens,
        sum(completion_tokens) FILTER (WHERE completion_tokens BETWEEN 0 AND 1000000000) AS completion_tokens,
        sum(cached_prompt_tokens) FILTER (WHERE cached_prompt_tokens BETWEEN 0 AND 1000000000) AS cached_prompt_tokens,
        sum(cost_usd) FILTER (WHERE cost_usd BETWEEN 0 AND 1e9) AS cost_usd,
        (count(*) FILTER (WHERE cost_source = 'unknown'))::integer AS unpriced,
        (count(*) FILTER (WHERE hallucination_risk_score BETWEEN 0 AND 1))::integer AS scored,
        sum(hallucination_risk_score) FILTER (WHERE hallucination_risk_score BETWEEN 0 AND 1) AS risk_sum,
        (count(*) FILTER (WHERE hallucination_risk_level = 'high'))::integer AS high_risk,
        (count(*) FILTER (WHERE gate_blocked))::integer AS blocked, (count(*) FILTER (WHERE fallback_used))::integer AS fallbacks,
        sum(tries) FILTER (WHERE tries BETWEEN 0 AND 1000000) AS tries
      FROM (
        SELECT *, width_bucket(ms,
          ARRAY[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 30000, 60000, 300000]::double precision[]) AS bucket
        FROM (
          SELECT *, floor(date_part('epoch', start_time) / 3600) AS hour_number, counted_on IS NULL AS is_counted,
            retries AS tries, greatest(date_part('epoch', end_time - start_time) * 1000, 0) AS ms
          FROM mcp_traces
          WHERE ingest_xid >= from_xid AND ingest_xid < to_xid OR from_xid IS NULL AND (ingest_xid IS NULL OR ingest_xid < to_xid)
          OFFSET 0
        ) AS inserted
      ) AS classed
      GROUP BY hour_number, service, provider, model, operation, method, tool_name, prompt_template_id, is_shadow,
        server_name, client_name, user_id, session_id, span_kind, tool_hash, is_counted, bucket
    ) AS groups
  ), spans AS (
    INSERT INTO mcp_traces_hourly AS old (hour, service, provider, model, operation, method, tool_name, prompt_template_id,
      is_shadow, spans, errors, duration_ms_sum, duration_ms_max, duration_buckets, prompt_tokens, completion_tokens,
      cached_prompt_tokens, cost_usd, unpriced, scored, risk_sum, high_risk, gate_blocked, fallbacks, retries, server_name)
    SELECT * FROM (
      SELECT hour, service, provider, model, operation, method, tool_name, prompt_template_id, is_shadow, sum(spans),
        sum(errors), sum(ms_sum), max(ms_max),
        ARRAY[
          coalesce(sum(spans) FILTER (WHERE bucket = 0), 0), coalesce(sum(spans) FILTER (WHERE bucket = 1), 0),
          coalesce(sum(spans) FILTER (WHERE bucket = 2), 0), coalesce(sum(spans) FILTER (WHERE bucket = 3), 0),
          coalesce(sum(spans) FILTER (WHERE bucket = 4), 0), coalesce(sum(spans) FILTER (WHERE bucket = 5), 0),
          coalesce(sum(spans) FILTER (WHERE bucket = 6), 0), coalesce(sum(spans) FILTER (WHERE bucket = 7), 0),
          coalesce(sum(spans) FILTER (WHERE bucket = 8), 0), coalesce(sum(spans) FILTER (WHERE bucket = 9), 0),
          coalesce(sum(spans) FILTER (WHERE bucket = 10), 0), coalesce(sum(spans) FILTER (WHERE bucket = 11), 0),
          coalesce(sum(spans) FILTER (WHERE bucket = 12), 0), coalesce(sum(spans) FILTER (WHERE bucket = 13), 0),
          coalesce(sum(spans) FILTER (WHERE bucket = 14), 0), coalesce(sum(spans) FILTER (WHERE bucket = 15), 0),
          coalesce(sum(spans) FILTER (WHERE bucket = 16), 0)
        ],
        coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0), coalesce(sum(cached_prompt_tokens), 0),
        coalesce(sum(cost_usd), 0), sum(unpriced), sum(scored), coalesce(sum(risk_sum), 0), sum(high_risk), sum(blocked),
        sum(fallbacks), coalesce(sum(tries), 0), server_name
      FROM fresh
      GROUP BY hour, service, provider, model, operation, method, tool_name, prompt_template_id, is_shadow, server_name
    ) AS summed
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
    SELECT * FROM (
      SELECT hour, server_name, tool_name, client_name, span_kind, sum(spans), sum(errors), sum(blocked), sum(ms_sum),
        max(ms_max),
        ARRAY[
          coalesce(sum(spans) FILTER (WHERE bucket = 0), 0), coalesce(sum(spans) FILTER (WHERE bucket = 1), 0),
          coalesce(sum(spans) FILTER (WHERE bucket = 2), 0), coalesce(sum(spans) FILTER (WHERE bucket = 3), 0),
          coalesce(sum(spans) FILTER (WHERE bucket = 4), 0), coalesce(sum(spans) FILTER (WHERE bucket = 5), 0),
          coalesce(sum(spans) FILTER (WHERE bucket = 6), 0), coalesce(sum(spans) FILTER (WHERE bucket = 7), 0),
          coalesce(sum(spans) FILTER (WHERE bucket = 8), 0), coalesce(sum(spans) FILTER (WHERE bucket = 9), 0),
          coalesce(sum(spans) FILTER (WHERE bucket = 10), 0), coalesce(sum(spans) FILTER (WHERE bucket = 11), 0),
          coalesce(sum(spans) FILTER (WHERE bucket = 12), 0), coalesce(sum(spans) FILTER (WHERE bucket = 13), 0),
          coalesce(sum(spans) FILTER (WHERE bucket = 14), 0), coalesce(sum(spans) FILTER (WHERE bucket = 15), 0),
          coalesce(sum(spans) FILTER (WHERE bucket = 16), 0)
        ]
      FROM fresh WHERE is_mcp
      GROUP BY hour, server_name, tool_name, client_name, span_kind
    ) AS summed
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
    SELECT * FROM (
      SELECT hour, provider, model, user_id, is_shadow, sum(spans), sum(errors), sum(ms_sum), max(ms_max),
        coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0), coalesce(sum(cached_prompt_tokens), 0),
        coalesce(sum(cost_usd), 0), sum(unpriced), sum(high_risk)
      FROM fresh WHERE is_model_call
      GROUP BY hour, provider, model, user_id, is_shadow
    ) AS summed
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
  ), definitions AS (
    INSERT INTO mcp_definitions_hourly AS old
    SELECT hour, server_name, tool_name, mcp_traces_short(tool_hash) AS hash, min(first_time), max(last_start), sum(spans)
    FROM fresh WHERE tool_hash IS NOT NULL
    GROUP BY hour, server_name, tool_name, hash
    ORDER BY hour, server_name, tool_name, hash
    ON CONFLICT (hour, server_name, tool_name, tool_hash) DO UPDATE SET
      first_time = least(old.first_time, excluded.first_time),
      last_time = greatest(old.last_time, excluded.last_time),
      calls = old.calls + excluded.calls
  ), sessions AS (
    INSERT INTO mcp_sessions AS old
    SELECT session_id, min(first_time), max(last_time), max(nullif(client_name, '')), max(nullif(user_id, '')), sum(spans),
      sum(errors), coalesce(sum(spans) FILTER (WHERE is_model_call), 0),
      coalesce(sum(spans) FILTER (WHERE tool_name <> '' AND span_kind <> 'server'), 0),
      coalesce(sum(spans) FILTER (WHERE tool_name <> '' AND span_kind = 'server'), 0),
      coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0), coalesce(sum(cost_usd), 0), sum(high_risk),
      sum(blocked)
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
  SELECT coalesce(sum(spans), 0) INTO counted FROM fresh;
  INSERT INTO mcp_traces_rollup_state (next_xid, refreshed_at) VALUES (to_xid, now())
    ON CONFLICT (is_only) DO UPDATE SET next_xid = excluded.next_xid, refreshed_at = excluded.refreshed_at;
  RETURN counted;
END
$function$;

-- Adds what was inserted since the last refresh. Returns the spans added, NULL when another process is at it. Of a call that
-- several sides recorded it counts the spans of each side apart, since its spans come in any order; the page pairs the
-- spans of one run by their parents (factsOf), which can tell more calls apart, and a refused call from a failed one.
CREATE OR REPLACE FUNCTION mcp_runs_refresh() RETURNS bigint
LANGUAGE plpgsql SET work_mem = '64MB' SET jit = off AS $function$
DECLARE
  from_xid bigint;
  to_xid bigint;
  counted bigint;
BEGIN
  IF NOT pg_try_advisory_xact_lock(7882267396523914871) THEN
    RETURN NULL;
  END IF;
  SELECT next_xid INTO from_xid FROM mcp_runs_state FOR UPDATE;
  to_xid := txid_snapshot_xmin(txid_current_snapshot());
  IF from_xid = to_xid THEN
    RETURN 0;
  END IF;
  WITH fresh AS (
    SELECT trace_id, start_time, end_time, parent_span_id IS NULL AS is_root, span_name, service, client_name, user_id,
      session_id, conversation_id, left(model, 200) AS model, left(tool_name, 200) AS tool_name,
      left(server_name, 200) AS server_name, status_code = 'error' AS is_error,
      -- 1: a client's span of a call, 2: a server's, 3: another one.
      CASE WHEN method = 'tools/call' AND span_kind = 'client' THEN 1
        WHEN method = 'tools/call' AND span_kind = 'server' THEN 2
        WHEN operation = 'execute_tool' THEN 3 END AS call,
      cost_source IS NOT NULL OR prompt_tokens IS NOT NULL AS is_model,
      policy_decision = 'deny' OR coalesce(gate_blocked, false) AND policy_decision IS NULL AS is_denied,
      policy_decision = 'require_approval' AS is_held,
      CASE WHEN prompt_tokens BETWEEN 0 AND 1000000000 THEN prompt_tokens END AS prompt_tokens,
      CASE WHEN completion_tokens BETWEEN 0 AND 1000000000 THEN completion_tokens END AS completion_tokens,
      CASE WHEN cached_prompt_tokens BETWEEN 0 AND 1000000000 THEN cached_prompt_tokens END AS cached_prompt_tokens,
      CASE WHEN cost_usd BETWEEN 0 AND 1e9 THEN cost_usd END AS cost_usd, cost_source = 'unknown' AS is_unpriced,
      CASE coalesce(evidence_risk_level, hallucination_risk_level)
        WHEN 'high' THEN 3 WHEN 'medium' THEN 2 WHEN 'low' THEN 1 ELSE 0 END AS risk,
      coalesce(evidence_findings LIKE '%"kind":"unsupported%', false) AS is_unsupported,
      coalesce(tool_claim_mismatch, false)
        OR coalesce(replace(evidence_findings, '"kind":"unsupported', '') LIKE '%"kind":"%', false) AS is_contradicted,
      coalesce(is_shadow, false) AS is_shadow
    FROM mcp_traces
    WHERE ingest_xid >= from_xid AND ingest_xid < to_xid OR from_xid IS NULL AND (ingest_xid IS NULL OR ingest_xid < to_xid)
    OFFSET 0
  ), summed AS (
    SELECT trace_id, min(start_time) AS started_at, max(end_time) AS ended_at, bool_or(is_root) AS has_root,
      min(start_time) FILTER (WHERE is_root) AS root_at, count(*) FILTER (WHERE is_root) AS roots,
      min(left(span_name, 300)) FILTER (WHERE is_root) AS name,
      left(coalesce(max(service) FILTER (WHERE is_root), min(service)), 200) AS service,
      left(min(client_name), 200) AS client_name, left(min(user_id), 200) AS user_id,
      left(min(session_id), 300) AS session_id, left(min(conversation_id), 300) AS conversation_id,
      coalesce((array_agg(DISTINCT model) FILTER (WHERE model IS NOT NULL))[1:50], '{}') AS models,
      coalesce((array_agg(DISTINCT tool_name) FILTER (WHERE tool_name IS NOT NULL AND call IS NOT NULL))[1:50], '{}') AS tools,
      coalesce((array_agg(DISTINCT server_name) FILTER (WHERE server_name IS NOT NULL))[1:50], '{}') AS servers,
      coalesce((array_agg(DISTINCT tool_name) FILTER (WHERE tool_name IS NOT NULL AND call IS NOT NULL AND is_error))[1:50], '{}')
        AS failed_tools,
      count(*) AS spans, count(*) FILTER (WHERE is_error) AS errors, count(*) FILTER (WHERE is_model) AS model_calls,
      count(*) FILTER (WHERE call = 1) AS client_calls, count(*) FILTER (WHERE call = 2) AS server_calls,
      count(*) FILTER (WHERE call = 3) AS other_calls,
      count(*) FILTER (WHERE is_error AND call = 1) AS client_failures,
      count(*) FILTER (WHERE is_error AND call = 2) AS server_failures,
      count(*) FILTER (WHERE is_error AND call = 3) AS other_failures,
      count(*) FILTER (WHERE is_denied) AS denied, count(*) FILTER (WHERE is_held) AS held,
      coalesce(sum(prompt_tokens), 0) AS prompt_tokens, coalesce(sum(completion_tokens), 0) AS completion_tokens,
      coalesce(sum(cached_prompt_tokens), 0) AS cached_prompt_tokens, coalesce(sum(cost_usd), 0) AS cost_usd,
      count(cost_usd) AS priced, count(*) FILTER (WHERE is_unpriced) AS unpriced, max(risk) AS risk,
      bool_or(is_contradicted) AS contradicted, bool_or(is_unsupported) AS unsupported, bool_or(is_shadow) AS is_shadow
    FROM fresh
    GROUP BY trace_id
  ), merged AS (
    INSERT INTO mcp_runs AS old
    SELECT trace_id, started_at, ended_at, has_root, coalesce(root_at, started_at),
      -- Looked up where there is more than one root, or none yet: sorting the spans of each run by time takes longer.
      coalesce(
        CASE WHEN roots = 1 THEN name
          WHEN roots > 1 THEN (SELECT left(span_name, 300) FROM mcp_traces AS root
            WHERE root.trace_id = summed.trace_id AND root.start_time = summed.root_at AND root.parent_span_id IS NULL LIMIT 1)
        END,
        (SELECT left(span_name, 300) FROM mcp_traces AS earliest
          WHERE earliest.trace_id = summed.trace_id AND earliest.start_time = summed.started_at LIMIT 1), ''),
      service, client_name, user_id, session_id, conversation_id, models, tools, servers, failed_tools, spans, errors,
      model_calls, client_calls, server_calls, other_calls, client_failures, server_failures, other_failures, denied, held,
      prompt_tokens, completion_tokens, cached_prompt_tokens, cost_usd, priced, unpriced, risk, contradicted, unsupported,
      is_shadow
    FROM summed
    ON CONFLICT (trace_id) DO UPDATE SET
      started_at = least(old.started_at, excluded.started_at),
      ended_at = greatest(old.ended_at, excluded.ended_at),
      has_root = old.has_root OR excluded.has_root,
      root_at = CASE WHEN mcp_runs_is_named_by(old, excluded) THEN excluded.root_at ELSE old.root_at END,
      name = CASE WHEN mcp_runs_is_named_by(old, excluded) THEN excluded.name ELSE old.name END,
      service = CASE WHEN mcp_runs_is_named_by(old, excluded) THEN coalesce(excluded.service, old.service)
        ELSE coalesce(old.service, excluded.service) END,
      client_name = coalesce(old.client_name, excluded.client_name),
      user_id = coalesce(old.user_id, excluded.user_id),
      session_id = coalesce(old.session_id, excluded.session_id),
      conversation_id = coalesce(old.conversation_id, excluded.conversation_id),
      models = mcp_runs_names(old.models, excluded.models),
      tools = mcp_runs_names(old.tools, excluded.tools),
      servers = mcp_runs_names(old.servers, excluded.servers),
      failed_tools = mcp_runs_names(old.failed_tools, excluded.failed_tools),
      spans = old.spans + excluded.spans,
      errors = old.errors + excluded.errors,
      model_calls = old.model_calls + excluded.model_calls,
      client_calls = old.client_calls + excluded.client_calls,
      server_calls = old.server_calls + excluded.server_calls,
      other_calls = old.other_calls + excluded.other_calls,
      client_failures = old.client_failures + excluded.client_failures,
      server_failures = old.server_failures + excluded.server_failures,
      other_failures = old.other_failures + excluded.other_failures,
      denied = old.denied + excluded.denied,
      held = old.held + excluded.held,
      prompt_tokens = old.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = old.completion_tokens + excluded.completion_tokens,
      cached_prompt_tokens = old.cached_prompt_tokens + excluded.cached_prompt_tokens,
      cost_usd = old.cost_usd + excluded.cost_usd,
      priced = old.priced + excluded.priced,
      unpriced = old.unpriced + excluded.unpriced,
      risk = greatest(old.risk, excluded.risk),
      contradicted = old.contradicted OR excluded.contradicted,
      unsupported = old.unsupported OR excluded.unsupported,
      is_shadow = old.is_shadow OR excluded.is_shadow
    RETURNING 1
  )
  SELECT coalesce(sum(spans), 0) INTO counted FROM summed;
  INSERT INTO mcp_runs_state (next_xid, refreshed_at) VALUES (to_xid, now())
    ON CONFLICT (is_only) DO UPDATE SET next_xid = excluded.next_xid, refreshed_at = excluded.refreshed_at;
  RETURN counted;
END
$function$;
