-- The schema of mcp-observatory in one file: psql "$DATABASE_URL" -f schema/postgres.sql
-- It may be applied again, and leaves what `mcp-observatory db migrate` leaves. Generated from the numbered
-- files of this folder by `npm run generate`; do not edit.
\set ON_ERROR_STOP on
BEGIN;
SET LOCAL client_min_messages = warning;
DO $$ BEGIN PERFORM pg_advisory_xact_lock(7882267396523914868); END $$;
CREATE TABLE IF NOT EXISTS mcp_observatory_migrations (
  id integer PRIMARY KEY,
  name text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now()
);

DO $guard$
BEGIN
  IF EXISTS (SELECT FROM mcp_observatory_migrations WHERE id = 1) THEN
    RETURN;
  END IF;
  INSERT INTO mcp_observatory_migrations (id, name) VALUES (1, '001_traces');
  EXECUTE $migration_1$
-- The table of spans, one row each. Columns and their meaning: src/base/fields.ts.
--
-- It is partitioned by day (UTC), and old days are dropped whole. Rows outside of all days, because a clock is wrong or
-- they are imported, go to mcp_traces_default. The key of each partition is that of a span, so that a span is stored
-- once by its ids, also when it is sent again with another start. A key of the whole table would have to hold
-- start_time: two starts on two days are two rows.

-- A table of the Python package, recognized by its times without time zone, is set aside; 002 takes it over.
DO $aside$
DECLARE
  first constant regclass := to_regclass(quote_ident(current_schema()) || '.mcp_traces');
  index_name text;
BEGIN
  IF (SELECT count(*) FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
      WHERE attrelid = first AND relkind = 'r' AND NOT attisdropped
        AND (attname, atttypid) IN (('trace_id', 'uuid'::regtype), ('span_id', 'uuid'::regtype),
          ('start_time', 'timestamp'::regtype), ('end_time', 'timestamp'::regtype))) < 4 THEN
    RETURN;
  END IF;
  ALTER TABLE mcp_traces RENAME TO mcp_traces_first;
  -- Its indexes must not have the names of ours.
  FOR index_name IN
    SELECT relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
    WHERE indrelid = first AND starts_with(relname, 'mcp_traces_')
  LOOP
    EXECUTE format('ALTER INDEX %I RENAME TO %I', index_name, replace(index_name, 'mcp_traces_', 'mcp_traces_first_'));
  END LOOP;
END
$aside$;

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
  ingest_xid bigint NOT NULL DEFAULT txid_current(),
  evidence_risk_score double precision,
  evidence_risk_level text,
  evidence_support double precision,
  evidence_findings text,
  evidence_sampled double precision,
  server_name text,
  client_name text,
  user_id text,
  connection_id text,
  run_id text,
  counted_on text,
  evidence_partial boolean,
  offered_tools integer,
  offered_tools_tokens integer,
  offered_tools_cost_usd double precision,
  offered_tools_hash text,
  offered_tools_list text
) PARTITION BY RANGE (start_time);
CREATE TABLE mcp_traces_default PARTITION OF mcp_traces (PRIMARY KEY (trace_id, span_id)) DEFAULT;

-- The key of a partition serves lookups by trace_id alone, so trace_id has no index of its own.
CREATE INDEX mcp_traces_service_start_time ON mcp_traces (service, start_time DESC);
-- Spans that are no model call have neither model nor prompt; leaving them out keeps these indexes small.
CREATE INDEX mcp_traces_model_start_time ON mcp_traces (model, start_time DESC) WHERE model IS NOT NULL;
CREATE INDEX mcp_traces_prompt_hash ON mcp_traces (prompt_hash) WHERE prompt_hash IS NOT NULL;
CREATE INDEX mcp_traces_normalized_prompt_hash ON mcp_traces (normalized_prompt_hash)
  WHERE normalized_prompt_hash IS NOT NULL;
CREATE INDEX mcp_traces_ingest_xid ON mcp_traces USING brin (ingest_xid) WITH (pages_per_range = 32, autosummarize = on);
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
-- Calls by the definition that a policy gate saw, for tools whose definition changed.
CREATE INDEX mcp_traces_tool_hash ON mcp_traces (start_time) WHERE tool_hash IS NOT NULL;
-- What gates said of tools that they do not offer: such a span has a definition and is no call.
CREATE INDEX mcp_traces_barred ON mcp_traces (start_time) WHERE tool_hash IS NOT NULL AND tool_name IS NULL;

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
  counted_on,
  evidence_partial,
  offered_tools,
  offered_tools_tokens,
  offered_tools_cost_usd,
  offered_tools_hash,
  offered_tools_list
FROM mcp_traces;

COMMENT ON TABLE mcp_traces IS 'OpenTelemetry spans of MCP and model traffic, one row each; written by mcp-observatory';
COMMENT ON TABLE mcp_traces_default IS 'Rows of mcp_traces that no other partition takes';
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
COMMENT ON COLUMN mcp_traces.session_id IS 'MCP session, the session the application governs by, or else the connection';
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
COMMENT ON COLUMN mcp_traces.ingest_xid IS 'Transaction that inserted the row; what roll-ups have counted is known by it';
COMMENT ON COLUMN mcp_traces.evidence_risk_score IS 'How unlikely the answer is to be true to its tool calls and documents (0..1)';
COMMENT ON COLUMN mcp_traces.evidence_risk_level IS 'high: contradicted, medium: facts not found, low: neither; null where nothing could be checked';
COMMENT ON COLUMN mcp_traces.evidence_support IS 'Share of the claims that could be checked which have no finding (0..1)';
COMMENT ON COLUMN mcp_traces.evidence_findings IS 'Contradicted places of the answer and facts not found: JSON list of kinds and offsets, no text';
COMMENT ON COLUMN mcp_traces.evidence_sampled IS 'Share of the documents that was read, where not all was (0..1)';
COMMENT ON COLUMN mcp_traces.server_name IS 'MCP server, by the name it gives itself: not verified';
COMMENT ON COLUMN mcp_traces.client_name IS 'MCP client, by the name it gives itself: not verified';
COMMENT ON COLUMN mcp_traces.user_id IS 'User the call was made for, as the application names it';
COMMENT ON COLUMN mcp_traces.connection_id IS 'One connection of an MCP client, or one client of a stateless server; chosen at random';
COMMENT ON COLUMN mcp_traces.run_id IS 'Run of an agent or of the orchestrator that the call belongs to';
COMMENT ON COLUMN mcp_traces.counted_on IS 'Where tokens and cost are counted instead: children, or the id of the span of the same call';
COMMENT ON COLUMN mcp_traces.evidence_partial IS 'True when the evidence scores may have seen only a part of the tool calls';
COMMENT ON COLUMN mcp_traces.offered_tools IS 'Tools whose definitions the model call carried';
COMMENT ON COLUMN mcp_traces.offered_tools_tokens IS 'Part of `prompt_tokens` that these definitions took';
COMMENT ON COLUMN mcp_traces.offered_tools_cost_usd IS 'Part of `cost_usd` that these definitions took';
COMMENT ON COLUMN mcp_traces.offered_tools_hash IS 'SHA-256 of the definitions offered, hex: the same for the same tools';
COMMENT ON COLUMN mcp_traces.offered_tools_list IS 'Servers, tools and estimated tokens of the definitions, JSON; on the first call with them and once a minute';

-- Makes the partitions of today and the days ahead that are not there yet, and returns how many. Processes may call it
-- at once. Writing goes on meanwhile, but for rows of the default partition.
CREATE FUNCTION mcp_traces_create_partitions(days_ahead integer DEFAULT 3) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET timezone = 'UTC' SET lock_timeout = '5s' SET client_min_messages = 'warning' AS $function$
DECLARE
  made integer := 0;
  part text;
  from_time timestamptz;
  to_time timestamptz;
