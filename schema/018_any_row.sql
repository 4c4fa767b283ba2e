-- Anybody may insert a row, and none may stop the counting of the others: not by a time that PostgreSQL can hold and not
-- compute with, nor by a name that no index holds, nor by a cost too small to divide.

-- The nearest time that OpenTelemetry can say: nanoseconds since 1970 in 64 bits.
CREATE FUNCTION mcp_traces_time(given timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  SELECT greatest(least(given, '2554-07-21 00:00:00+00'), '1970-01-01 00:00:00+00')
$function$;

DO $$
DECLARE
  around CONSTANT text[] := ARRAY[
    'min(t.start_time) - interval', 'mcp_traces_time(min(t.start_time)) - interval',
    'max(t.start_time) + interval', 'mcp_traces_time(max(t.start_time)) + interval'];
  changes CONSTANT jsonb := jsonb_build_object(
    'mcp_traces_repeats(timestamptz, timestamptz, bigint, bigint)', around,
    'mcp_traces_sides(bigint, bigint)', around || ARRAY[
      'coalesce(t.scope, ''''), t.start_time, t.end_time', 'coalesce(t.scope, ''''), mcp_traces_time(t.start_time), mcp_traces_time(t.end_time)'],
    'mcp_runs_refresh()', ARRAY[
      'SELECT trace_id, start_time, end_time,', 'SELECT trace_id, mcp_traces_time(start_time) AS start_time, mcp_traces_time(end_time) AS end_time,'],
    'mcp_traces_refresh_rollups()', ARRAY[
      'date_part(''epoch'', start_time)', 'date_part(''epoch'', mcp_traces_time(start_time))',
      'end_time - start_time', 'mcp_traces_time(end_time) - mcp_traces_time(start_time)',
      'min(start_time) AS first_time, max(start_time) AS last_start, max(end_time) AS last_time',
        'mcp_traces_time(min(start_time)) AS first_time, mcp_traces_time(max(start_time)) AS last_start, mcp_traces_time(max(end_time)) AS last_time',
      'session_id, span_kind, tool_hash,' || E'\n      bucket', 'session_id, mcp_traces_short(span_kind) AS span_kind, tool_hash,' || E'\n      bucket'],
    'mcp_traces_correct(jsonb)', ARRAY[
      'date_trunc(''hour'', r.start_time)', 'date_trunc(''hour'', mcp_traces_time(r.start_time))',
      'r.end_time - r.start_time', 'mcp_traces_time(r.end_time) - mcp_traces_time(r.start_time)',
      'r.session_id, r.span_kind,', 'r.session_id, mcp_traces_short(r.span_kind) AS span_kind,'],
    'mcp_tax_refresh()', ARRAY[
      'date_trunc(''hour'', start_time)', 'date_trunc(''hour'', mcp_traces_time(start_time))',
      'max(start_time) AS last_time', 'mcp_traces_time(max(start_time)) AS last_time']);
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
  IF to_regprocedure('mcp_traces_complete()') IS NOT NULL THEN
    -- As the exporter does it: what no index takes is in attributes alone.
    body := pg_get_functiondef('mcp_traces_complete()'::regprocedure);
    EXECUTE replace(body, '    NEW.resource := ', $part$
    NEW := jsonb_populate_record(NEW, (SELECT jsonb_build_object('attributes', NEW.attributes || jsonb_object_agg('observatory.' || key, value))
        || jsonb_object_agg(key, NULL) FROM jsonb_each(given)
      WHERE length(value #>> '{}') > 512 AND key IN ('service', 'model', 'prompt_hash', 'normalized_prompt_hash', 'tool_name',
        'session_id', 'conversation_id', 'run_id')));
    NEW.resource := $part$);
  END IF;
END
$$;

CREATE OR REPLACE VIEW mcp_tool_tax AS
WITH totals AS (
  SELECT offered_tools_hash, greatest(max(total_tokens), sum(tokens), 1)::double precision AS total, sum(tokens) AS named
  FROM mcp_tool_sets GROUP BY offered_tools_hash
), shares AS (
  SELECT offered_tools_hash, server_name, tool_name, tokens / total AS share
  FROM mcp_tool_sets JOIN totals USING (offered_tools_hash)
  UNION ALL
  SELECT offered_tools_hash, '', '', 1 - named / total FROM totals
)
SELECT hour, provider, model, coalesce(server_name, '') AS server_name, coalesce(tool_name, '') AS tool_name,
  sum(calls)::bigint AS calls, sum(tokens * coalesce(share, 1)) AS tokens,
  sum(CASE WHEN abs(cost_usd) > 1e-30 THEN cost_usd * coalesce(share, 1) ELSE 0 END) AS cost_usd,
  sum(unpriced)::bigint AS unpriced
FROM mcp_tax_hourly LEFT JOIN shares USING (offered_tools_hash)
GROUP BY hour, provider, model, coalesce(server_name, ''), coalesce(tool_name, '');
