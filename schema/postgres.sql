-- The schema of mcp-observatory in one file: psql "$DATABASE_URL" -f schema/postgres.sql
-- Generated from the numbered files of this folder by `npm run generate`; do not edit. It may be applied again,
-- and leaves what `mcp-observatory db migrate` leaves.
\set ON_ERROR_STOP on
BEGIN;
SET LOCAL client_min_messages = warning;
DO $$ BEGIN PERFORM pg_advisory_xact_lock(7882267396523914868); END $$;
CREATE TABLE IF NOT EXISTS mcp_observatory_migrations (
  id integer PRIMARY KEY,
  name text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now()
);
DO $first$ BEGIN
  IF NOT EXISTS (SELECT FROM mcp_observatory_migrations) AND EXISTS (
    SELECT FROM pg_attribute WHERE attrelid = to_regclass('mcp_traces') AND attname = 'start_time'
      AND atttypid = 'timestamp'::regtype
  ) THEN
    ALTER TABLE mcp_traces RENAME TO mcp_traces_first;
  END IF;
END $first$;

DO $guard$
BEGIN
  IF EXISTS (SELECT FROM mcp_observatory_migrations WHERE id = 1) THEN
    RETURN;
  END IF;
  INSERT INTO mcp_observatory_migrations (id, name) VALUES (1, '001_mcp_traces');
  EXECUTE $migration_1$
-- The table of spans, one row each. Columns and their meaning: src/fields.ts.

CREATE TABLE mcp_traces (
  trace_id uuid NOT NULL,
  span_id uuid NOT NULL,
  parent_span_id uuid,
  service text,
  model text,
  tool_name text,
  start_time timestamptz NOT NULL,
  end_time timestamptz NOT NULL,
  prompt_tokens integer,
  completion_tokens integer,
  cost_usd double precision,
  retries integer,
  fallback_used boolean,
  confidence double precision,
  risk_tier text,
  prompt_template_id text,
  prompt_hash text,
  normalized_prompt_hash text,
  answer_hash text,
  grounding_score double precision,
  verifier_score double precision,
  self_consistency_score double precision,
  numeric_variance_score double precision,
  tool_claim_mismatch boolean,
  hallucination_risk_score double precision,
  hallucination_risk_level text,
  prompt_size_chars integer,
  is_shadow boolean,
  shadow_parent_trace_id uuid,
  gate_blocked boolean,
  fallback_type text,
  fallback_reason text,
  span_name text NOT NULL,
  span_kind text NOT NULL,
  status_code text NOT NULL,
  status_message text,
  scope text,
  provider text,
  operation text,
  method text,
  session_id text,
  conversation_id text,
  response_id text,
  finish_reason text,
  cached_prompt_tokens integer,
  cache_write_tokens integer,
  reasoning_tokens integer,
  tokens_estimated boolean,
  cost_source text,
  policy_decision text,
  policy_reason text,
  policy_hash text,
  tool_hash text,
  tool_args_hash text,
  verifier_reason text,
  shadow_disagreement_score double precision,
  shadow_numeric_variance double precision,
  attributes jsonb NOT NULL,
  resource jsonb NOT NULL,
  events jsonb NOT NULL,
  links jsonb NOT NULL,
  PRIMARY KEY (trace_id, span_id)
);

-- The primary key serves lookups by trace_id alone, so trace_id has no index of its own.
CREATE INDEX mcp_traces_service_start_time ON mcp_traces (service, start_time DESC);
-- Spans that are no model call have neither model nor prompt; leaving them out keeps these indexes small.
CREATE INDEX mcp_traces_model_start_time ON mcp_traces (model, start_time DESC) WHERE model IS NOT NULL;
CREATE INDEX mcp_traces_prompt_hash ON mcp_traces (prompt_hash) WHERE prompt_hash IS NOT NULL;
CREATE INDEX mcp_traces_normalized_prompt_hash ON mcp_traces (normalized_prompt_hash)
  WHERE normalized_prompt_hash IS NOT NULL;

-- The same rows with ids as OpenTelemetry writes them: 32 and 16 hex digits. To look one trace up, filter the table
-- instead, which takes the hex form too and can use its key: SELECT ... FROM mcp_traces WHERE trace_id = '4bf9...'.
CREATE VIEW mcp_traces_hex AS
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

