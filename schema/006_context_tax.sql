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
