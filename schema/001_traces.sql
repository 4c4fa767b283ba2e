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