COMMENT ON TABLE mcp_traces IS 'OpenTelemetry spans of MCP and model traffic, one row each; written by mcp-observatory';
COMMENT ON VIEW mcp_traces_hex IS 'mcp_traces with ids in the hex form of OpenTelemetry';
COMMENT ON COLUMN mcp_traces.trace_id IS 'End-to-end request correlation: the 16 bytes of the OTel trace id';
COMMENT ON COLUMN mcp_traces.span_id IS 'Span-level unique id: the 8-byte OTel span id, left-padded with zeros';
COMMENT ON COLUMN mcp_traces.parent_span_id IS 'Parent linkage for nested spans, padded like `span_id`';
COMMENT ON COLUMN mcp_traces.service IS 'Service boundary identifier';
COMMENT ON COLUMN mcp_traces.model IS 'Model used for generation; the answering one where the provider names it';
COMMENT ON COLUMN mcp_traces.tool_name IS 'MCP tool or function called';
COMMENT ON COLUMN mcp_traces.start_time IS 'When the span started, to the microsecond';
COMMENT ON COLUMN mcp_traces.end_time IS 'When the span ended, to the microsecond';
COMMENT ON COLUMN mcp_traces.prompt_tokens IS 'Input tokens, cached ones included; estimated only if `tokens_estimated`';
COMMENT ON COLUMN mcp_traces.completion_tokens IS 'Output tokens, reasoning included; estimated only if `tokens_estimated`';
COMMENT ON COLUMN mcp_traces.cost_usd IS 'Estimated spend in US dollars; absent when the price is not known';
COMMENT ON COLUMN mcp_traces.retries IS 'Attempts made after the first one';
COMMENT ON COLUMN mcp_traces.fallback_used IS 'Whether a fallback answered instead of the model';
COMMENT ON COLUMN mcp_traces.confidence IS 'Confidence signal from the application or the model (0..1)';
COMMENT ON COLUMN mcp_traces.risk_tier IS 'Manual risk classification';
COMMENT ON COLUMN mcp_traces.prompt_template_id IS 'Template and version the prompt was made from';
COMMENT ON COLUMN mcp_traces.prompt_hash IS 'SHA-256 of the exact final prompt, UTF-8, hex';
COMMENT ON COLUMN mcp_traces.normalized_prompt_hash IS 'SHA-256 of the prompt without UUIDs, timestamps and numbers, hex';
COMMENT ON COLUMN mcp_traces.answer_hash IS 'SHA-256 of the answer, lower-cased, white space collapsed, hex';
COMMENT ON COLUMN mcp_traces.grounding_score IS 'Overlap of the answer with the retrieved context (0..1)';
COMMENT ON COLUMN mcp_traces.verifier_score IS 'Local verifier goodness (0..1)';
COMMENT ON COLUMN mcp_traces.self_consistency_score IS 'Overlap of the answer with a second answer (0..1)';
COMMENT ON COLUMN mcp_traces.numeric_variance_score IS 'Numeric instability in the answer or answers (0..1)';
COMMENT ON COLUMN mcp_traces.tool_claim_mismatch IS 'The answer claims success where the tool reported failure';
COMMENT ON COLUMN mcp_traces.hallucination_risk_score IS 'Composite of the signals above (0..1)';
COMMENT ON COLUMN mcp_traces.hallucination_risk_level IS 'Bucket of the risk score: low, medium or high';
COMMENT ON COLUMN mcp_traces.prompt_size_chars IS 'Prompt size in Unicode code points';
COMMENT ON COLUMN mcp_traces.is_shadow IS 'Whether this is a shadow evaluation';
COMMENT ON COLUMN mcp_traces.shadow_parent_trace_id IS 'Trace of the primary run that this shadow run accompanies';
COMMENT ON COLUMN mcp_traces.gate_blocked IS 'Whether a gate stopped the call or its answer';
COMMENT ON COLUMN mcp_traces.fallback_type IS 'Fallback strategy used: template, human_review or draft_only';
COMMENT ON COLUMN mcp_traces.fallback_reason IS 'Why the fallback was used, e.g. low_confidence, tool_error, policy_violation';
COMMENT ON COLUMN mcp_traces.span_name IS 'Name of the span';
COMMENT ON COLUMN mcp_traces.span_kind IS 'internal, server, client, producer or consumer';
COMMENT ON COLUMN mcp_traces.status_code IS 'unset, ok or error';
COMMENT ON COLUMN mcp_traces.status_message IS 'Description of an error status';
COMMENT ON COLUMN mcp_traces.scope IS 'Instrumentation scope that made the span';
COMMENT ON COLUMN mcp_traces.provider IS 'Model provider, in the words of the semantic conventions';
COMMENT ON COLUMN mcp_traces.operation IS 'What the span does: chat, embeddings, execute_tool, invoke_agent ...';
COMMENT ON COLUMN mcp_traces.method IS 'MCP method, e.g. tools/call';
COMMENT ON COLUMN mcp_traces.session_id IS 'MCP session, or the session the application governs by';
COMMENT ON COLUMN mcp_traces.conversation_id IS 'Conversation or thread the call belongs to';
COMMENT ON COLUMN mcp_traces.response_id IS 'Id the provider gave its response';
COMMENT ON COLUMN mcp_traces.finish_reason IS 'Why the model stopped; several are joined by a comma';
COMMENT ON COLUMN mcp_traces.cached_prompt_tokens IS 'Part of `prompt_tokens` read from the provider cache';
COMMENT ON COLUMN mcp_traces.cache_write_tokens IS 'Part of `prompt_tokens` written to the provider cache';
COMMENT ON COLUMN mcp_traces.reasoning_tokens IS 'Part of `completion_tokens` spent on reasoning';
COMMENT ON COLUMN mcp_traces.tokens_estimated IS 'True when the provider gave no usage and the counts are our estimate';
COMMENT ON COLUMN mcp_traces.cost_source IS 'Where the price came from: provider, override, genai-prices or unknown';
COMMENT ON COLUMN mcp_traces.policy_decision IS 'Decision of the policy gate: allow, deny or require_approval';
COMMENT ON COLUMN mcp_traces.policy_reason IS 'Reason code of the policy decision';
COMMENT ON COLUMN mcp_traces.policy_hash IS 'SHA-256 of the policy that decided, hex';
COMMENT ON COLUMN mcp_traces.tool_hash IS 'SHA-256 of the tool definition that was called, hex';
COMMENT ON COLUMN mcp_traces.tool_args_hash IS 'SHA-256 of the canonical (RFC 8785) tool arguments, hex';
COMMENT ON COLUMN mcp_traces.verifier_reason IS 'What the verifier objected to, comma-separated; ok when nothing';
COMMENT ON COLUMN mcp_traces.shadow_disagreement_score IS 'Disagreement of shadow and primary answer (0..1)';
COMMENT ON COLUMN mcp_traces.shadow_numeric_variance IS 'Numeric difference of shadow and primary answer (0..1)';
COMMENT ON COLUMN mcp_traces.attributes IS 'Attributes that no column holds';
COMMENT ON COLUMN mcp_traces.resource IS 'Resource attributes that no column holds';
COMMENT ON COLUMN mcp_traces.events IS 'Span events';
COMMENT ON COLUMN mcp_traces.links IS 'Span links';
$migration_1$;
END
$guard$;


