-- One row per run: what a list of runs shows, filters and counts. A run is a trace.
--
-- A refresh adds up the spans of transactions that ended since the last one, as for mcp_traces_hourly. A call that both
-- its client and its server recorded has two spans; they are counted apart, and the larger count is the number of calls.

-- How a span ended, to every reader: `denied` was not let through, `held` waits for an approval, `withheld` was let through
-- and its result was not, `failed` has an error that is no gate's doing. A gate that only observes sets gate_blocked to false.
CREATE FUNCTION mcp_traces_status(status_code text, policy_decision text, gate_blocked boolean) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  SELECT CASE
    WHEN policy_decision = 'require_approval' AND gate_blocked IS NOT FALSE THEN 'held'
    WHEN policy_decision = 'deny' AND gate_blocked IS NOT FALSE THEN 'denied'
    WHEN gate_blocked AND policy_decision IS NOT NULL THEN 'withheld'
    WHEN status_code = 'error' THEN 'failed'
    -- Without a policy the gate is one of confidence, which judges an answer that has been given.
    WHEN gate_blocked THEN 'withheld'
    ELSE 'ok'
  END
$function$;

CREATE TABLE mcp_runs (
  trace_id uuid PRIMARY KEY,
  started_at timestamptz NOT NULL,
  ended_at timestamptz NOT NULL,
  has_root boolean NOT NULL,
  root_at timestamptz NOT NULL,
  name text NOT NULL,
  service text,
  client_name text,
  user_id text,
  session_id text,
  conversation_id text,
  models text[] NOT NULL,
  tools text[] NOT NULL,
  servers text[] NOT NULL,
  failed_tools text[] NOT NULL,
  spans bigint NOT NULL,
  errors bigint NOT NULL,
  model_calls bigint NOT NULL,
  client_calls bigint NOT NULL,
  server_calls bigint NOT NULL,
  other_calls bigint NOT NULL,
  client_failures bigint NOT NULL,
  server_failures bigint NOT NULL,
  other_failures bigint NOT NULL,
  denied bigint NOT NULL,
  withheld bigint NOT NULL,
  held bigint NOT NULL,
  prompt_tokens bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  cached_prompt_tokens bigint NOT NULL,
  cost_usd double precision NOT NULL,
  priced bigint NOT NULL,
  unpriced bigint NOT NULL,
  risk smallint NOT NULL,
  contradicted boolean NOT NULL,
  unsupported boolean NOT NULL,
  is_shadow boolean NOT NULL,
  tool_calls bigint GENERATED ALWAYS AS (greatest(client_calls, server_calls, other_calls)) STORED,
  failed_calls bigint GENERATED ALWAYS AS (greatest(client_failures, server_failures, other_failures)) STORED,
  is_failed boolean GENERATED ALWAYS AS (greatest(client_failures, server_failures, other_failures) > 0
    OR errors > 0 AND denied + withheld + held = 0) STORED
);
COMMENT ON TABLE mcp_runs IS 'Runs (traces) of mcp_traces, added up by mcp_runs_refresh()';
COMMENT ON COLUMN mcp_runs.name IS 'Name of the root span, else of the earliest span';
COMMENT ON COLUMN mcp_runs.root_at IS 'Start of the span that gave the name';
COMMENT ON COLUMN mcp_runs.tools IS 'Tools called; like the other lists at most 50 names';
COMMENT ON COLUMN mcp_runs.errors IS 'Spans that failed, without those whose error is a gate''s doing';
COMMENT ON COLUMN mcp_runs.denied IS 'Calls and requests that a gate refused';
COMMENT ON COLUMN mcp_runs.withheld IS 'Calls that were made and whose results a gate kept back';
COMMENT ON COLUMN mcp_runs.held IS 'Calls that wait for an approval';
COMMENT ON COLUMN mcp_runs.is_failed IS 'A call failed, or another span where no gate stopped anything';
COMMENT ON COLUMN mcp_runs.priced IS 'Model calls whose cost is known; the others are unpriced and not in cost_usd';
COMMENT ON COLUMN mcp_runs.risk IS 'Highest risk of an answer: 0 not scored, 1 low, 2 medium, 3 high';
COMMENT ON COLUMN mcp_runs.contradicted IS 'An answer says what the trace contradicts';
COMMENT ON COLUMN mcp_runs.unsupported IS 'An answer says what no source supports';
COMMENT ON COLUMN mcp_runs.tool_calls IS 'Tool calls, each counted once';
CREATE INDEX mcp_runs_started ON mcp_runs (started_at DESC, trace_id);
CREATE INDEX mcp_runs_session ON mcp_runs (session_id, started_at DESC) WHERE session_id IS NOT NULL;

CREATE TABLE mcp_runs_state (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  next_xid bigint NOT NULL,
  refreshed_at timestamptz NOT NULL
);
COMMENT ON TABLE mcp_runs_state IS 'Rows of transactions before next_xid are counted in mcp_runs';

CREATE FUNCTION mcp_runs_names(a text[], b text[]) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  SELECT CASE WHEN b <@ a THEN a ELSE ARRAY(SELECT DISTINCT name FROM unnest(a || b) AS u (name) ORDER BY name LIMIT 50) END
$function$;

-- Whether the spans added give the run its name: they hold its root, or an earlier span than those before.
CREATE FUNCTION mcp_runs_is_named_by(old mcp_runs, fresh mcp_runs) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  SELECT CASE WHEN old.has_root = fresh.has_root THEN fresh.root_at < old.root_at ELSE fresh.has_root END
$function$;

-- Figures over runs by the hour, for the strip above a list of runs: a day of 250,000 runs is read as some 2,000 rows.
-- Triggers keep them what a sum over mcp_runs gives: runs change while their spans arrive, and go when they are pruned.

