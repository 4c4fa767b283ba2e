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
