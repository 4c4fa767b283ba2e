-- What people write on runs, and the filters that they keep. Both change only through functions, as reviews do
-- (schema/roles.sql): they run with the rights of their owner and name every table with its schema.

ALTER TABLE mcp_runs
  ADD COLUMN labels text[] NOT NULL DEFAULT '{}',
  ADD COLUMN note text,
  ADD COLUMN noted_by text,
  ADD COLUMN noted_at timestamptz;
COMMENT ON COLUMN mcp_runs.labels IS 'Labels that people gave it, at most 20';
COMMENT ON COLUMN mcp_runs.note IS 'What a person wrote about it';
COMMENT ON COLUMN mcp_runs.noted_by IS 'Who changed labels or note last';
-- Few runs have any: what asks for them reads no others.
CREATE INDEX mcp_runs_noted ON mcp_runs (started_at DESC) WHERE noted_at IS NOT NULL;

CREATE TABLE mcp_views (
  view_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  name text NOT NULL UNIQUE,
  address text NOT NULL,
  measure text CHECK (measure IN ('cost', 'failed', 'contradicted')),
  threshold double precision,
  checked_at timestamptz,
  is_over boolean NOT NULL DEFAULT false,
  saved_by text NOT NULL,
  saved_at timestamptz NOT NULL DEFAULT now(),
  CHECK ((measure IS NULL) = (threshold IS NULL))
);
COMMENT ON TABLE mcp_views IS 'Views of the page that people kept, with thresholds that call the webhook';
COMMENT ON COLUMN mcp_views.address IS 'Parameters of the view, as in the address of the page: q is the filter';
COMMENT ON COLUMN mcp_views.measure IS 'Over the last 24 hours: US dollars, share of failed runs, runs with a contradicted answer';
COMMENT ON COLUMN mcp_views.is_over IS 'Whether the webhook was told that the measure is above the threshold';

DO $migration$
BEGIN
  EXECUTE replace($functions$

-- Replaces the labels and the note of a run. Answers whether there is such a run. The triggers of mcp_runs find their tables
-- by the path.
CREATE FUNCTION @schema@.mcp_runs_annotate(a_run uuid, a_labels text[], a_note text, a_by text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, @schema@, pg_temp AS $function$
BEGIN
  IF cardinality(a_labels) > 20 OR array_position(a_labels, NULL) IS NOT NULL
      OR EXISTS (SELECT FROM unnest(a_labels) AS u (label) WHERE char_length(label) NOT BETWEEN 1 AND 50) THEN
    RAISE EXCEPTION 'a run has at most 20 labels of 1 to 50 characters' USING ERRCODE = '22023';
  END IF;
  PERFORM @schema@.mcp_reviews_check_bytes('a note', a_note, 8000);
  UPDATE @schema@.mcp_runs SET labels = coalesce(a_labels, '{}'), note = nullif(a_note, ''), noted_by = left(a_by, 300),
      noted_at = clock_timestamp()
    WHERE trace_id = a_run;
  RETURN FOUND;
END
$function$;

-- Keeps a view under its name, in place of another one of that name. There are at most 200.
CREATE FUNCTION @schema@.mcp_views_save(a_name text, a_address text, a_measure text, a_threshold double precision, a_by text)
RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  saved uuid;
BEGIN
  IF char_length(a_name) NOT BETWEEN 1 AND 100 OR a_threshold = 'NaN' OR abs(a_threshold) > 1e12 THEN
    RAISE EXCEPTION 'a view has a name of 1 to 100 characters and a threshold that is a number' USING ERRCODE = '22023';
  END IF;
  PERFORM @schema@.mcp_reviews_check_bytes('a view', a_address, 8000);
  PERFORM pg_advisory_xact_lock(7882267396523914876);
  IF (SELECT count(*) FROM @schema@.mcp_views WHERE name <> a_name) >= 200 THEN
    RAISE EXCEPTION 'there are at most 200 views' USING ERRCODE = '22023';
  END IF;
  INSERT INTO @schema@.mcp_views (name, address, measure, threshold, saved_by)
    VALUES (a_name, a_address, a_measure, a_threshold, left(a_by, 300))
    ON CONFLICT (name) DO UPDATE SET address = excluded.address, measure = excluded.measure,
      threshold = excluded.threshold, saved_by = excluded.saved_by, saved_at = clock_timestamp(), checked_at = NULL,
      is_over = false
    RETURNING view_id INTO saved;
  RETURN saved;
END
$function$;

CREATE FUNCTION @schema@.mcp_views_remove(a_id uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
  DELETE FROM @schema@.mcp_views WHERE view_id = a_id;
  RETURN FOUND;
END
$function$;

-- Takes views whose threshold was not compared for a minute: of several processes one compares each.
CREATE FUNCTION @schema@.mcp_views_take(a_limit integer)
RETURNS TABLE (id uuid, name text, address text, measure text, threshold double precision, is_over boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
#variable_conflict use_column
BEGIN
  RETURN QUERY UPDATE @schema@.mcp_views AS v SET checked_at = clock_timestamp()
    WHERE v.view_id IN (
      SELECT due.view_id FROM @schema@.mcp_views AS due
      WHERE due.measure IS NOT NULL AND coalesce(due.checked_at < clock_timestamp() - interval '1 minute', true)
      ORDER BY due.checked_at NULLS FIRST LIMIT a_limit FOR UPDATE SKIP LOCKED)
    RETURNING v.view_id, v.name, v.address, v.measure, v.threshold, v.is_over;
END
$function$;

-- Notes what the webhook was told of a view, unless the view is another one by now.
CREATE FUNCTION @schema@.mcp_views_told(a_id uuid, a_threshold double precision, a_is_over boolean) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
  UPDATE @schema@.mcp_views SET is_over = a_is_over WHERE view_id = a_id AND threshold = a_threshold
$function$;

  $functions$, '@schema@', quote_ident(current_schema()));
END
$migration$;

REVOKE ALL ON FUNCTION mcp_runs_annotate, mcp_views_save, mcp_views_remove, mcp_views_take, mcp_views_told FROM PUBLIC;