BEGIN
  PERFORM pg_advisory_xact_lock(7882267396523914869);
  FOR day IN 0 .. days_ahead LOOP
    from_time := current_date + day;
    to_time := current_date + day + 1;
    part := 'mcp_traces_' || to_char(from_time, 'YYYYMMDD');
    CONTINUE WHEN to_regclass(part) IS NOT NULL;
    -- Made apart and attached when it is whole: that does not lock the table, as CREATE TABLE PARTITION OF does.
    EXECUTE format('CREATE TABLE %I (LIKE mcp_traces INCLUDING ALL, PRIMARY KEY (trace_id, span_id))', part);
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

DO $partitions$
BEGIN
  -- It runs with the rights of its owner, so it must not find a table that its caller put in the way.
  EXECUTE format('ALTER FUNCTION mcp_traces_create_partitions(integer) SET search_path = %I, pg_temp', current_schema());
  PERFORM mcp_traces_create_partitions();
END
$partitions$;
$migration_1$;
END
$guard$;

DO $guard$
BEGIN
  IF EXISTS (SELECT FROM mcp_observatory_migrations WHERE id = 2) THEN
    RETURN;
  END IF;
  INSERT INTO mcp_observatory_migrations (id, name) VALUES (2, '002_first_table');
  EXECUTE $migration_2$
-- Takes over the table of the Python package mcp-observatory, which 001 has set aside as mcp_traces_first: its rows, its
-- columns and what was granted on it. Its times have no zone and are UTC. It stays as it was; drop it when you have looked.
--
-- That package may go on writing to mcp_traces: columns that only it has are added, a trigger gives its rows what it does
-- not name, and puts the values of these columns into attributes too, as observatory.<column>, where archives and the page
-- find them.

DO $first$
DECLARE
  ours constant text[] := ARRAY(SELECT attname FROM pg_attribute WHERE attrelid = 'mcp_traces'::regclass AND attnum > 0);
  item record;
  columns text;
