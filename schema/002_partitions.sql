-- Makes mcp_traces a table of day partitions, which are dropped whole when they are old. Rows that are there already are
-- not copied: their table becomes the partition mcp_traces_history, for everything before tomorrow. Rows outside of all
-- days, because a clock is wrong or they are imported, go to mcp_traces_default. Days are those of UTC.
--
-- The key holds start_time because a key of a partitioned table must; a span has one start, so it still is written once.

ALTER TABLE mcp_traces RENAME TO mcp_traces_history;
ALTER TABLE mcp_traces_history DROP CONSTRAINT mcp_traces_pkey;
ALTER INDEX mcp_traces_service_start_time RENAME TO mcp_traces_history_service_start_time;
ALTER INDEX mcp_traces_model_start_time RENAME TO mcp_traces_history_model_start_time;
ALTER INDEX mcp_traces_prompt_hash RENAME TO mcp_traces_history_prompt_hash;
ALTER INDEX mcp_traces_normalized_prompt_hash RENAME TO mcp_traces_history_normalized_prompt_hash;

CREATE TABLE mcp_traces (LIKE mcp_traces_history INCLUDING ALL EXCLUDING INDEXES) PARTITION BY RANGE (start_time);
ALTER TABLE mcp_traces ADD PRIMARY KEY (trace_id, span_id, start_time);
CREATE INDEX mcp_traces_service_start_time ON mcp_traces (service, start_time DESC);
CREATE INDEX mcp_traces_model_start_time ON mcp_traces (model, start_time DESC) WHERE model IS NOT NULL;
CREATE INDEX mcp_traces_prompt_hash ON mcp_traces (prompt_hash) WHERE prompt_hash IS NOT NULL;
CREATE INDEX mcp_traces_normalized_prompt_hash ON mcp_traces (normalized_prompt_hash)
  WHERE normalized_prompt_hash IS NOT NULL;
CREATE TABLE mcp_traces_default PARTITION OF mcp_traces DEFAULT;

COMMENT ON TABLE mcp_traces IS 'OpenTelemetry spans of MCP and model traffic, one row each; written by mcp-observatory';
COMMENT ON TABLE mcp_traces_default IS 'Rows of mcp_traces that no other partition takes';

-- What a person was granted on the table holds for the new one.
DO $grants$
DECLARE
  item record;
BEGIN
  FOR item IN
    SELECT privilege_type, is_grantable, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END AS grantee
    FROM pg_class, aclexplode(relacl)
    WHERE pg_class.oid = 'mcp_traces_history'::regclass AND grantee <> relowner
  LOOP
    EXECUTE format('GRANT %s ON mcp_traces TO %s%s', item.privilege_type, item.grantee,
      CASE WHEN item.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END);
  END LOOP;
END
$grants$;

-- The view of the same columns, now of the new table.
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
  links
FROM mcp_traces;

DO $history$
DECLARE
  tomorrow constant timestamptz := (date_trunc('day', now() AT TIME ZONE 'UTC') + interval '1 day') AT TIME ZONE 'UTC';
BEGIN
  IF EXISTS (SELECT FROM mcp_traces_history) THEN
    WITH moved AS (DELETE FROM mcp_traces_history WHERE start_time >= tomorrow RETURNING *)
    INSERT INTO mcp_traces SELECT * FROM moved;
    EXECUTE format('ALTER TABLE mcp_traces ATTACH PARTITION mcp_traces_history FOR VALUES FROM (MINVALUE) TO (%L)', tomorrow);
    COMMENT ON TABLE mcp_traces_history IS 'Rows of mcp_traces from before it had partitions';
  ELSE
    DROP TABLE mcp_traces_history;
  END IF;
END
$history$;

-- Makes the partitions of today and the days ahead that are not there yet, and returns how many. Processes may call it
-- at once. Writing goes on meanwhile, but for rows of the default partition.
CREATE FUNCTION mcp_traces_create_partitions(days_ahead integer DEFAULT 3) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET timezone = 'UTC' SET lock_timeout = '5s' SET client_min_messages = 'warning' AS $function$
DECLARE
  made integer := 0;
  first_day date := current_date;
  part text;
  from_time timestamptz;
  to_time timestamptz;
BEGIN
  PERFORM pg_advisory_xact_lock(7882267396523914869);
  SELECT greatest(first_day, (regexp_match(pg_get_expr(relpartbound, oid), 'TO \(''([^'']+)''\)'))[1]::timestamptz::date)
    INTO first_day FROM pg_class WHERE oid = to_regclass('mcp_traces_history');
  first_day := coalesce(first_day, current_date);
  FOR day IN 0 .. (current_date + days_ahead - first_day) LOOP
    from_time := first_day + day;
    to_time := first_day + day + 1;
    part := 'mcp_traces_' || to_char(from_time, 'YYYYMMDD');
    CONTINUE WHEN to_regclass(part) IS NOT NULL;
    -- Made apart and attached when it is whole: that does not lock the table, as CREATE TABLE PARTITION OF does.
    EXECUTE format('CREATE TABLE %I (LIKE mcp_traces INCLUDING ALL)', part);
    LOCK TABLE mcp_traces_default IN SHARE ROW EXCLUSIVE MODE;
    EXECUTE format('WITH moved AS (DELETE FROM mcp_traces_default WHERE start_time >= %L AND start_time < %L RETURNING *)
      INSERT INTO %I SELECT * FROM moved', from_time, to_time, part);
    EXECUTE format('ALTER TABLE mcp_traces ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', part, from_time, to_time);
    made := made + 1;
  END LOOP;
  RETURN made;
END
$function$;
REVOKE ALL ON FUNCTION mcp_traces_create_partitions(integer) FROM PUBLIC;

-- It runs with the rights of its owner, so it must not find a table that its caller put in the way.
DO $path$
BEGIN
  EXECUTE format('ALTER FUNCTION mcp_traces_create_partitions(integer) SET search_path = %I, pg_temp', current_schema());
  PERFORM mcp_traces_create_partitions(3);
END
$path$;
