-- Many calls that arrive before the planner has statistics of them are settled in time that grows with their number: it
-- expected one row of each step, and compared every call with every other.

-- The counted rows with usage of the traces with a row that started in a range of time and was stored in a range of
-- transactions.
CREATE FUNCTION mcp_traces_spent(since timestamptz, until timestamptz, from_xid bigint, to_xid bigint)
RETURNS TABLE (trace_id uuid, span_id uuid, parent_span_id uuid, end_time timestamptz, scope text, response_id text,
  prompt_tokens integer, completion_tokens integer, tokens_estimated boolean, kind text, models text[], process text)
-- The plans of what reads it are for many rows.
LANGUAGE sql STABLE ROWS 100000 SET work_mem = '64MB' SET jit = off SET enable_nestloop = on AS $function$
  WITH fresh AS MATERIALIZED (
    SELECT t.trace_id, mcp_traces_time(min(t.start_time)) - interval '1 day' AS first, mcp_traces_time(max(t.start_time)) + interval '1 day' AS last
    FROM mcp_traces AS t
    WHERE t.ingest_xid >= from_xid AND t.ingest_xid < to_xid AND t.start_time >= since AND t.start_time < until
      -- A span without usage may join two that have it. A root joins none.
      AND (t.parent_span_id IS NOT NULL OR t.prompt_tokens IS NOT NULL OR t.completion_tokens IS NOT NULL)
    GROUP BY t.trace_id
  )
  SELECT trace_id, span_id, parent_span_id, end_time, scope, response_id, prompt_tokens, completion_tokens, tokens_estimated,
    mcp_traces_kind(method, operation, attributes),
    ARRAY[model, attributes ->> 'gen_ai.request.model', attributes ->> 'gen_ai.response.model', attributes ->> 'ai.model.id',
      attributes ->> 'ai.response.model'],
    concat_ws(' ', service, resource ->> 'service.instance.id', resource ->> 'host.name', resource ->> 'process.pid')
  FROM (
    SELECT t.*, count(*) OVER (PARTITION BY t.trace_id) AS calls FROM fresh JOIN mcp_traces AS t USING (trace_id)
    WHERE t.start_time BETWEEN first AND last AND t.counted_on IS NULL
      AND (t.prompt_tokens IS NOT NULL OR t.completion_tokens IS NOT NULL)
  ) AS counted WHERE calls BETWEEN 2 AND 10000
$function$;

-- What stands above given calls, and whether an agent or a tool is between: it parts the calls above it from those below.
-- A function of its own, so that each is looked up by the key: the plan for many calls would read the whole table.
CREATE FUNCTION mcp_traces_above(traces uuid[], calls uuid[], parents uuid[], parted boolean[])
RETURNS TABLE (trace_id uuid, call uuid, at uuid, is_parted boolean)
LANGUAGE sql STABLE ROWS 100000 SET jit = off SET enable_nestloop = on AS $function$
  WITH RECURSIVE climb (trace_id, call, at, depth, is_parted) AS (
    SELECT given.trace_id, given.call, given.at, 1, given.is_parted
    FROM unnest(traces, calls, parents, parted) AS given (trace_id, call, at, is_parted)
    UNION ALL
    SELECT c.trace_id, c.call, t.parent_span_id, c.depth + 1,
      c.is_parted OR coalesce(mcp_traces_kind(t.method, t.operation, t.attributes) IN ('tool', 'other'), false)
    FROM climb AS c JOIN mcp_traces AS t ON t.trace_id = c.trace_id AND t.span_id = c.at
    WHERE c.depth < 32 AND t.parent_span_id IS NOT NULL
  )
  SELECT climb.trace_id, climb.call, climb.at, climb.is_parted FROM climb
$function$;

CREATE OR REPLACE FUNCTION mcp_traces_repeats(since timestamptz, until timestamptz, from_xid bigint, to_xid bigint)
RETURNS TABLE (trace_id uuid, span_id uuid, counted_on text)
LANGUAGE sql STABLE SET work_mem = '64MB' SET jit = off SET enable_nestloop = off AS $function$
  WITH spent AS MATERIALIZED (
    SELECT * FROM mcp_traces_spent(since, until, from_xid, to_xid)
  ), climb AS MATERIALIZED (
    SELECT above.* FROM (
      SELECT array_agg(s.trace_id) AS traces, array_agg(s.span_id) AS calls, array_agg(s.parent_span_id) AS parents,
        array_agg(coalesce(s.kind IN ('tool', 'other'), false)) AS parted
      FROM spent AS s WHERE s.parent_span_id IS NOT NULL
    ) AS g, LATERAL mcp_traces_above(g.traces, g.calls, g.parents, g.parted) AS above
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

-- What it is part of does without nested loops, which left it no way but to read the whole table.
ALTER FUNCTION mcp_traces_sides(bigint, bigint) SET enable_nestloop = on;
