-- Many calls of one tool in one trace are settled in time that grows with their number, not with its square: a span is held
-- against those that began next to it, not against all that ran beside it.

-- The spans of tool calls of the traces with one that was stored in a range of transactions.
CREATE FUNCTION mcp_traces_sides(from_xid bigint, to_xid bigint)
RETURNS TABLE (trace_id uuid, span_id uuid, id text, parent_span_id uuid, tool_name text, scope text, start_time timestamptz,
  end_time timestamptz, counted_on text, status_code text, side integer, is_ours boolean)
-- The plans of what reads it are for many rows.
LANGUAGE sql STABLE ROWS 100000 SET jit = off AS $function$
  WITH fresh AS MATERIALIZED (
    SELECT t.trace_id, min(t.start_time) - interval '1 day' AS since, max(t.start_time) + interval '1 day' AS until
    FROM mcp_traces AS t
    WHERE t.ingest_xid >= from_xid AND t.ingest_xid < to_xid AND mcp_traces_side(t.method, t.span_kind, t.operation) IS NOT NULL
    GROUP BY t.trace_id
  )
  SELECT t.trace_id, t.span_id, right(replace(t.span_id::text, '-', ''), 16), t.parent_span_id, t.tool_name,
    coalesce(t.scope, ''), t.start_time, t.end_time, t.counted_on, t.status_code,
    mcp_traces_side(t.method, t.span_kind, t.operation), coalesce(t.scope LIKE 'mcp-observatory%', false)
  FROM fresh JOIN mcp_traces AS t USING (trace_id)
  WHERE t.start_time BETWEEN since AND until AND t.tool_name IS NOT NULL
    AND mcp_traces_side(t.method, t.span_kind, t.operation) IS NOT NULL
$function$;

