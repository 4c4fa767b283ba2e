-- The store settles a trace that came apart by the rules of the processor (src/processor/usage-ledger.ts), whatever the
-- order its rows came in, and before the roll-ups count them. Costs can be computed again.

-- What a span says that it is, in a known word: model, embeddings, tool or other. NULL where it has none, as kindInWords of
-- src/interaction/kind.ts; a test holds the two against each other.
CREATE FUNCTION mcp_traces_kind(method text, operation text, attributes jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  SELECT CASE
    WHEN method = 'tools/call' THEN 'tool'
    WHEN method IS NOT NULL THEN 'other'
    WHEN lower(operation) IN ('chat', 'generate_content', 'text_completion', 'completion') THEN 'model'
    WHEN lower(operation) IN ('embeddings', 'embedding', 'rerank') THEN 'embeddings'
    WHEN lower(operation) = 'execute_tool' THEN 'tool'
    WHEN lower(operation) IN ('fetch_response', 'retrieval', 'plan', 'create_agent', 'invoke_agent', 'invoke_workflow') THEN 'other'
    WHEN word IN ('llm', 'chat_model', 'generation', 'model', 'background-model') THEN 'model'
    WHEN word IN ('embedding', 'embedder', 'reranker') THEN 'embeddings'
    WHEN word IN ('tool', 'tool.v2') THEN 'tool'
    WHEN word IN ('agent', 'chain', 'retriever', 'guardrail', 'evaluator', 'prompt', 'workflow', 'task', 'span', 'event', 'flow',
      'parser', 'memory') THEN 'other'
    WHEN word IS NOT NULL OR ai IS NULL THEN NULL
    WHEN ai = 'ai.toolCall' THEN 'tool'
    WHEN position('.do' IN ai) = 0 THEN 'other'
    WHEN ai LIKE 'ai.embed%' OR ai LIKE 'ai.rerank%' THEN 'embeddings'
    ELSE 'model' END
  FROM (
    SELECT coalesce(attributes ->> 'ai.operationId', CASE WHEN operation LIKE 'ai.%' THEN operation END) AS ai,
      (SELECT lower(replace(told, '"', '')) FROM (
        SELECT ordinality, CASE WHEN left(ltrim(value), 1) = '{' THEN substring(value FROM '"type"\s*:\s*"([^"]{1,100})"') ELSE value END AS told
        FROM unnest(ARRAY['openinference.span.kind', 'traceloop.span.kind', 'langfuse.observation.type', 'mlflow.spanType',
          'braintrust.span_attributes', 'braintrust.span_attributes.type', 'genkit:metadata:subtype', 'langsmith.span.kind'])
          WITH ORDINALITY AS names (name, ordinality), LATERAL (SELECT attributes ->> name AS value) AS given
        WHERE length(value) <= 1024
      ) AS words WHERE told <> '' ORDER BY ordinality LIMIT 1) AS word
  ) AS said
$function$;

-- Whether two spans may name one model: as it was asked for, with its version, or with a path before it.
CREATE FUNCTION mcp_traces_same_model(one_names text[], other_names text[]) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  SELECT coalesce(bool_or(starts_with(long, short) AND substr(long, length(short) + 1) ~ '^($|[-@:.](v?\d|latest|preview))'), true)
  FROM (
    SELECT CASE WHEN length(a) < length(b) THEN a ELSE b END AS short, CASE WHEN length(a) < length(b) THEN b ELSE a END AS long
    FROM (SELECT lower(regexp_replace(one, '^.*/', '')) AS a FROM unnest(one_names) AS s (one) WHERE one IS NOT NULL) AS s,
      (SELECT lower(regexp_replace(other, '^.*/', '')) AS b FROM unnest(other_names) AS o (other) WHERE other IS NOT NULL) AS o
  ) AS pairs
$function$;

-- Whether two spans of one trace, with one response id, are one call by two instrumentations or two processes.
CREATE FUNCTION mcp_traces_same_response(a_id text, a_scope text, a_process text, b_id text, b_scope text, b_process text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  SELECT a_id = b_id AND a_scope IS DISTINCT FROM b_scope
    -- Ours have one span for a call of a process, whatever id a test double answers with.
    AND NOT (a_process = b_process AND a_scope LIKE 'mcp-observatory%' AND b_scope LIKE 'mcp-observatory%')
$function$;

-- The counted rows whose call is counted on other rows too, with where it is to be counted: 'children' or the id of a span.
-- Of the traces with a row that started in a range of time and was stored in a range of transactions. Where one such row is
-- above another, only the inner one is returned: what is left is found when that one is corrected.
CREATE FUNCTION mcp_traces_repeats(since timestamptz, until timestamptz, from_xid bigint, to_xid bigint)
RETURNS TABLE (trace_id uuid, span_id uuid, counted_on text)
LANGUAGE sql STABLE SET work_mem = '64MB' SET jit = off AS $function$
  WITH RECURSIVE fresh AS MATERIALIZED (
    SELECT t.trace_id, min(t.start_time) - interval '1 day' AS first, max(t.start_time) + interval '1 day' AS last
    FROM mcp_traces AS t
    WHERE t.ingest_xid >= from_xid AND t.ingest_xid < to_xid AND t.start_time >= since AND t.start_time < until
      -- A span without usage may join two that have it. A root joins none.
      AND (t.parent_span_id IS NOT NULL OR t.prompt_tokens IS NOT NULL OR t.completion_tokens IS NOT NULL)
    GROUP BY t.trace_id
  ), spent AS MATERIALIZED (
    SELECT *, mcp_traces_kind(method, operation, attributes) AS kind,
      ARRAY[model, attributes ->> 'gen_ai.request.model', attributes ->> 'gen_ai.response.model', attributes ->> 'ai.model.id',
        attributes ->> 'ai.response.model'] AS models,
      concat_ws(' ', service, resource ->> 'service.instance.id', resource ->> 'host.name', resource ->> 'process.pid') AS process
    FROM (
      SELECT t.*, count(*) OVER (PARTITION BY t.trace_id) AS calls FROM fresh JOIN mcp_traces AS t USING (trace_id)
      WHERE t.start_time BETWEEN first AND last AND t.counted_on IS NULL
        AND (t.prompt_tokens IS NOT NULL OR t.completion_tokens IS NOT NULL)
    ) AS counted WHERE calls BETWEEN 2 AND 10000
  ), climb (trace_id, call, at, depth, is_parted) AS (
    SELECT s.trace_id, s.span_id, s.parent_span_id, 1, coalesce(s.kind IN ('tool', 'other'), false) FROM spent AS s
    WHERE s.parent_span_id IS NOT NULL
    UNION ALL
    -- An agent or a tool parts the calls above it from those below it.
    SELECT c.trace_id, c.call, t.parent_span_id, c.depth + 1,
      c.is_parted OR coalesce(mcp_traces_kind(t.method, t.operation, t.attributes) IN ('tool', 'other'), false)
    FROM climb AS c JOIN mcp_traces AS t ON t.trace_id = c.trace_id AND t.span_id = c.at
    WHERE c.depth < 32 AND t.parent_span_id IS NOT NULL
  ), pairs AS MATERIALIZED (
    SELECT DISTINCT ON (c.trace_id, c.at, c.call) c.trace_id, c.at, c.call, i.prompt_tokens, i.completion_tokens,
      mcp_traces_same_response(i.response_id, i.scope, i.process, o.response_id, o.scope, o.process)
      OR NOT c.is_parted AND coalesce(o.kind, 'model') = coalesce(i.kind, 'model') AND CASE
        WHEN i.scope = o.scope AND i.scope LIKE 'mcp-observatory/%'
          THEN i.response_id = o.response_id AND i.process <> o.process
        WHEN i.response_id IS NOT NULL AND o.response_id IS NOT NULL THEN i.response_id = o.response_id
        ELSE mcp_traces_same_model(i.models, o.models) END AS is_same
    FROM climb AS c
    JOIN spent AS o ON o.trace_id = c.trace_id AND o.span_id = c.at
    JOIN spent AS i ON i.trace_id = c.trace_id AND i.span_id = c.call
    WHERE c.at <> c.call
  ), nested AS MATERIALIZED (
    SELECT o.trace_id, o.span_id,
      CASE WHEN below.same IS NULL OR below.calls > 1 AND is_sum THEN 'children' ELSE right(replace(below.same, '-', ''), 16) END AS counted_on
    FROM (
      SELECT p.trace_id, p.at, count(*) AS calls, sum(p.prompt_tokens) AS prompt_tokens,
        coalesce(sum(p.completion_tokens), 0) AS completion_tokens, min(p.call::text) FILTER (WHERE p.is_same) AS same
      FROM pairs AS p GROUP BY p.trace_id, p.at
    ) AS below
    JOIN spent AS o ON o.trace_id = below.trace_id AND o.span_id = below.at,
    LATERAL (SELECT coalesce(o.kind NOT IN ('model', 'embeddings'), true) OR o.tokens_estimated IS TRUE
      OR coalesce(o.prompt_tokens = below.prompt_tokens AND coalesce(o.completion_tokens, 0) = below.completion_tokens, false) AS is_sum) AS sums
    WHERE below.same IS NOT NULL OR is_sum
  )
  SELECT n.trace_id, n.span_id, n.counted_on FROM nested AS n
  WHERE NOT EXISTS (
    SELECT FROM pairs AS p JOIN nested AS inner_one ON inner_one.trace_id = p.trace_id AND inner_one.span_id = p.call
    WHERE p.trace_id = n.trace_id AND p.at = n.span_id
  )
  UNION ALL
  -- One response on two spans, neither of which is around the other: ours counts, else the one that ended first.
  SELECT DISTINCT ON (one.trace_id, one.span_id) one.trace_id, one.span_id, right(replace(other.span_id::text, '-', ''), 16)
  FROM spent AS one JOIN spent AS other ON other.trace_id = one.trace_id AND other.span_id <> one.span_id
    AND mcp_traces_same_response(one.response_id, one.scope, one.process, other.response_id, other.scope, other.process)
    AND (coalesce(other.scope LIKE 'mcp-observatory%', false), one.end_time, one.span_id)
      > (coalesce(one.scope LIKE 'mcp-observatory%', false), other.end_time, other.span_id)
  WHERE NOT EXISTS (SELECT FROM nested AS n WHERE n.trace_id = one.trace_id)
  ORDER BY 1, 2, 3
$function$;

CREATE OR REPLACE FUNCTION mcp_traces_settle() RETURNS bigint
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
  IF to_xid <= from_xid THEN
    RETURN 0;
  END IF;
  FOR round IN 1..32 LOOP
    SELECT coalesce(jsonb_agg(to_jsonb(repeats) || '{"prompt_tokens": null, "completion_tokens": null, "cached_prompt_tokens": null, "cache_write_tokens": null, "reasoning_tokens": null, "cost_usd": null, "cost_source": null, "offered_tools_tokens": null, "offered_tools_cost_usd": null}'::jsonb), '[]')
      INTO found
      FROM mcp_traces_repeats('-infinity', 'infinity', coalesce(from_xid, 0), to_xid) AS repeats;
    EXIT WHEN found = '[]';
    corrected := corrected + mcp_traces_correct(found);
  END LOOP;
  -- Two instrumentations that record the same side of a tool call: ours counts, else the one that began first. One is in the
  -- other, or they ran at the same time; SDKs begin spans at whole milliseconds, and end them by another clock. One for one,
  -- since calls may follow each other within that time, run side by side, or be tried again.
  FOR round IN 1..32 LOOP
    WITH fresh AS MATERIALIZED (
      SELECT trace_id, min(start_time) - interval '1 day' AS since, max(start_time) + interval '1 day' AS until
      FROM mcp_traces
      WHERE ingest_xid >= coalesce(from_xid, 0) AND ingest_xid < to_xid
        AND mcp_traces_side(method, span_kind, operation) IS NOT NULL
      GROUP BY trace_id
    ), sides AS MATERIALIZED (
      SELECT t.trace_id, span_id, right(replace(span_id::text, '-', ''), 16) AS id, parent_span_id, tool_name,
        coalesce(scope, '') AS scope, start_time, end_time, counted_on, status_code,
        mcp_traces_side(method, span_kind, operation) AS side, coalesce(scope LIKE 'mcp-observatory%', false) AS is_ours
      FROM fresh JOIN mcp_traces AS t USING (trace_id)
      WHERE start_time BETWEEN since AND until AND tool_name IS NOT NULL AND mcp_traces_side(method, span_kind, operation) IS NOT NULL
    ), paired AS MATERIALIZED (
      SELECT DISTINCT trace_id, counted_on AS id, scope FROM sides WHERE counted_on IS NOT NULL
    ), pairs AS MATERIALIZED (
      SELECT one.trace_id, one.span_id AS one, other.span_id AS other, other.id AS other_id,
        (other.is_ours, one.start_time, one.span_id) > (one.is_ours, other.start_time, other.span_id) AS is_repeat,
        row_number() OVER (PARTITION BY one.trace_id, one.span_id, other.scope ORDER BY
          other.parent_span_id IS NOT DISTINCT FROM one.parent_span_id, one.status_code IS DISTINCT FROM other.status_code,
          greatest(one.start_time, other.start_time) - least(one.start_time, other.start_time)
            + (greatest(one.end_time, other.end_time) - least(one.end_time, other.end_time)),
          least(one.span_id, other.span_id), greatest(one.span_id, other.span_id)) AS nth
      FROM sides AS one JOIN sides AS other ON other.trace_id = one.trace_id AND other.span_id <> one.span_id
        AND other.side = one.side AND other.tool_name = one.tool_name AND other.scope <> one.scope
        AND (other.parent_span_id = one.span_id OR other.span_id = one.parent_span_id OR other.parent_span_id = one.parent_span_id
          AND 2 * (least(other.end_time, one.end_time) - greatest(other.start_time, one.start_time) + interval '1 millisecond')
            >= least(other.end_time - other.start_time, one.end_time - one.start_time))
      WHERE one.counted_on IS NULL AND other.counted_on IS NULL
        AND NOT EXISTS (SELECT FROM paired AS p WHERE (p.trace_id, p.id, p.scope) = (other.trace_id, other.id, one.scope))
        AND NOT EXISTS (SELECT FROM paired AS p WHERE (p.trace_id, p.id, p.scope) = (one.trace_id, one.id, other.scope))
    )
    SELECT coalesce(jsonb_agg(jsonb_build_object('trace_id', trace_id, 'span_id', one, 'counted_on', kept)), '[]')
    INTO found FROM (
      SELECT DISTINCT ON (p.trace_id, p.one) p.trace_id, p.one, p.other_id AS kept
      FROM pairs AS p JOIN pairs AS back ON back.trace_id = p.trace_id AND back.one = p.other AND back.other = p.one
      WHERE p.nth = 1 AND back.nth = 1 AND p.is_repeat
      ORDER BY p.trace_id, p.one, p.other
    ) AS twins;
    EXIT WHEN found = '[]';
    corrected := corrected + mcp_traces_correct(found);
  END LOOP;
  INSERT INTO mcp_traces_settle_state (next_xid, refreshed_at) VALUES (to_xid, now())
    ON CONFLICT (is_only) DO UPDATE SET next_xid = excluded.next_xid, refreshed_at = excluded.refreshed_at;
  RETURN corrected;
END
$function$;
DROP FUNCTION mcp_traces_says_call(text, jsonb);

-- A refresh counts only what is settled: an older transaction of the server may end between the two. Where settling is
-- behind what was counted, it counts nothing, and goes on from where it was.
DO $$
DECLARE
  refresh regprocedure;
  before text;
  after text;
BEGIN
  FOREACH refresh IN ARRAY ARRAY['mcp_traces_refresh_rollups()', 'mcp_runs_refresh()', 'mcp_tax_refresh()']::regprocedure[] LOOP
    before := pg_get_functiondef(refresh);
    after := replace(before, 'to_xid := txid_snapshot_xmin(txid_current_snapshot());',
      'to_xid := greatest(from_xid, least(txid_snapshot_xmin(txid_current_snapshot()), (SELECT next_xid FROM mcp_traces_settle_state)));');
    IF after = before THEN
      RAISE EXCEPTION '% does not say up to where it counts', refresh;
    END IF;
    EXECUTE after;
  END LOOP;
END
$$;

-- Gives rows new costs: a list of {"trace_id", "span_id", "was", "cost_usd", "cost_source", "offered_tools_cost_usd"}. A row
-- whose source is no longer what it was, or that is counted elsewhere by now, stays. Returns the rows changed.
CREATE FUNCTION mcp_traces_reprice(costs jsonb) RETURNS bigint
LANGUAGE plpgsql AS $function$
DECLARE
  still jsonb;
BEGIN
  -- Those of mcp_traces_correct, in its order: nothing settles these rows meanwhile.
  PERFORM pg_advisory_xact_lock(7882267396523914871);
  PERFORM pg_advisory_xact_lock(7882267396523914874);
  PERFORM pg_advisory_xact_lock(7882267396523914870);
  SELECT coalesce(jsonb_agg(cost), '[]') INTO still
  FROM jsonb_array_elements(costs) AS cost
  JOIN mcp_traces AS t ON t.trace_id = (cost ->> 'trace_id')::uuid AND t.span_id = (cost ->> 'span_id')::uuid
  WHERE t.counted_on IS NULL AND t.cost_source = cost ->> 'was';
  RETURN mcp_traces_correct(still);
END
$function$;
