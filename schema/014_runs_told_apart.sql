-- A run that only connected, listed or pinged is no run of the user's: lists and figures leave it out, unless it failed. And
-- the session of a run is the application's, where it has one, before that of the transport.

-- Whether an MCP method only keeps a connection: the lifecycle, utilities and lists of the specification.
CREATE FUNCTION mcp_traces_is_upkeep(method text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  SELECT coalesce(method ~ '^(initialize|ping|server/discover|logging/setLevel|notifications/.+|.+/list)$', false)
$function$;

ALTER TABLE mcp_runs
  ADD COLUMN work_spans bigint NOT NULL DEFAULT 1,
  ADD COLUMN has_own_session boolean NOT NULL DEFAULT false;
ALTER TABLE mcp_runs
  ADD COLUMN is_handshake boolean GENERATED ALWAYS AS (work_spans = 0 AND errors = 0) STORED;
COMMENT ON COLUMN mcp_runs.work_spans IS 'Spans that do more than keep an MCP connection, or carry its requests over HTTP';
COMMENT ON COLUMN mcp_runs.has_own_session IS 'Whether session_id is that of the application, not of an MCP connection';
COMMENT ON COLUMN mcp_runs.is_handshake IS 'It only connected, listed or pinged; not in mcp_runs_hourly';

DO $$
DECLARE
  runs text := pg_get_functiondef('mcp_runs_refresh()'::regprocedure);
  hourly text := pg_get_functiondef('mcp_runs_count_hourly()'::regprocedure);
  changes CONSTANT text[] := ARRAY[
    'session_id, conversation_id, left(model',
    'session_id, method IS NULL AS is_own, mcp_traces_is_upkeep(method)
        OR method IS NULL AND operation IS NULL AND tool_name IS NULL AND span_kind IN (''client'', ''server'')
          AND attributes ?| ARRAY[''http.request.method'', ''http.method''] AS is_upkeep, conversation_id, left(model',
    'left(min(session_id), 300) AS session_id',
    'left(coalesce(min(session_id) FILTER (WHERE is_own), min(session_id)), 300) AS session_id',
    'bool_or(is_shadow) AS is_shadow,',
    'bool_or(is_shadow) AS is_shadow, count(*) FILTER (WHERE NOT is_upkeep) AS work_spans,
      coalesce(bool_or(is_own AND session_id IS NOT NULL), false) AS has_own_session,',
    'is_shadow, root_failed, last_failure_at, last_error_at, last_answer_at)',
    'is_shadow, root_failed, last_failure_at, last_error_at, last_answer_at, work_spans, has_own_session)',
    E'last_error_at, last_answer_at\n    FROM summed',
    E'last_error_at, last_answer_at, work_spans, has_own_session\n    FROM summed',
    'session_id = coalesce(old.session_id, excluded.session_id)',
    'session_id = CASE WHEN excluded.has_own_session AND NOT old.has_own_session THEN excluded.session_id
        ELSE coalesce(old.session_id, excluded.session_id) END,
      has_own_session = old.has_own_session OR excluded.has_own_session,
      work_spans = old.work_spans + excluded.work_spans'];
BEGIN
  FOR i IN 1 .. array_length(changes, 1) BY 2 LOOP
    IF position(changes[i] IN runs) = 0 THEN
      RAISE EXCEPTION 'mcp_runs_refresh() does not hold: %', changes[i];
    END IF;
    runs := replace(runs, changes[i], changes[i + 1]);
  END LOOP;
  EXECUTE runs;
  EXECUTE replace(hourly, 'FROM (%s) AS changed', 'FROM (%s) AS changed WHERE NOT is_handshake');
END
$$;

-- Runs that were counted before: those without calls may be handshakes, those with an MCP session may have another one too.
UPDATE mcp_runs AS r SET work_spans = s.work_spans
FROM (
  SELECT t.trace_id, count(*) FILTER (WHERE NOT mcp_traces_is_upkeep(t.method)) AS work_spans
  FROM mcp_runs AS quiet JOIN mcp_traces AS t USING (trace_id)
  WHERE quiet.tool_calls = 0 AND quiet.model_calls = 0 AND t.ingest_xid < (SELECT next_xid FROM mcp_runs_state)
  GROUP BY 1
) AS s
WHERE r.trace_id = s.trace_id AND s.work_spans = 0;
UPDATE mcp_runs AS r SET session_id = left(s.session_id, 300), has_own_session = true
FROM (
  SELECT t.trace_id, min(t.session_id) AS session_id FROM mcp_runs AS known JOIN mcp_traces AS t USING (trace_id)
  WHERE known.session_id IS NOT NULL AND t.session_id IS NOT NULL AND t.method IS NULL GROUP BY 1
) AS s
WHERE r.trace_id = s.trace_id;