-- Tool calls that two instrumentations recorded, with where they are to be counted. Ours counts, else the one that began
-- first. One span is in the other, or they ran at the same time; SDKs begin spans at whole milliseconds, and end them by
-- another clock. One for one, since calls may follow each other within that time, run side by side, or be tried again.
-- Those found first are the nearest: what is left is found when they are corrected. Of the traces with a row that was stored
-- in a range of transactions.
CREATE FUNCTION mcp_traces_twins(from_xid bigint, to_xid bigint)
RETURNS TABLE (trace_id uuid, span_id uuid, counted_on text)
LANGUAGE sql STABLE SET work_mem = '64MB' SET jit = off SET enable_nestloop = off AS $function$
  WITH sides AS MATERIALIZED (
    SELECT * FROM mcp_traces_sides(from_xid, to_xid)
  ), paired AS MATERIALIZED (
    SELECT DISTINCT s.trace_id, s.counted_on AS id, s.scope FROM sides AS s WHERE s.counted_on IS NOT NULL
  ), scopes AS MATERIALIZED (
    SELECT * FROM (
      SELECT s.trace_id, s.side, s.tool_name, s.scope,
        row_number() OVER (PARTITION BY s.trace_id, s.side, s.tool_name ORDER BY count(*) DESC, s.scope) AS place
      FROM sides AS s WHERE s.counted_on IS NULL GROUP BY 1, 2, 3, 4
    ) AS placed WHERE place <= 8
  ), open AS MATERIALIZED (
    -- A span once for each scope that may have another span of its call, and its place among them.
    SELECT s.*, w.scope AS wanted,
      row_number() OVER (PARTITION BY s.trace_id, s.parent_span_id, s.side, s.tool_name, s.scope, w.scope
        ORDER BY s.start_time, s.span_id) AS nth_of_scope,
      row_number() OVER (PARTITION BY s.trace_id, s.parent_span_id, s.side, s.tool_name, least(s.scope, w.scope), greatest(s.scope, w.scope)
        ORDER BY s.start_time, s.span_id) AS nth
    FROM sides AS s
    JOIN scopes AS w ON w.trace_id = s.trace_id AND w.side = s.side AND w.tool_name = s.tool_name AND w.scope <> s.scope
    WHERE s.counted_on IS NULL
      AND NOT EXISTS (SELECT FROM paired AS p WHERE p.trace_id = s.trace_id AND p.id = s.id AND p.scope = w.scope)
  ), ahead AS MATERIALIZED (
    -- The places that follow that of a span. Joined as one, for a join that began with all spans of a place would be a square.
    SELECT o.trace_id, o.span_id, o.parent_span_id, o.side, o.tool_name, o.scope, o.wanted, o.nth + step AS nth,
      o.nth_of_scope + step AS nth_of_scope
    FROM open AS o CROSS JOIN generate_series(0, 16) AS step
  ), near AS (
    SELECT o.trace_id, o.span_id AS one, i.span_id AS other FROM open AS i
    JOIN open AS o ON o.trace_id = i.trace_id AND o.span_id = i.parent_span_id AND o.side = i.side AND o.tool_name = i.tool_name
      AND o.scope = i.wanted AND o.wanted = i.scope
    UNION
    SELECT a.trace_id, a.span_id, b.span_id FROM ahead AS a
    JOIN open AS b ON b.trace_id = a.trace_id AND b.parent_span_id = a.parent_span_id AND b.side = a.side AND b.tool_name = a.tool_name
      AND b.scope = a.wanted AND b.wanted = a.scope AND b.nth = a.nth
    UNION
    SELECT a.trace_id, a.span_id, b.span_id FROM ahead AS a
    JOIN open AS b ON b.trace_id = a.trace_id AND b.parent_span_id = a.parent_span_id AND b.side = a.side AND b.tool_name = a.tool_name
      AND b.scope = a.wanted AND b.wanted = a.scope AND b.nth_of_scope = a.nth_of_scope
  ), pairs AS MATERIALIZED (
    SELECT trace_id, one, other, other_id, is_repeat, least(one, other) AS low, greatest(one, other) AS high,
      row_number() OVER (PARTITION BY trace_id, one, other_scope ORDER BY is_beside, differs, apart, least(one, other), greatest(one, other)) AS nth
    FROM (
      SELECT a.trace_id, a.span_id AS one, b.span_id AS other, b.id AS other_id, b.scope AS other_scope,
        b.parent_span_id IS NOT DISTINCT FROM a.parent_span_id AS is_beside, a.status_code <> b.status_code AS differs,
        greatest(a.start_time, b.start_time) - least(a.start_time, b.start_time)
          + (greatest(a.end_time, b.end_time) - least(a.end_time, b.end_time)) AS apart,
        2 * (least(b.end_time, a.end_time) - greatest(b.start_time, a.start_time) + interval '1 millisecond')
          >= least(b.end_time - b.start_time, a.end_time - a.start_time) AS is_at_once,
        (b.is_ours, a.start_time, a.span_id) > (a.is_ours, b.start_time, b.span_id) AS is_repeat
      FROM (SELECT trace_id, one, other FROM near UNION SELECT trace_id, other, one FROM near) AS n
      JOIN sides AS a ON a.trace_id = n.trace_id AND a.span_id = n.one
      JOIN sides AS b ON b.trace_id = n.trace_id AND b.span_id = n.other
    ) AS compared
    WHERE is_at_once OR NOT is_beside
  )
  -- Each is the nearest to the other.
  SELECT DISTINCT ON (1, 2) trace_id, min(one::text) FILTER (WHERE is_repeat)::uuid, min(other_id) FILTER (WHERE is_repeat)
  FROM pairs WHERE nth = 1 GROUP BY trace_id, low, high HAVING count(*) = 2 ORDER BY 1, 2, 3
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
  FOR round IN 1..32 LOOP
    SELECT coalesce(jsonb_agg(to_jsonb(twins)), '[]') INTO found FROM mcp_traces_twins(coalesce(from_xid, 0), to_xid) AS twins;
    EXIT WHEN found = '[]';
    corrected := corrected + mcp_traces_correct(found);
  END LOOP;
  INSERT INTO mcp_traces_settle_state (next_xid, refreshed_at) VALUES (to_xid, now())
    ON CONFLICT (is_only) DO UPDATE SET next_xid = excluded.next_xid, refreshed_at = excluded.refreshed_at;
  RETURN corrected;
END
$function$;
