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
