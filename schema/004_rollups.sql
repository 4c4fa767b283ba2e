-- Hourly roll-ups of mcp_traces for dashboards: small, and kept when the spans they count are pruned.
--
-- Each row carries the id of the transaction that inserted it. A refresh counts exactly the rows of transactions that
-- ended since the last one, however late their spans came, and adds them up; it never reads an hour again.

-- Two servers with a tool of the same name are two lines.
CREATE TABLE mcp_traces_hourly (
  hour timestamptz NOT NULL,
  service text NOT NULL,
  provider text NOT NULL,
  model text NOT NULL,
  operation text NOT NULL,
  method text NOT NULL,
  tool_name text NOT NULL,
  prompt_template_id text NOT NULL,
  is_shadow boolean NOT NULL,
  spans bigint NOT NULL,
  errors bigint NOT NULL,
  duration_ms_sum double precision NOT NULL,
  duration_ms_max double precision NOT NULL,
  duration_buckets bigint[] NOT NULL,
  prompt_tokens bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  cached_prompt_tokens bigint NOT NULL,
  cost_usd double precision NOT NULL,
  unpriced bigint NOT NULL,
  scored bigint NOT NULL,
  risk_sum double precision NOT NULL,
  high_risk bigint NOT NULL,
  gate_blocked bigint NOT NULL,
  fallbacks bigint NOT NULL,
  retries bigint NOT NULL,
  server_name text NOT NULL DEFAULT '',
  PRIMARY KEY (hour, service, provider, model, operation, method, tool_name, prompt_template_id, is_shadow, server_name)
);
COMMENT ON TABLE mcp_traces_hourly IS 'Spans of mcp_traces counted by the hour they started in (UTC); an absent name is an empty text';
COMMENT ON COLUMN mcp_traces_hourly.duration_buckets IS 'Spans by duration: below 1, 2, 5, 10, 20, 50, 100, 200, 500 ms, 1, 2, 5, 10, 30, 60, 300 s, and longer';
COMMENT ON COLUMN mcp_traces_hourly.unpriced IS 'Model calls whose cost is not known; they are not in cost_usd';
COMMENT ON COLUMN mcp_traces_hourly.scored IS 'Spans with a hallucination risk; risk_sum divided by it is their mean';

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

CREATE TABLE mcp_traces_rollup_state (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  next_xid bigint NOT NULL,
  refreshed_at timestamptz NOT NULL
);
COMMENT ON TABLE mcp_traces_rollup_state IS 'Rows of transactions before next_xid are counted in mcp_traces_hourly';

-- A name as a key: never null, and never too long for an index.
CREATE FUNCTION mcp_traces_short(name text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  SELECT CASE WHEN name IS NULL THEN '' WHEN octet_length(name) <= 240 THEN name ELSE left(name, 50) || '~' || md5(name) END
$function$;

CREATE FUNCTION mcp_traces_add_buckets(a bigint[], b bigint[]) RETURNS bigint[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  SELECT CASE WHEN a IS NULL THEN b WHEN b IS NULL THEN a ELSE
    (SELECT array_agg(coalesce(x, 0) + coalesce(y, 0) ORDER BY i) FROM unnest(a, b) WITH ORDINALITY AS u (x, y, i)) END
$function$;

CREATE AGGREGATE mcp_traces_sum_buckets(bigint[]) (SFUNC = mcp_traces_add_buckets, STYPE = bigint[], PARALLEL = SAFE, COMBINEFUNC = mcp_traces_add_buckets);

-- The duration, in milliseconds, that this fraction of the spans does not exceed, interpolated inside its bucket; the
-- lower bound of the last bucket, which has no end. NULL where there are no spans.
CREATE FUNCTION mcp_traces_percentile(buckets bigint[], fraction double precision) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  WITH bounds AS (
    SELECT i, n, sum(n) OVER (ORDER BY i) AS upto, sum(n) OVER () * fraction AS wanted,
      (ARRAY[0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 30000, 60000, 300000])[i] AS low,
      (ARRAY[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 30000, 60000, 300000, 300000])[i] AS high
    FROM unnest(buckets) WITH ORDINALITY AS u (n, i)
  )
  SELECT low + (high - low) * ((wanted - (upto - n)) / n)::double precision
  FROM bounds WHERE n > 0 AND upto >= wanted ORDER BY i LIMIT 1
$function$;

-- Counts what was inserted since the last refresh. Returns the spans counted, NULL when another process is at it. Run it
-- as often as the dashboard should be fresh; any number of processes may. Rows of a transaction that is still open are
-- counted once every transaction that began before it has ended. Groups are counted in hash tables: sorting wide rows
-- takes most of a minute for a million; what they hold is inserted in the order of its key.
CREATE FUNCTION mcp_traces_refresh_rollups() RETURNS bigint
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
          WHERE ingest_xid >= coalesce(from_xid, 0) AND ingest_xid < to_xid
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

CREATE VIEW mcp_traces_daily AS
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
COMMENT ON VIEW mcp_traces_daily IS 'mcp_traces_hourly by the day (UTC), with the median and the 95th percentile of the duration';