CREATE TABLE mcp_runs_hourly (
  hour timestamptz NOT NULL,
  duration_class smallint NOT NULL,
  runs bigint NOT NULL,
  spans bigint NOT NULL,
  failed bigint NOT NULL,
  contradicted bigint NOT NULL,
  unsupported bigint NOT NULL,
  held bigint NOT NULL,
  cost_usd double precision NOT NULL,
  unpriced bigint NOT NULL,
  PRIMARY KEY (hour, duration_class)
);
COMMENT ON TABLE mcp_runs_hourly IS 'Runs of mcp_runs by the hour they started in (UTC) and how long they took';
COMMENT ON COLUMN mcp_runs_hourly.duration_class IS '0: at most 1 ms; n: at most 1.1 ^ n ms, and longer than n - 1';
COMMENT ON COLUMN mcp_runs_hourly.unsupported IS 'Runs with a claim that no source supports, and none that the trace contradicts';

CREATE FUNCTION mcp_runs_duration_class(started_at timestamptz, ended_at timestamptz) RETURNS smallint
LANGUAGE sql STABLE PARALLEL SAFE AS $function$
  SELECT ceil(ln(least(greatest(date_part('epoch', ended_at - started_at) * 1000, 1), 1e12)) / ln(1.1::double precision))::smallint
$function$;

-- Adds runs to mcp_runs_hourly, and takes away what they were before.
CREATE FUNCTION mcp_runs_count_hourly() RETURNS trigger
LANGUAGE plpgsql SET timezone = 'UTC' AS $function$
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    DELETE FROM mcp_runs_hourly;
    RETURN NULL;
  END IF;
  EXECUTE format($sql$
    INSERT INTO mcp_runs_hourly AS old
    SELECT date_trunc('hour', started_at) AS hour, mcp_runs_duration_class(started_at, ended_at) AS duration_class,
      sum(sign), sum(sign * spans), coalesce(sum(sign) FILTER (WHERE is_failed), 0),
      coalesce(sum(sign) FILTER (WHERE contradicted), 0), coalesce(sum(sign) FILTER (WHERE unsupported AND NOT contradicted), 0),
      coalesce(sum(sign) FILTER (WHERE held > 0), 0), sum(sign * cost_usd), sum(sign * unpriced)
    FROM (%s) AS changed
    GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (hour, duration_class) DO UPDATE SET
      runs = old.runs + excluded.runs,
      spans = old.spans + excluded.spans,
      failed = old.failed + excluded.failed,
      contradicted = old.contradicted + excluded.contradicted,
      unsupported = old.unsupported + excluded.unsupported,
      held = old.held + excluded.held,
      cost_usd = old.cost_usd + excluded.cost_usd,
      unpriced = old.unpriced + excluded.unpriced
  $sql$, CASE TG_OP
    WHEN 'INSERT' THEN 'SELECT 1 AS sign, * FROM added'
    WHEN 'DELETE' THEN 'SELECT -1 AS sign, * FROM removed'
    ELSE 'SELECT 1 AS sign, * FROM added UNION ALL SELECT -1, * FROM removed' END);
  IF TG_OP = 'DELETE' THEN
    DELETE FROM mcp_runs_hourly WHERE runs = 0;
  END IF;
  RETURN NULL;
END
$function$;

CREATE TRIGGER mcp_runs_added AFTER INSERT ON mcp_runs
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION mcp_runs_count_hourly();
CREATE TRIGGER mcp_runs_changed AFTER UPDATE ON mcp_runs
  REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION mcp_runs_count_hourly();
CREATE TRIGGER mcp_runs_emptied AFTER TRUNCATE ON mcp_runs
  FOR EACH STATEMENT EXECUTE FUNCTION mcp_runs_count_hourly();
CREATE TRIGGER mcp_runs_removed AFTER DELETE ON mcp_runs
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION mcp_runs_count_hourly();

-- Adds what was inserted since the last refresh. Returns the spans added, NULL when another process is at it. Of a call that
-- several sides recorded it counts the spans of each side apart, since its spans come in any order; the page pairs the
-- spans of one run by their parents (factsOf), which can tell more calls apart.
CREATE FUNCTION mcp_runs_refresh() RETURNS bigint
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
      left(server_name, 200) AS server_name, status = 'failed' AS is_error, status,
      -- 1: a client's span of a call, 2: a server's, 3: another one.
      CASE WHEN method = 'tools/call' AND span_kind = 'client' THEN 1
        WHEN method = 'tools/call' AND span_kind = 'server' THEN 2
        WHEN operation = 'execute_tool' THEN 3
        -- The call that a gate stopped, which its client did not make.
        WHEN gate_blocked AND tool_name IS NOT NULL AND status IN ('denied', 'held') THEN 1 END AS call,
      cost_source IS NOT NULL OR prompt_tokens IS NOT NULL AS is_model,
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
    FROM mcp_traces, LATERAL (SELECT mcp_traces_status(status_code, policy_decision, gate_blocked) AS status) AS ended
    WHERE ingest_xid >= coalesce(from_xid, 0) AND ingest_xid < to_xid
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
      count(*) FILTER (WHERE status = 'denied') AS denied, count(*) FILTER (WHERE status = 'withheld') AS withheld,
      count(*) FILTER (WHERE status = 'held') AS held,
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
      model_calls, client_calls, server_calls, other_calls, client_failures, server_failures, other_failures, denied,
      withheld, held, prompt_tokens, completion_tokens, cached_prompt_tokens, cost_usd, priced, unpriced, risk, contradicted, unsupported,
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
      withheld = old.withheld + excluded.withheld,
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
