-- A span is stored once by its ids, also when it is sent again with another start: the key of each partition is that of
-- the span, without start_time. A key of the whole table would have to hold it. Two starts on two days (UTC) are two rows.
-- It takes no more room or time than the key before. A partition that holds such spans already keeps that key.

DO $keys$
DECLARE
  part record;
BEGIN
  -- A hypertable needs its partition key in every key.
  IF (SELECT relkind FROM pg_class WHERE oid = 'mcp_traces'::regclass) <> 'p' THEN
    RETURN;
  END IF;
  ALTER TABLE mcp_traces DROP CONSTRAINT mcp_traces_pkey;
  FOR part IN SELECT inhrelid::regclass AS name FROM pg_inherits WHERE inhparent = 'mcp_traces'::regclass LOOP
    BEGIN
      EXECUTE format('ALTER TABLE %s ADD PRIMARY KEY (trace_id, span_id)', part.name);
    EXCEPTION WHEN unique_violation THEN
      EXECUTE format('ALTER TABLE %s ADD PRIMARY KEY (trace_id, span_id, start_time)', part.name);
    END;
  END LOOP;

  CREATE OR REPLACE FUNCTION mcp_traces_create_partitions(days_ahead integer DEFAULT 3) RETURNS integer
  LANGUAGE plpgsql SECURITY DEFINER SET timezone = 'UTC' SET lock_timeout = '5s' SET client_min_messages = 'warning' AS $function$
  DECLARE
    made integer := 0;
    first_day date := current_date;
    part text;
    from_time timestamptz;
    to_time timestamptz;
  BEGIN
    PERFORM pg_advisory_xact_lock(7882267396523914869);
    SELECT greatest(first_day, (regexp_match(pg_get_expr(relpartbound, oid), 'TO \(''([^'']+)''\)'))[1]::timestamptz::date)
      INTO first_day FROM pg_class WHERE oid = to_regclass('mcp_traces_history');
    first_day := coalesce(first_day, current_date);
    FOR day IN 0 .. (current_date + days_ahead - first_day) LOOP
      from_time := first_day + day;
      to_time := first_day + day + 1;
      part := 'mcp_traces_' || to_char(from_time, 'YYYYMMDD');
      CONTINUE WHEN to_regclass(part) IS NOT NULL;
      -- Made apart and attached when it is whole: that does not lock the table, as CREATE TABLE PARTITION OF does.
      EXECUTE format('CREATE TABLE %I (LIKE mcp_traces INCLUDING ALL, PRIMARY KEY (trace_id, span_id))', part);
      -- A row that conflicts is a span that is there, in a partition that had the key from before.
      LOCK TABLE mcp_traces_default IN SHARE ROW EXCLUSIVE MODE;
      EXECUTE format('WITH moved AS (DELETE FROM mcp_traces_default WHERE start_time >= %L AND start_time < %L RETURNING *)
        INSERT INTO %I SELECT * FROM moved ON CONFLICT DO NOTHING', from_time, to_time, part);
      EXECUTE format('ALTER TABLE mcp_traces ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', part, from_time, to_time);
      made := made + 1;
    END LOOP;
    RETURN made;
  END
  $function$;
  -- It runs with the rights of its owner, so it must not find a table that its caller put in the way.
  EXECUTE format('ALTER FUNCTION mcp_traces_create_partitions(integer) SET search_path = %I, pg_temp', current_schema());
END
$keys$;