DO $guard$
BEGIN
  IF EXISTS (SELECT FROM mcp_observatory_migrations WHERE id = 2) THEN
    RETURN;
  END IF;
  INSERT INTO mcp_observatory_migrations (id, name) VALUES (2, '002_partitions');
  EXECUTE $migration_2$
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
$migration_2$;
END
$guard$;


DO $guard$
BEGIN
  IF EXISTS (SELECT FROM mcp_observatory_migrations WHERE id = 3) THEN
    RETURN;
  END IF;
  INSERT INTO mcp_observatory_migrations (id, name) VALUES (3, '003_rows_of_first_table');
  EXECUTE $migration_3$
-- The rows of a table mcp_traces from before this package had migrations: TIMESTAMP without time zone, which is read as
-- UTC, FLOAT scores, no key. Such a table is set aside as mcp_traces_first before the first migration, and stays, so
-- that nothing of it is lost; drop it when you have looked.
--
-- Columns of the same name are taken over, others go to attributes as observatory.<column>. A row without ids gets new
-- ones, and so does the second row of one id.

DO $rows$
DECLARE
  known constant text[] := ARRAY(SELECT attname FROM pg_attribute WHERE attrelid = 'mcp_traces'::regclass AND attnum > 0 AND NOT attisdropped);
BEGIN
  IF to_regclass('mcp_traces_first') IS NULL THEN
    RETURN;
  END IF;
  SET LOCAL timezone = 'UTC';
  INSERT INTO mcp_traces
  SELECT (jsonb_populate_record(
    NULL::mcp_traces,
    jsonb_build_object(
      'start_time', coalesce(j ->> 'start_time', j ->> 'end_time', '1970-01-01T00:00:00Z'),
      'end_time', coalesce(j ->> 'end_time', j ->> 'start_time', '1970-01-01T00:00:00Z'),
      'span_name', coalesce(j ->> 'method', j ->> 'tool_name', j ->> 'model', 'unknown'),
      'span_kind', 'internal', 'status_code', 'unset',
      'resource', '{}'::jsonb, 'events', '[]'::jsonb, 'links', '[]'::jsonb,
      'attributes', (
        SELECT coalesce(jsonb_object_agg('observatory.' || key, value), '{}')
        FROM jsonb_each(jsonb_strip_nulls(j || jsonb_build_object('span_id_of_another_row', CASE WHEN turn > 1 THEN j -> 'span_id' END)))
        WHERE key <> ALL (known))
    ) || jsonb_strip_nulls(j) || jsonb_build_object(
      'trace_id', coalesce(j ->> 'trace_id', gen_random_uuid()::text),
      'span_id', CASE WHEN turn = 1 THEN coalesce(j ->> 'span_id', gen_random_uuid()::text) ELSE gen_random_uuid()::text END
    ))).*
  FROM (
    SELECT to_jsonb(mcp_traces_first) AS j, row_number() OVER (PARTITION BY trace_id, span_id) AS turn
    FROM mcp_traces_first
  ) AS rows;
END
$rows$;
$migration_3$;
END
$guard$;

COMMIT;
