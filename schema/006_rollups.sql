-- Hourly roll-ups of mcp_traces for dashboards: small, and kept when the spans they count are pruned.
--
-- Each row carries the id of the transaction that inserted it. A refresh counts exactly the rows of transactions that
-- ended since the last one, however late their spans came, and adds them up; it never reads an hour again.

ALTER TABLE mcp_traces ADD COLUMN ingest_xid bigint;
ALTER TABLE mcp_traces ALTER COLUMN ingest_xid SET DEFAULT txid_current();
COMMENT ON COLUMN mcp_traces.ingest_xid IS 'Transaction that inserted the row; what roll-ups have counted is known by it';
CREATE INDEX mcp_traces_ingest_xid ON mcp_traces USING brin (ingest_xid) WITH (pages_per_range = 32, autosummarize = on);

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
  PRIMARY KEY (hour, service, provider, model, operation, method, tool_name, prompt_template_id, is_shadow)
);
COMMENT ON TABLE mcp_traces_hourly IS 'Spans of mcp_traces counted by the hour they started in (UTC); an absent name is an empty text';
COMMENT ON COLUMN mcp_traces_hourly.duration_buckets IS 'Spans by duration: below 1, 2, 5, 10, 20, 50, 100, 200, 500 ms, 1, 2, 5, 10, 30, 60, 300 s, and longer';
COMMENT ON COLUMN mcp_traces_hourly.unpriced IS 'Model calls whose cost is not known; they are not in cost_usd';
COMMENT ON COLUMN mcp_traces_hourly.scored IS 'Spans with a hallucination risk; risk_sum divided by it is their mean';

CREATE TABLE mcp_traces_rollup_state (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  next_xid bigint NOT NULL,
  refreshed_at timestamptz NOT NULL
);
COMMENT ON TABLE mcp_traces_rollup_state IS 'Rows of transactions before next_xid are counted in mcp_traces_hourly';

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
-- counted once every transaction that began before it has ended.
CREATE FUNCTION mcp_traces_refresh_rollups() RETURNS bigint
LANGUAGE plpgsql SET timezone = 'UTC' AS $function$
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
  WITH fresh AS (
    SELECT date_trunc('hour', start_time) AS hour, coalesce(service, '') AS service, coalesce(provider, '') AS provider,
      coalesce(model, '') AS model, coalesce(operation, '') AS operation, coalesce(method, '') AS method,
      coalesce(tool_name, '') AS tool_name, coalesce(prompt_template_id, '') AS prompt_template_id,
      coalesce(is_shadow, false) AS is_shadow, coalesce(status_code = 'error', false) AS is_error,
      greatest(extract(epoch FROM end_time - start_time) * 1000, 0)::double precision AS ms,
      width_bucket(greatest(extract(epoch FROM end_time - start_time) * 1000, 0)::double precision,
        ARRAY[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 30000, 60000, 300000]::double precision[]) AS bucket,
      -- What no call can have been is not summed: one absurd row must not make the sums overflow for ever.
      CASE WHEN prompt_tokens BETWEEN 0 AND 1000000000 THEN prompt_tokens END AS prompt_tokens,
      CASE WHEN completion_tokens BETWEEN 0 AND 1000000000 THEN completion_tokens END AS completion_tokens,
      CASE WHEN cached_prompt_tokens BETWEEN 0 AND 1000000000 THEN cached_prompt_tokens END AS cached_prompt_tokens,
      CASE WHEN cost_usd BETWEEN 0 AND 1e9 THEN cost_usd END AS cost_usd, cost_source,
      CASE WHEN hallucination_risk_score BETWEEN 0 AND 1 THEN hallucination_risk_score END AS risk,
      hallucination_risk_level AS level, gate_blocked AS blocked, fallback_used,
      CASE WHEN mcp_traces.retries BETWEEN 0 AND 1000000 THEN mcp_traces.retries END AS tries
    FROM mcp_traces
    WHERE ingest_xid >= from_xid AND ingest_xid < to_xid OR from_xid IS NULL AND (ingest_xid IS NULL OR ingest_xid < to_xid)
  ), summed AS (
    SELECT hour, service, provider, model, operation, method, tool_name, prompt_template_id, is_shadow, count(*) AS spans,
      count(*) FILTER (WHERE is_error) AS errors, sum(ms) AS duration_ms_sum, max(ms) AS duration_ms_max,
      ARRAY[
        count(*) FILTER (WHERE bucket = 0), count(*) FILTER (WHERE bucket = 1), count(*) FILTER (WHERE bucket = 2),
        count(*) FILTER (WHERE bucket = 3), count(*) FILTER (WHERE bucket = 4), count(*) FILTER (WHERE bucket = 5),
        count(*) FILTER (WHERE bucket = 6), count(*) FILTER (WHERE bucket = 7), count(*) FILTER (WHERE bucket = 8),
        count(*) FILTER (WHERE bucket = 9), count(*) FILTER (WHERE bucket = 10), count(*) FILTER (WHERE bucket = 11),
        count(*) FILTER (WHERE bucket = 12), count(*) FILTER (WHERE bucket = 13), count(*) FILTER (WHERE bucket = 14),
        count(*) FILTER (WHERE bucket = 15), count(*) FILTER (WHERE bucket = 16)
      ] AS duration_buckets,
      coalesce(sum(prompt_tokens), 0) AS prompt_tokens, coalesce(sum(completion_tokens), 0) AS completion_tokens,
      coalesce(sum(cached_prompt_tokens), 0) AS cached_prompt_tokens, coalesce(sum(cost_usd), 0)::double precision AS cost_usd,
      count(*) FILTER (WHERE cost_source = 'unknown') AS unpriced, count(risk) AS scored,
      coalesce(sum(risk), 0)::double precision AS risk_sum, count(*) FILTER (WHERE level = 'high') AS high_risk,
      count(*) FILTER (WHERE blocked) AS gate_blocked, count(*) FILTER (WHERE fallback_used) AS fallbacks,
      coalesce(sum(tries), 0) AS retries
    FROM fresh
    GROUP BY hour, service, provider, model, operation, method, tool_name, prompt_template_id, is_shadow
  ), merged AS (
    INSERT INTO mcp_traces_hourly AS old
    SELECT * FROM summed
    ON CONFLICT (hour, service, provider, model, operation, method, tool_name, prompt_template_id, is_shadow) DO UPDATE SET
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
    RETURNING 1
  )
  SELECT coalesce(sum(spans), 0) INTO counted FROM summed;
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
  sum(gate_blocked)::bigint AS gate_blocked, sum(fallbacks)::bigint AS fallbacks, sum(retries)::bigint AS retries
FROM mcp_traces_hourly
GROUP BY day, service, provider, model, operation, method, tool_name, prompt_template_id, is_shadow;
COMMENT ON VIEW mcp_traces_daily IS 'mcp_traces_hourly by the day (UTC), with the median and the 95th percentile of the duration';
