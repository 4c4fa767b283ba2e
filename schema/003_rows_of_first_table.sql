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