BEGIN
  IF to_regclass(quote_ident(current_schema()) || '.mcp_traces_first') IS NULL THEN
    RETURN;
  END IF;
  SET LOCAL timezone = 'UTC';

  FOR item IN
    SELECT attname, format_type(atttypid, atttypmod) AS type FROM pg_attribute
    WHERE attrelid = 'mcp_traces_first'::regclass AND attnum > 0 AND NOT attisdropped AND attname <> ALL (ours)
  LOOP
    EXECUTE format('ALTER TABLE mcp_traces ADD COLUMN %I %s', item.attname, item.type);
  END LOOP;

  CREATE FUNCTION mcp_traces_complete() RETURNS trigger LANGUAGE plpgsql AS $function$
  DECLARE
    given constant jsonb := to_jsonb(NEW);
  BEGIN
    NEW.trace_id := coalesce(NEW.trace_id, gen_random_uuid());
    NEW.span_id := coalesce(NEW.span_id, gen_random_uuid());
    NEW.end_time := coalesce(NEW.end_time, NEW.start_time);
    NEW.span_name := coalesce(NEW.method, NEW.tool_name, NEW.model, 'unknown');
    NEW.span_kind := coalesce(NEW.span_kind, 'internal');
    NEW.status_code := coalesce(NEW.status_code, 'unset');
    NEW.attributes := coalesce(NEW.attributes, '{}') || jsonb_strip_nulls(coalesce(
      (SELECT jsonb_object_agg('observatory.' || name, given -> name) FROM unnest(TG_ARGV) AS name), '{}'));
    NEW.resource := coalesce(NEW.resource, '{}');
    NEW.events := coalesce(NEW.events, '[]');
    NEW.links := coalesce(NEW.links, '[]');
    RETURN NEW;
  END
  $function$;
  SELECT string_agg(quote_literal(attname), ', ') INTO columns FROM pg_attribute
    WHERE attrelid = 'mcp_traces'::regclass AND attnum > 0 AND attname <> ALL (ours);
  EXECUTE format('CREATE TRIGGER mcp_traces_complete BEFORE INSERT ON mcp_traces
    FOR EACH ROW WHEN (NEW.span_name IS NULL) EXECUTE FUNCTION mcp_traces_complete(%s)', columns);

  FOR item IN
    SELECT privilege_type, is_grantable, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END AS grantee
    FROM pg_class, aclexplode(relacl)
    WHERE pg_class.oid = 'mcp_traces_first'::regclass AND grantee <> relowner
  LOOP
    EXECUTE format('GRANT %s ON mcp_traces TO %s%s', item.privilege_type, item.grantee,
      CASE WHEN item.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END);
  END LOOP;

  -- The second row of one id gets another.
  SELECT string_agg(quote_ident(attname), ', ') INTO columns FROM pg_attribute
    WHERE attrelid = 'mcp_traces_first'::regclass AND attnum > 0 AND NOT attisdropped
      AND attname NOT IN ('span_id', 'start_time');
  EXECUTE format($sql$
    INSERT INTO mcp_traces (%1$s, span_id, start_time, attributes)
    SELECT %1$s, CASE WHEN turn = 1 THEN span_id END, coalesce(start_time, end_time, '1970-01-01'),
      CASE WHEN turn > 1 THEN jsonb_strip_nulls(jsonb_build_object('observatory.span_id_of_another_row', span_id)) END
    FROM (SELECT *, row_number() OVER (PARTITION BY trace_id, span_id) AS turn FROM mcp_traces_first) AS rows
  $sql$, columns);
END
$first$;
$migration_2$;
END
$guard$;

DO $guard$
BEGIN
  IF EXISTS (SELECT FROM mcp_observatory_migrations WHERE id = 3) THEN
    RETURN;
  END IF;
  INSERT INTO mcp_observatory_migrations (id, name) VALUES (3, '003_prompt_drift');
  EXECUTE $migration_3$
-- How far prompts spread: distinct normalized prompts by service and tool, over time and after a change of template.
-- A prompt is known by normalized_prompt_hash; shadow runs are left out, since they try other prompts on purpose. Both
-- views read all rows that are kept; `mcp-observatory drift` asks for two windows of time instead.

-- One row for each day (UTC), service and tool. new_hashes were never seen before that day, new_prompts is how many
-- prompts had one of them.
CREATE VIEW mcp_prompt_drift AS
WITH counted AS (
  SELECT (start_time AT TIME ZONE 'UTC')::date AS day, service, tool_name, prompt_template_id, normalized_prompt_hash,
    count(*) AS prompts
  FROM mcp_traces
  WHERE normalized_prompt_hash IS NOT NULL AND is_shadow IS NOT TRUE
  GROUP BY 1, 2, 3, 4, 5
), aged AS (
  SELECT counted.*, min(day) OVER (PARTITION BY service, tool_name, normalized_prompt_hash) AS first_day
  FROM counted
)
SELECT
  day,
  service,
  tool_name,
  sum(prompts)::bigint AS prompts,
  count(DISTINCT normalized_prompt_hash) AS hashes,
  count(DISTINCT normalized_prompt_hash) FILTER (WHERE first_day = day) AS new_hashes,
  coalesce(sum(prompts) FILTER (WHERE first_day = day), 0)::bigint AS new_prompts,
  count(DISTINCT prompt_template_id) AS templates
FROM aged
GROUP BY day, service, tool_name;

-- One row for each template of a service and tool, with the one that came before it. new_hashes were not seen before
-- the template was: what its change brought.
CREATE VIEW mcp_prompt_template_changes AS
WITH counted AS (
  SELECT service, tool_name, prompt_template_id, normalized_prompt_hash, count(*) AS prompts,
    min(start_time) AS first_seen, max(start_time) AS last_seen
  FROM mcp_traces
  WHERE normalized_prompt_hash IS NOT NULL AND is_shadow IS NOT TRUE
  GROUP BY 1, 2, 3, 4
), aged AS (
  SELECT counted.*,
    min(first_seen) OVER (PARTITION BY service, tool_name, normalized_prompt_hash) AS hash_first_seen,
    min(first_seen) OVER (PARTITION BY service, tool_name, prompt_template_id) AS template_first_seen
  FROM counted
), templates AS (
  SELECT service, tool_name, prompt_template_id, min(first_seen) AS first_seen, max(last_seen) AS last_seen,
    sum(prompts)::bigint AS prompts,
    count(*) AS hashes,
    count(*) FILTER (WHERE hash_first_seen >= template_first_seen) AS new_hashes
  FROM aged
  WHERE prompt_template_id IS NOT NULL
  GROUP BY 1, 2, 3
)
SELECT
  service,
  tool_name,
  prompt_template_id,
  lag(prompt_template_id) OVER (PARTITION BY service, tool_name ORDER BY first_seen, prompt_template_id)
    AS previous_template_id,
  first_seen,
  last_seen,
  prompts,
  hashes,
  new_hashes
FROM templates;

COMMENT ON VIEW mcp_prompt_drift IS 'Distinct and new normalized prompts by day, service and tool';
COMMENT ON VIEW mcp_prompt_template_changes IS 'New normalized prompts since each prompt template was first seen';
$migration_3$;
END
$guard$;

DO $guard$
BEGIN
  IF EXISTS (SELECT FROM mcp_observatory_migrations WHERE id = 4) THEN
    RETURN;
  END IF;
  INSERT INTO mcp_observatory_migrations (id, name) VALUES (4, '004_rollups');
  EXECUTE $migration_4$
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
$migration_4$;
END
$guard$;

DO $guard$
BEGIN
  IF EXISTS (SELECT FROM mcp_observatory_migrations WHERE id = 5) THEN
    RETURN;
  END IF;
  INSERT INTO mcp_observatory_migrations (id, name) VALUES (5, '005_runs');
  EXECUTE $migration_5$
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
$migration_5$;
END
$guard$;

DO $guard$
BEGIN
  IF EXISTS (SELECT FROM mcp_observatory_migrations WHERE id = 6) THEN
    RETURN;
  END IF;
  INSERT INTO mcp_observatory_migrations (id, name) VALUES (6, '006_context_tax');
  EXECUTE $migration_6$
-- What the definitions of tools cost of the model calls that offer them, by server and tool.

CREATE TABLE mcp_tool_sets (
  offered_tools_hash text NOT NULL,
  server_name text NOT NULL,
  tool_name text NOT NULL,
  tokens bigint NOT NULL,
  total_tokens bigint NOT NULL,
  last_time timestamptz NOT NULL,
  PRIMARY KEY (offered_tools_hash, server_name, tool_name)
);
COMMENT ON TABLE mcp_tool_sets IS 'The tools behind each offered_tools_hash; an absent name is an empty text';
COMMENT ON COLUMN mcp_tool_sets.tokens IS 'Estimate for the definition; its share of total_tokens is its share of what the call paid for all';

CREATE TABLE mcp_tax_hourly (
  hour timestamptz NOT NULL,
  provider text NOT NULL,
  model text NOT NULL,
  offered_tools_hash text NOT NULL,
  calls bigint NOT NULL,
  tokens bigint NOT NULL,
  cost_usd double precision NOT NULL,
  unpriced bigint NOT NULL,
  prompt_tokens bigint NOT NULL,
  PRIMARY KEY (hour, provider, model, offered_tools_hash)
);
COMMENT ON TABLE mcp_tax_hourly IS 'Model calls that offered tools by model and set of tools, and the hour they started in (UTC)';
COMMENT ON COLUMN mcp_tax_hourly.tokens IS 'Of the definitions; prompt_tokens are those of the whole prompts';

CREATE TABLE mcp_tax_state (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  next_xid bigint NOT NULL,
  refreshed_at timestamptz NOT NULL
);
COMMENT ON TABLE mcp_tax_state IS 'Rows of transactions before next_xid are counted in mcp_tax_hourly';

-- The tools of an offered_tools_list; none where it is not of the right form. Anybody may send a span.
CREATE FUNCTION mcp_tax_tools(list text)
RETURNS TABLE (server_name text, tool_name text, tokens bigint, total_tokens bigint)
LANGUAGE plpgsql IMMUTABLE AS $function$
BEGIN
  IF octet_length(list) > 65536 THEN
    RETURN;
  END IF;
  RETURN QUERY
    SELECT mcp_traces_short(s.key), mcp_traces_short(t.key),
      least(greatest((t.value #>> '{}')::numeric, 0), 1000000000)::bigint,
      least(greatest((list::jsonb ->> 'total')::numeric, 0), 1000000000)::bigint
    FROM jsonb_each(list::jsonb -> 'tools') AS s, jsonb_each(s.value) AS t LIMIT 4096;
EXCEPTION WHEN others THEN
  RETURN;
END
$function$;

-- Adds what was inserted since the last refresh. Returns the calls added, NULL when another process is at it.
CREATE FUNCTION mcp_tax_refresh() RETURNS bigint
LANGUAGE plpgsql SET timezone = 'UTC' SET work_mem = '64MB' SET jit = off AS $function$
DECLARE
  from_xid bigint;
  to_xid bigint;
  counted bigint;
BEGIN
  IF NOT pg_try_advisory_xact_lock(7882267396523914874) THEN
    RETURN NULL;
  END IF;
  SELECT next_xid INTO from_xid FROM mcp_tax_state FOR UPDATE;
  to_xid := txid_snapshot_xmin(txid_current_snapshot());
  IF from_xid = to_xid THEN
    RETURN 0;
  END IF;
  WITH fresh AS MATERIALIZED (
    SELECT hour, mcp_traces_short(provider) AS provider, mcp_traces_short(model) AS model,
      left(offered_tools_hash, 64) AS offered_tools_hash, offered_tools_list, last_time, calls, tokens, cost_usd, unpriced,
      prompt_tokens
    FROM (
      SELECT date_trunc('hour', start_time) AS hour, provider, model, offered_tools_hash, offered_tools_list,
        max(start_time) AS last_time, count(*) FILTER (WHERE is_paid) AS calls,
        sum(offered_tools_tokens) FILTER (WHERE is_paid) AS tokens,
        sum(offered_tools_cost_usd) FILTER (WHERE is_paid AND offered_tools_cost_usd BETWEEN 0 AND 1e9) AS cost_usd,
        count(*) FILTER (WHERE is_paid AND (offered_tools_cost_usd BETWEEN 0 AND 1e9) IS NOT TRUE) AS unpriced,
        sum(prompt_tokens) FILTER (WHERE is_paid AND prompt_tokens BETWEEN 0 AND 1000000000) AS prompt_tokens
      FROM (
        SELECT *, counted_on IS NULL AND offered_tools_tokens BETWEEN 0 AND 1000000000 AS is_paid
        FROM mcp_traces
        WHERE offered_tools_hash IS NOT NULL
          AND ingest_xid >= coalesce(from_xid, 0) AND ingest_xid < to_xid
      ) AS inserted
      GROUP BY hour, provider, model, offered_tools_hash, offered_tools_list
    ) AS groups
  ), lists AS (
    SELECT offered_tools_hash, offered_tools_list, max(last_time) AS last_time FROM fresh
    WHERE offered_tools_list IS NOT NULL GROUP BY offered_tools_hash, offered_tools_list
  ), told AS (
    INSERT INTO mcp_tool_sets
    SELECT DISTINCT ON (offered_tools_hash, server_name, tool_name)
      offered_tools_hash, server_name, tool_name, tokens, total_tokens, last_time
    FROM lists, mcp_tax_tools(offered_tools_list)
    ORDER BY offered_tools_hash, server_name, tool_name, last_time DESC
    ON CONFLICT (offered_tools_hash, server_name, tool_name) DO UPDATE SET
      tokens = excluded.tokens, total_tokens = excluded.total_tokens, last_time = excluded.last_time
  ), summed AS (
    INSERT INTO mcp_tax_hourly AS old
    SELECT hour, provider, model, offered_tools_hash, sum(calls), sum(tokens), coalesce(sum(cost_usd), 0), sum(unpriced),
      coalesce(sum(prompt_tokens), 0)
    FROM fresh WHERE calls > 0
    GROUP BY hour, provider, model, offered_tools_hash
    ORDER BY hour, provider, model, offered_tools_hash
    ON CONFLICT (hour, provider, model, offered_tools_hash) DO UPDATE SET
      calls = old.calls + excluded.calls,
      tokens = old.tokens + excluded.tokens,
      cost_usd = old.cost_usd + excluded.cost_usd,
      unpriced = old.unpriced + excluded.unpriced,
      prompt_tokens = old.prompt_tokens + excluded.prompt_tokens
  )
  SELECT coalesce(sum(calls), 0) INTO counted FROM fresh;
  INSERT INTO mcp_tax_state (next_xid, refreshed_at) VALUES (to_xid, now())
    ON CONFLICT (is_only) DO UPDATE SET next_xid = excluded.next_xid, refreshed_at = excluded.refreshed_at;
  RETURN counted;
END
$function$;

-- Each tool's share of what calls paid for definitions. What providers add to them, and sets whose tools are not known,
-- is the row without names, so that a sum over the rows of an hour is what its calls paid.
CREATE VIEW mcp_tool_tax AS
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
  sum(calls)::bigint AS calls, sum(tokens * coalesce(share, 1)) AS tokens, sum(cost_usd * coalesce(share, 1)) AS cost_usd,
  sum(unpriced)::bigint AS unpriced
FROM mcp_tax_hourly LEFT JOIN shares USING (offered_tools_hash)
GROUP BY hour, provider, model, coalesce(server_name, ''), coalesce(tool_name, '');
COMMENT ON VIEW mcp_tool_tax IS 'What the definition of each tool cost, by hour (UTC) and model';
$migration_6$;
END
$guard$;

DO $guard$
BEGIN
  IF EXISTS (SELECT FROM mcp_observatory_migrations WHERE id = 7) THEN
    RETURN;
  END IF;
  INSERT INTO mcp_observatory_migrations (id, name) VALUES (7, '007_reviews_and_approvals');
  EXECUTE $migration_7$
-- Answers and calls that wait for a person: the built-in queue of the fallback human_review.
--
-- A worker claims a review for the time of a lease; each claim has a higher claim_token, and a decision names the token
-- of its claim. So a worker that crashes loses nothing, because its claim lapses, and one that comes back late decides
-- nothing, because another has claimed the review since.

CREATE TABLE mcp_reviews (
  review_id uuid PRIMARY KEY,
  status text NOT NULL DEFAULT 'pending',
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  fallback_reason text NOT NULL,
  tool_name text,
  service text,
  model text,
  risk_tier text,
  prompt_template_id text,
  session_id text,
  confidence double precision,
  hallucination_risk_score double precision,
  trace_id uuid,
  span_id uuid,
  -- As it was given, which jsonb would not keep: \u0000 and the order of members.
  content json NOT NULL,
  claim_token integer NOT NULL DEFAULT 0,
  claimed_by text,
  claimed_at timestamptz,
  lease_expires_at timestamptz,
  decided_by text,
  decided_at timestamptz,
  note text,
  response json,
  scope text,
  CONSTRAINT mcp_reviews_status CHECK (status IN ('pending', 'claimed', 'approved', 'rejected', 'expired')),
  CONSTRAINT mcp_reviews_claim CHECK (
    status NOT IN ('claimed', 'approved', 'rejected')
    OR (claim_token > 0 AND claimed_by IS NOT NULL AND claimed_at IS NOT NULL AND lease_expires_at IS NOT NULL)
  ),
  CONSTRAINT mcp_reviews_decision CHECK (
    (status IN ('approved', 'rejected', 'expired')) = (decided_at IS NOT NULL)
    AND (status IN ('approved', 'rejected')) = (decided_by IS NOT NULL)
  ),
  CONSTRAINT mcp_reviews_scope CHECK (scope IS NULL OR status = 'approved' AND scope IN ('once', 'session', 'definition'))
);

-- Open reviews are few and decided ones many: what claims and expires looks at the open ones alone.
CREATE INDEX mcp_reviews_open ON mcp_reviews (created_at, review_id) WHERE status IN ('pending', 'claimed');
CREATE INDEX mcp_reviews_open_expires_at ON mcp_reviews (expires_at) WHERE status IN ('pending', 'claimed');
CREATE INDEX mcp_reviews_status_created_at ON mcp_reviews (status, created_at DESC);
CREATE INDEX mcp_reviews_trace_id ON mcp_reviews (trace_id) WHERE trace_id IS NOT NULL;

-- What was decided stays as it was decided, whoever writes.
CREATE FUNCTION mcp_reviews_keep_decided() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
  RAISE EXCEPTION 'the review % is % and cannot be changed', OLD.review_id, OLD.status USING ERRCODE = 'P0001';
END
$function$;

CREATE TRIGGER mcp_reviews_keep_decided BEFORE UPDATE ON mcp_reviews
  FOR EACH ROW WHEN (OLD.status IN ('approved', 'rejected', 'expired')) EXECUTE FUNCTION mcp_reviews_keep_decided();

COMMENT ON TABLE mcp_reviews IS 'Answers and calls that wait for a person, one row each; written by mcp-observatory';
COMMENT ON COLUMN mcp_reviews.status IS 'pending, claimed, approved, rejected or expired; the last three are final';
COMMENT ON COLUMN mcp_reviews.expires_at IS 'Undecided at that time, it can no longer be decided';
COMMENT ON COLUMN mcp_reviews.fallback_reason IS 'Why a person is asked: low_confidence, high_hallucination, tool_error, policy_violation ...';
COMMENT ON COLUMN mcp_reviews.trace_id IS 'Trace of the fallback, as in mcp_traces';
COMMENT ON COLUMN mcp_reviews.span_id IS 'Span of the fallback, as in mcp_traces';
COMMENT ON COLUMN mcp_reviews.content IS 'What the worker looks at: prompt, arguments, refused answer';
COMMENT ON COLUMN mcp_reviews.claim_token IS 'How often it was claimed; a decision names the newest token';
COMMENT ON COLUMN mcp_reviews.lease_expires_at IS 'From then on another worker may claim it';
COMMENT ON COLUMN mcp_reviews.response IS 'The answer that an approval gave, when it gave one';
COMMENT ON COLUMN mcp_reviews.decided_by IS 'Who decided, as they named themselves; page:NAME where it was on the page';
COMMENT ON COLUMN mcp_reviews.scope IS 'How far the approval of a call goes: once (also where it is null), session or definition';

-- Approvals of single tool calls that the policy gate holds for a person. The request is a review, which is claimed and
-- decided like any other; this table says for which call it is, how far an approval may go (one call, the session that
-- asked, or until the definition of the tool changes), and what became of it. The arguments stay bound in each: a call
-- with other arguments asks again.

CREATE TABLE mcp_approvals (
  review_id uuid PRIMARY KEY REFERENCES mcp_reviews ON DELETE CASCADE,
  fingerprint text NOT NULL,
  usable_ms double precision NOT NULL,
  used_at timestamptz,
  session_ms double precision,
  definition_ms double precision,
  subject text,
  definition_hash text,
  uses integer NOT NULL DEFAULT 0,
  last_used_at timestamptz,
  ended_at timestamptz,
  ended_by text,
  ended_note text,
  announced_at timestamptz,
  announce_after timestamptz NOT NULL DEFAULT now(),
  announce_tries integer NOT NULL DEFAULT 0
);
CREATE INDEX mcp_approvals_fingerprint ON mcp_approvals (fingerprint) WHERE used_at IS NULL;
CREATE INDEX mcp_approvals_subject ON mcp_approvals (subject) WHERE used_at IS NULL AND ended_at IS NULL;
CREATE INDEX mcp_approvals_unannounced ON mcp_approvals (announce_after) WHERE announced_at IS NULL;
COMMENT ON TABLE mcp_approvals IS 'Reviews that approve one exact tool call: at most once, for a session, or for a definition';
COMMENT ON COLUMN mcp_approvals.fingerprint IS 'SHA-256 of the call that the content of the review shows, hex: of caller, server, tool, definition, digest, policy and arguments as a JSON array';
COMMENT ON COLUMN mcp_approvals.used_at IS 'When a process took it for its call; no other process can';
COMMENT ON COLUMN mcp_approvals.usable_ms IS 'How long after the decision it can be used once, and a rejection stands, in milliseconds';
COMMENT ON COLUMN mcp_approvals.session_ms IS 'How long one for the session (session_id of the review) can be used; null if none may be given';
COMMENT ON COLUMN mcp_approvals.definition_ms IS 'How long one for the definition can be used; null if none may be given';
COMMENT ON COLUMN mcp_approvals.subject IS 'SHA-256 of caller, server and tool, hex';
COMMENT ON COLUMN mcp_approvals.definition_hash IS 'Definition it is for, hex; a call under another one ends it';
COMMENT ON COLUMN mcp_approvals.uses IS 'Calls that were made with it';
COMMENT ON COLUMN mcp_approvals.ended_at IS 'When it was revoked, or a call came under another definition; it approves nothing since';
COMMENT ON COLUMN mcp_approvals.ended_by IS 'Who revoked it; null where the definition changed';
COMMENT ON COLUMN mcp_approvals.announced_at IS 'When the webhook took the request';

-- What was used for its one call, or ended, stays so, whoever writes; only its announcement may still be noted.
CREATE FUNCTION mcp_approvals_keep_used() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
  RAISE EXCEPTION 'the approval % was % and cannot be changed', OLD.review_id,
    CASE WHEN OLD.used_at IS NULL THEN 'ended' ELSE 'used' END USING ERRCODE = 'P0001';
END
$function$;
CREATE TRIGGER mcp_approvals_keep_used BEFORE UPDATE ON mcp_approvals
  FOR EACH ROW WHEN ((OLD.used_at IS NOT NULL OR OLD.ended_at IS NOT NULL) AND (
    OLD.fingerprint, OLD.used_at, OLD.uses, OLD.last_used_at, OLD.ended_at, OLD.ended_by, OLD.ended_note, OLD.usable_ms,
    OLD.session_ms, OLD.definition_ms
  ) IS DISTINCT FROM (
    NEW.fingerprint, NEW.used_at, NEW.uses, NEW.last_used_at, NEW.ended_at, NEW.ended_by, NEW.ended_note, NEW.usable_ms,
    NEW.session_ms, NEW.definition_ms))
  EXECUTE FUNCTION mcp_approvals_keep_used();
$migration_7$;
END
$guard$;

DO $guard$
BEGIN
  IF EXISTS (SELECT FROM mcp_observatory_migrations WHERE id = 8) THEN
    RETURN;
  END IF;
  INSERT INTO mcp_observatory_migrations (id, name) VALUES (8, '008_review_functions');
  EXECUTE $migration_8$
-- Reviews and approvals change only through functions, each of which one role may call (schema/roles.sql). They run with the
-- rights of their owner, take the time from the server, and name every table with its schema, so that nothing a caller
-- makes stands in for one.
--
-- A request for an approval is given in its parts: caller, server, tool, definition, digest of the arguments, policy, and the
-- arguments. From these the server makes both the content that people look at and the fingerprint of what is approved.
DO $migration$
BEGIN
  EXECUTE replace($functions$

-- Refuses a number of milliseconds that is not above 0 and up to a bound; null passes.
CREATE FUNCTION @schema@.mcp_reviews_check_ms(a_name text, a_ms double precision, a_most double precision) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
  IF NOT (a_ms > 0 AND a_ms <= a_most) THEN
    RAISE EXCEPTION '% must be above 0 and at most % ms', a_name, a_most USING ERRCODE = '22023';
  END IF;
END
$function$;

-- A name as it is stored: one of more than 1,024 bytes is cut, and ends in its SHA-256, so that it is still another name.
CREATE FUNCTION @schema@.mcp_reviews_name(a_name text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $function$
  SELECT CASE WHEN octet_length(a_name) <= 1024 THEN a_name
    ELSE left(a_name, 100) || '~' || encode(sha256(convert_to(a_name, 'UTF8')), 'hex') END
$function$;

-- Refuses a text or JSON of more bytes than this; null passes.
CREATE FUNCTION @schema@.mcp_reviews_check_bytes(a_what text, a_text text, a_most integer) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
  IF octet_length(a_text) > a_most THEN
    RAISE EXCEPTION '% has at most % bytes', a_what, a_most USING ERRCODE = '22023';
  END IF;
END
$function$;

-- Takes the approval of a call, or asks for one. Answers `approved` for an approval that is in force, once where it is for
-- one call, `rejected` while a rejection stands, else `waiting` with the open request of the session, which it makes if
-- there is none. One caller at a time per caller and tool. The times are those of the caller's policy: the shorter of them
-- and those that were asked for hold.
CREATE FUNCTION @schema@.mcp_approvals_take(
  a_caller json, a_server json, a_tool json, a_definition json, a_digest json, a_policy json, a_args json, a_message json,
  a_rules json, a_session text, a_usable_ms double precision, a_session_ms double precision, a_definition_ms double precision,
  a_expires_ms double precision, a_trace_id uuid, a_span_id uuid
) RETURNS TABLE (approval uuid, state text, person text, remark text, reach text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  -- Texts of JSON, which may have escapes that no text can hold; quotes are all that a name without escapes has around it.
  shown text := format('{"approval":{"caller":%s,"server":%s,"tool":%s,"toolHash":%s,"argsDigest":%s,"policyHash":%s,"args":%s,',
    a_caller, a_server, a_tool, a_definition, a_digest, a_policy, a_args);
  wanted text := encode(sha256(convert_to(format('[%s,%s,%s,%s,%s,%s,%s]',
    a_caller, a_server, a_tool, a_definition, a_digest, a_policy, a_args), 'UTF8')), 'hex');
  whose text := encode(sha256(convert_to(format('[%s,%s,%s]', a_caller, a_server, a_tool), 'UTF8')), 'hex');
  hash text := @schema@.mcp_reviews_name(trim(a_definition::text, '"'));
  asking text := @schema@.mcp_reviews_name(a_session);
  content_of json;
  moment timestamptz;
  found_id uuid;
BEGIN
  IF (json_typeof(a_caller), json_typeof(a_server), json_typeof(a_tool), json_typeof(a_definition), json_typeof(a_digest),
      json_typeof(a_policy), json_typeof(a_args), json_typeof(a_message), json_typeof(a_rules))
      IS DISTINCT FROM ('string', 'string', 'string', 'string', 'string', 'string', 'object', 'string', 'array')
      OR a_usable_ms IS NULL OR a_expires_ms IS NULL THEN
    RAISE EXCEPTION 'this is no request for an approval' USING ERRCODE = '22023';
  END IF;
  content_of := format('%s"message":%s,"ruleIds":%s}}', shown, a_message, a_rules);
  PERFORM @schema@.mcp_reviews_check_bytes('a request for an approval', content_of::text, 1048576);
  -- The bounds of schema/policy.schema.json.
  PERFORM @schema@.mcp_reviews_check_ms('the time of an approval', a_usable_ms, 86400000);
  PERFORM @schema@.mcp_reviews_check_ms('the time of an approval for a session', a_session_ms, 604800000);
  PERFORM @schema@.mcp_reviews_check_ms('the time of an approval for a definition', a_definition_ms, 31536000000);
  PERFORM @schema@.mcp_reviews_check_ms('the time of a request', a_expires_ms, 315360000000);
  -- By tool first: calls under two definitions of it would else lock each other's approvals.
  PERFORM pg_advisory_xact_lock(hashtextextended(whose, 7882267396523914873));
  PERFORM pg_advisory_xact_lock(hashtextextended(wanted, 7882267396523914872));
  moment := clock_timestamp();
  -- The tool is another one now: what was approved for the old one does not come back with it.
  UPDATE @schema@.mcp_approvals a SET ended_at = moment, ended_note = 'the definition changed'
    WHERE a.subject = whose AND a.definition_hash IS DISTINCT FROM hash AND a.used_at IS NULL AND a.ended_at IS NULL
      AND EXISTS (SELECT FROM @schema@.mcp_reviews r
        WHERE r.review_id = a.review_id AND r.scope IN ('session', 'definition'));
  UPDATE @schema@.mcp_approvals u SET uses = u.uses + 1, last_used_at = moment,
    used_at = CASE WHEN one.scope = 'once' THEN moment END
  FROM (
    SELECT a.review_id AS id, coalesce(r.scope, 'once') AS scope
    FROM @schema@.mcp_approvals a JOIN @schema@.mcp_reviews r USING (review_id)
    WHERE a.fingerprint = wanted AND a.used_at IS NULL AND a.ended_at IS NULL AND r.status = 'approved'
      AND r.fallback_reason = 'approval_required' AND starts_with(r.content::text, shown)
      AND CASE coalesce(r.scope, 'once') WHEN 'session' THEN r.session_id = asking WHEN 'definition' THEN true
        -- For one call: of the session that asked, or of one that has no request of its own, as after a restart.
        ELSE r.session_id IS NOT DISTINCT FROM asking OR NOT EXISTS (
          SELECT FROM @schema@.mcp_approvals p JOIN @schema@.mcp_reviews o USING (review_id)
          WHERE p.fingerprint = wanted AND p.used_at IS NULL AND o.session_id IS NOT DISTINCT FROM asking
            AND o.status IN ('pending', 'claimed') AND o.expires_at > moment) END
      AND r.decided_at + interval '1 millisecond' * CASE coalesce(r.scope, 'once')
        WHEN 'session' THEN CASE WHEN a_session_ms IS NOT NULL THEN least(a.session_ms, a_session_ms) END
        WHEN 'definition' THEN CASE WHEN a_definition_ms IS NOT NULL THEN least(a.definition_ms, a_definition_ms) END
        ELSE least(a.usable_ms, a_usable_ms) END > moment
    ORDER BY coalesce(r.scope, 'once') = 'once', r.session_id IS DISTINCT FROM asking, r.decided_at LIMIT 1) AS one
  -- Again, of the row as it is once it is locked: it may have been revoked meanwhile.
  WHERE u.review_id = one.id AND u.used_at IS NULL AND u.ended_at IS NULL
  RETURNING u.review_id INTO found_id;
  IF found_id IS NOT NULL THEN
    RETURN QUERY SELECT r.review_id, 'approved', r.decided_by, r.note, coalesce(r.scope, 'once')
      FROM @schema@.mcp_reviews r WHERE r.review_id = found_id;
    RETURN;
  END IF;
  RETURN QUERY SELECT r.review_id, 'rejected', r.decided_by, r.note, NULL::text
    FROM @schema@.mcp_approvals a JOIN @schema@.mcp_reviews r USING (review_id)
    WHERE a.fingerprint = wanted AND a.used_at IS NULL AND r.status = 'rejected'
      AND r.decided_at + a_usable_ms * interval '1 millisecond' > moment
    ORDER BY r.decided_at DESC LIMIT 1;
  IF FOUND THEN
    RETURN;
  END IF;
  RETURN QUERY SELECT r.review_id, 'waiting', NULL::text, NULL::text, NULL::text
    FROM @schema@.mcp_approvals a JOIN @schema@.mcp_reviews r USING (review_id)
    WHERE a.fingerprint = wanted AND a.used_at IS NULL AND r.status IN ('pending', 'claimed') AND r.expires_at > moment
      AND r.session_id IS NOT DISTINCT FROM asking
    LIMIT 1;
  IF FOUND THEN
    RETURN;
  END IF;
  INSERT INTO @schema@.mcp_reviews (review_id, expires_at, fallback_reason, tool_name, trace_id, span_id, content, session_id)
    VALUES (gen_random_uuid(), now() + a_expires_ms * interval '1 millisecond', 'approval_required',
      @schema@.mcp_reviews_name(trim(a_tool::text, '"')), a_trace_id, a_span_id, content_of, asking)
    RETURNING review_id INTO found_id;
  INSERT INTO @schema@.mcp_approvals (review_id, fingerprint, usable_ms, session_ms, definition_ms, subject, definition_hash)
    VALUES (found_id, wanted, a_usable_ms, CASE WHEN a_session IS NOT NULL THEN a_session_ms END, a_definition_ms, whose, hash);
  RETURN QUERY SELECT found_id, 'waiting', NULL::text, NULL::text, NULL::text;
END
$function$;
COMMENT ON FUNCTION @schema@.mcp_approvals_take IS 'Takes the approval of a call, or asks for one';

-- Puts an answer or a call aside for a person. Requests for approvals, and decisions about tools, come another way.
CREATE FUNCTION @schema@.mcp_reviews_submit(
  a_id uuid, a_reason text, a_tool text, a_service text, a_model text, a_risk_tier text, a_template text, a_session text,
  a_confidence double precision, a_risk double precision, a_trace_id uuid, a_span_id uuid, a_content json,
  a_expires_ms double precision
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
  IF a_reason IN ('approval_required', 'tool_definition') THEN
    RAISE EXCEPTION 'a review cannot be submitted with this reason' USING ERRCODE = '22023';
  END IF;
  PERFORM @schema@.mcp_reviews_check_bytes('the content of a review', a_content::text, 1048576);
  PERFORM @schema@.mcp_reviews_check_ms('the time of a review', a_expires_ms, 315360000000);
  INSERT INTO @schema@.mcp_reviews (review_id, fallback_reason, tool_name, service, model, risk_tier, prompt_template_id,
      session_id, confidence, hallucination_risk_score, trace_id, span_id, content, expires_at)
    VALUES (a_id, @schema@.mcp_reviews_name(a_reason), @schema@.mcp_reviews_name(a_tool), @schema@.mcp_reviews_name(a_service),
      @schema@.mcp_reviews_name(a_model), @schema@.mcp_reviews_name(a_risk_tier), @schema@.mcp_reviews_name(a_template),
      @schema@.mcp_reviews_name(a_session), a_confidence, a_risk, a_trace_id, a_span_id, a_content,
      now() + a_expires_ms * interval '1 millisecond');
END
$function$;
COMMENT ON FUNCTION @schema@.mcp_reviews_submit IS 'Puts an answer or a call aside for a person';

-- What became of reviews, for those who know their ids.
CREATE FUNCTION @schema@.mcp_reviews_outcomes(a_ids uuid[])
RETURNS TABLE (review_id uuid, status text, decided_by text, decided_at timestamptz, note text, response json)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
  SELECT r.review_id,
    CASE WHEN r.status IN ('pending', 'claimed') AND r.expires_at <= clock_timestamp() THEN 'expired' ELSE r.status END,
    r.decided_by, r.decided_at, r.note, r.response
  FROM @schema@.mcp_reviews r WHERE r.review_id = ANY (a_ids)
$function$;
COMMENT ON FUNCTION @schema@.mcp_reviews_outcomes IS 'What became of reviews';

-- Claims a review, or the oldest free one; those that others are claiming are skipped.
CREATE FUNCTION @schema@.mcp_reviews_claim(a_worker text, a_lease_ms double precision, a_tool text, a_id uuid)
RETURNS SETOF @schema@.mcp_reviews
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  moment timestamptz := clock_timestamp();
BEGIN
  PERFORM @schema@.mcp_reviews_check_ms('the time of a claim', a_lease_ms, 315360000000);
  RETURN QUERY UPDATE @schema@.mcp_reviews r SET status = 'claimed', claimed_by = @schema@.mcp_reviews_name(a_worker), claimed_at = moment,
      lease_expires_at = moment + a_lease_ms * interval '1 millisecond', claim_token = r.claim_token + 1
    WHERE r.review_id = (
      SELECT o.review_id FROM @schema@.mcp_reviews o
      WHERE o.status IN ('pending', 'claimed') AND (o.status = 'pending' OR o.lease_expires_at <= moment)
        AND o.expires_at > moment AND (a_tool IS NULL OR o.tool_name = @schema@.mcp_reviews_name(a_tool)) AND (a_id IS NULL OR o.review_id = a_id)
      ORDER BY o.created_at, o.review_id LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING r.*;
END
$function$;
COMMENT ON FUNCTION @schema@.mcp_reviews_claim IS 'Claims a review, or the oldest free one';

-- Decides a claimed review. The token is the fence: it stays valid after the lease has lapsed, until someone else claims the
-- review. A request for an approval is approved only as far as it offers.
CREATE FUNCTION @schema@.mcp_reviews_decide(
  a_id uuid, a_token integer, a_worker text, a_status text, a_note text, a_response json, a_scope text
) RETURNS SETOF @schema@.mcp_reviews
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  moment timestamptz := clock_timestamp();
BEGIN
  IF a_status IS NULL OR a_status NOT IN ('approved', 'rejected') THEN
    RAISE EXCEPTION 'a review is approved or rejected' USING ERRCODE = '22023';
  END IF;
  PERFORM @schema@.mcp_reviews_check_bytes('the note of a decision', a_note, 65536);
  PERFORM @schema@.mcp_reviews_check_bytes('the answer of a review', a_response::text, 1048576);
  RETURN QUERY UPDATE @schema@.mcp_reviews r SET status = a_status, decided_by = r.claimed_by, decided_at = moment, note = a_note,
      response = a_response, scope = a_scope
    WHERE r.review_id = a_id AND r.status = 'claimed' AND r.claim_token = a_token AND r.claimed_by = @schema@.mcp_reviews_name(a_worker)
      AND r.expires_at > moment
      AND (a_status = 'rejected' OR r.fallback_reason <> 'approval_required' AND a_scope IS NULL OR EXISTS (
        SELECT FROM @schema@.mcp_approvals a
        WHERE a.review_id = r.review_id AND (a_scope IS NULL OR a_scope = 'session' AND a.session_ms IS NOT NULL
          OR a_scope = 'definition' AND a.definition_ms IS NOT NULL)))
    RETURNING r.*;
END
$function$;
COMMENT ON FUNCTION @schema@.mcp_reviews_decide IS 'Approves or rejects a claimed review';

-- Stores a decision about the definition of a tool, which waits elsewhere. Of several, the first one stands.
CREATE FUNCTION @schema@.mcp_reviews_record(
  a_id uuid, a_status text, a_tool text, a_trace_id uuid, a_content json, a_worker text, a_note text
) RETURNS SETOF uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  moment timestamptz := clock_timestamp();
  person text := @schema@.mcp_reviews_name(a_worker);
BEGIN
  PERFORM @schema@.mcp_reviews_check_bytes('the note of a decision', a_note, 65536);
  PERFORM @schema@.mcp_reviews_check_bytes('the content of a review', a_content::text, 1048576);
  RETURN QUERY INSERT INTO @schema@.mcp_reviews AS r (review_id, status, expires_at, fallback_reason, tool_name, trace_id,
      content, claim_token, claimed_by, claimed_at, lease_expires_at, decided_by, decided_at, note)
    VALUES (a_id, a_status, moment, 'tool_definition', @schema@.mcp_reviews_name(a_tool), a_trace_id, a_content, 1, person,
      moment, moment, person, moment, a_note)
    ON CONFLICT (review_id) DO NOTHING RETURNING r.review_id;
END
$function$;
COMMENT ON FUNCTION @schema@.mcp_reviews_record IS 'Stores a decision about the definition of a tool';

-- Marks overdue reviews, and returns how many.
CREATE FUNCTION @schema@.mcp_reviews_expire() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  gone integer;
BEGIN
  UPDATE @schema@.mcp_reviews SET status = 'expired', decided_at = clock_timestamp()
    WHERE status IN ('pending', 'claimed') AND expires_at <= clock_timestamp();
  GET DIAGNOSTICS gone = ROW_COUNT;
  RETURN gone;
END
$function$;
COMMENT ON FUNCTION @schema@.mcp_reviews_expire IS 'Marks overdue reviews as expired';

-- Ends an approval that can still be used.
CREATE FUNCTION @schema@.mcp_approvals_revoke(a_id uuid, a_worker text, a_note text) RETURNS SETOF uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
  PERFORM @schema@.mcp_reviews_check_bytes('the note of a decision', a_note, 65536);
  RETURN QUERY UPDATE @schema@.mcp_approvals a
    SET ended_at = clock_timestamp(), ended_by = @schema@.mcp_reviews_name(a_worker), ended_note = a_note
    FROM @schema@.mcp_reviews r
    WHERE a.review_id = a_id AND r.review_id = a.review_id AND r.status = 'approved' AND a.used_at IS NULL
      AND a.ended_at IS NULL AND r.decided_at + interval '1 millisecond' * CASE r.scope
        WHEN 'session' THEN a.session_ms WHEN 'definition' THEN a.definition_ms ELSE a.usable_ms END > clock_timestamp()
    RETURNING a.review_id;
END
$function$;
COMMENT ON FUNCTION @schema@.mcp_approvals_revoke IS 'Ends an approval that can still be used';

-- Takes requests that no webhook was told of, for as long as a try may take and longer after each failure: of several
-- processes one sends, and one that dies while it sends leaves it to the next. For about half a day.
CREATE FUNCTION @schema@.mcp_approvals_announce(a_limit integer) RETURNS SETOF uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
  RETURN QUERY UPDATE @schema@.mcp_approvals u SET announce_tries = u.announce_tries + 1,
      announce_after = clock_timestamp() + least(3600, 15 * 2 ^ u.announce_tries) * interval '1 second'
    WHERE u.review_id IN (
      SELECT a.review_id FROM @schema@.mcp_approvals a JOIN @schema@.mcp_reviews r USING (review_id)
      WHERE a.announced_at IS NULL AND a.announce_after <= clock_timestamp() AND a.announce_tries < 20
        AND r.status IN ('pending', 'claimed') AND r.expires_at > clock_timestamp()
      ORDER BY a.announce_after LIMIT a_limit FOR UPDATE OF a SKIP LOCKED)
    RETURNING u.review_id;
END
$function$;
COMMENT ON FUNCTION @schema@.mcp_approvals_announce IS 'Takes requests that no webhook was told of';

CREATE FUNCTION @schema@.mcp_approvals_announced(a_id uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
  UPDATE @schema@.mcp_approvals SET announced_at = clock_timestamp() WHERE review_id = a_id
$function$;
COMMENT ON FUNCTION @schema@.mcp_approvals_announced IS 'Notes that the webhook took a request';

  $functions$, '@schema@', quote_ident(current_schema()));
END
$migration$;

REVOKE ALL ON FUNCTION mcp_reviews_check_ms, mcp_reviews_check_bytes, mcp_reviews_name, mcp_approvals_take,
  mcp_reviews_submit, mcp_reviews_outcomes, mcp_reviews_claim, mcp_reviews_decide, mcp_reviews_record, mcp_reviews_expire,
  mcp_approvals_revoke, mcp_approvals_announce, mcp_approvals_announced FROM PUBLIC;
$migration_8$;
END
$guard$;

DO $guard$
BEGIN
  IF EXISTS (SELECT FROM mcp_observatory_migrations WHERE id = 9) THEN
    RETURN;
  END IF;
  INSERT INTO mcp_observatory_migrations (id, name) VALUES (9, '009_counted_once');
  EXECUTE $migration_9$
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
$migration_9$;
END
$guard$;

DO $guard$
BEGIN
  IF EXISTS (SELECT FROM mcp_observatory_migrations WHERE id = 10) THEN
    RETURN;
  END IF;
  INSERT INTO mcp_observatory_migrations (id, name) VALUES (10, '010_usage');
  EXECUTE $migration_10$
-- What a cost was computed of, so that it can be computed again, and calls without a cost by their reason.

ALTER TABLE mcp_traces
  ADD COLUMN IF NOT EXISTS usage_units text,
  ADD COLUMN IF NOT EXISTS tokens_disagree boolean;
COMMENT ON COLUMN mcp_traces.cost_source IS 'Where the cost came from: provider, instrumentation, override or genai-prices; without one unknown, or unpriced: and what has no price';
COMMENT ON COLUMN mcp_traces.usage_units IS 'What else the cost depends on, JSON: one-hour cache writes, audio, images, searches, modes, single requests';
COMMENT ON COLUMN mcp_traces.tokens_disagree IS 'True when the counts do not add up to the total reported with them';

DO $$
BEGIN
  EXECUTE 'CREATE OR REPLACE VIEW mcp_traces_hex AS '
    || regexp_replace(pg_get_viewdef('mcp_traces_hex'::regclass), '\s+FROM mcp_traces;$', ', usage_units, tokens_disagree FROM mcp_traces');
END
$$;

-- Whether a call has no cost for want of a price or a count.
CREATE FUNCTION mcp_traces_is_unpriced(cost_source text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  SELECT cost_source = 'unknown' OR cost_source LIKE 'unpriced:%'
$function$;

-- The refreshes ask it in place of comparing the source with a single word.
DO $$
DECLARE
  refresh regprocedure;
BEGIN
  FOREACH refresh IN ARRAY ARRAY['mcp_traces_refresh_rollups()', 'mcp_runs_refresh()']::regprocedure[] LOOP
    EXECUTE replace(pg_get_functiondef(refresh), $q$cost_source = 'unknown'$q$, 'mcp_traces_is_unpriced(cost_source)');
  END LOOP;
END
$$;
$migration_10$;
END
$guard$;

DO $guard$
BEGIN
  IF EXISTS (SELECT FROM mcp_observatory_migrations WHERE id = 11) THEN
    RETURN;
  END IF;
  INSERT INTO mcp_observatory_migrations (id, name) VALUES (11, '011_failed_runs');
  EXECUTE $migration_11$
-- A failed tool does not fail an agent's run: a model reads the error as it reads any other result, and goes on. A run has
-- failed if its root span did, or if no model answered after the last thing that failed. An answer that a gate withheld, or
-- that claims the success of a call that failed, does not count.

ALTER TABLE mcp_runs
  DROP COLUMN is_failed,
  ADD COLUMN root_failed boolean NOT NULL DEFAULT false,
  ADD COLUMN last_failure_at timestamptz,
  ADD COLUMN last_error_at timestamptz,
  ADD COLUMN last_answer_at timestamptz;
ALTER TABLE mcp_runs
  ADD COLUMN is_failed boolean GENERATED ALWAYS AS (
    root_failed AND denied + withheld + held = 0
    OR greatest(client_failures, server_failures, other_failures) > 0 AND coalesce(last_failure_at > last_answer_at, true)
    OR errors > 0 AND denied + withheld + held = 0 AND coalesce(last_error_at > last_answer_at, true)
  ) STORED;
COMMENT ON COLUMN mcp_runs.is_failed IS 'Its root failed, or a call, or another span where no gate stopped anything, and no model answered after it';
COMMENT ON COLUMN mcp_runs.root_failed IS 'Whether a root span has an error that is no gate''s doing';
COMMENT ON COLUMN mcp_runs.last_failure_at IS 'End of the last tool call that failed';
COMMENT ON COLUMN mcp_runs.last_error_at IS 'End of the last span that failed';
COMMENT ON COLUMN mcp_runs.last_answer_at IS 'End of the last answer of a model; infinity where the root span says that the run ended well';

-- Whether a span is an answer of a model that took note of what failed before, as far as is known.
CREATE FUNCTION mcp_traces_is_answer(is_model boolean, status text, operation text, tool_claim_mismatch boolean, evidence_findings text)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  SELECT is_model AND status = 'ok' AND coalesce(lower(operation) NOT IN ('embeddings', 'embedding', 'rerank'), true)
    AND tool_claim_mismatch IS NOT TRUE AND coalesce(evidence_findings NOT LIKE '%"kind":"tool_failed_claimed_success"%', true)
$function$;

DO $$
DECLARE
  runs text := pg_get_functiondef('mcp_runs_refresh()'::regprocedure);
  named text := 'trace_id, started_at, ended_at, has_root, root_at, name, service, client_name, user_id, session_id, '
    'conversation_id, models, tools, servers, failed_tools, spans, errors, model_calls, client_calls, server_calls, other_calls, '
    'client_failures, server_failures, other_failures, denied, withheld, held, prompt_tokens, completion_tokens, '
    'cached_prompt_tokens, cost_usd, priced, unpriced, risk, contradicted, unsupported, is_shadow, '
    'root_failed, last_failure_at, last_error_at, last_answer_at';
BEGIN
  runs := replace(runs, 'status = ''failed'' AS is_error, status,', 'status = ''failed'' AS is_error, status, status_code, operation, tool_claim_mismatch, evidence_findings,');
  runs := replace(runs, 'bool_or(is_shadow) AS is_shadow',
    'bool_or(is_shadow) AS is_shadow, bool_or(is_root AND is_error) AS root_failed,
      max(end_time) FILTER (WHERE is_error AND call IS NOT NULL) AS last_failure_at, max(end_time) FILTER (WHERE is_error) AS last_error_at,
      max(CASE WHEN is_root AND status_code = ''ok'' THEN ''infinity'' ELSE end_time END)
        FILTER (WHERE mcp_traces_is_answer(is_model, status, operation, tool_claim_mismatch, evidence_findings) OR is_root AND status_code = ''ok'') AS last_answer_at');
  runs := replace(runs, 'INSERT INTO mcp_runs AS old', 'INSERT INTO mcp_runs AS old (' || named || ')');
  runs := replace(runs, E'is_shadow\n    FROM summed', E'is_shadow,\n      root_failed, last_failure_at, last_error_at, last_answer_at\n    FROM summed');
  runs := replace(runs, 'is_shadow = old.is_shadow OR excluded.is_shadow',
    'is_shadow = old.is_shadow OR excluded.is_shadow,
      root_failed = old.root_failed OR excluded.root_failed,
      last_failure_at = greatest(old.last_failure_at, excluded.last_failure_at),
      last_error_at = greatest(old.last_error_at, excluded.last_error_at),
      last_answer_at = greatest(old.last_answer_at, excluded.last_answer_at)');
  EXECUTE runs;
END
$$;

-- Runs that were counted as failed, of the spans counted so far.
UPDATE mcp_runs AS r SET root_failed = s.root_failed, last_failure_at = s.last_failure_at, last_error_at = s.last_error_at,
  last_answer_at = s.last_answer_at
FROM (
  SELECT t.trace_id, bool_or(t.parent_span_id IS NULL AND status = 'failed') AS root_failed,
    max(t.end_time) FILTER (WHERE status = 'failed' AND mcp_traces_side(t.method, t.span_kind, t.operation) IS NOT NULL) AS last_failure_at,
    max(t.end_time) FILTER (WHERE status = 'failed') AS last_error_at,
    max(CASE WHEN t.parent_span_id IS NULL AND t.status_code = 'ok' THEN 'infinity' ELSE t.end_time END) FILTER (WHERE
      mcp_traces_is_answer(t.cost_source IS NOT NULL OR t.prompt_tokens IS NOT NULL, status, t.operation,
        t.tool_claim_mismatch, t.evidence_findings)
      OR t.parent_span_id IS NULL AND t.status_code = 'ok') AS last_answer_at
  FROM mcp_runs AS failed JOIN mcp_traces AS t USING (trace_id),
    LATERAL (SELECT mcp_traces_status(t.status_code, t.policy_decision, t.gate_blocked) AS status) AS ended
  WHERE failed.is_failed AND t.ingest_xid < (SELECT next_xid FROM mcp_runs_state)
  GROUP BY t.trace_id
) AS s
WHERE r.trace_id = s.trace_id;
$migration_11$;
END
$guard$;
COMMIT;
