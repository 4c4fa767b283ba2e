-- Makes mcp_traces a hypertable of TimescaleDB: psql "$DATABASE_URL" -f schema/timescale.sql
--
-- Run it once, after `mcp-observatory db migrate`, by the owner of the table, at a quiet hour: the rows are copied. On a
-- server without TimescaleDB it says so and changes nothing. It may be applied again.
--
-- The partition key stays start_time, in chunks of a day, so every query stays as it is. The primary key has to hold it, so
-- a span that is sent again with another start is another row. Chunks are compressed after a week, by service, which is what dashboards filter by. For retention use
--   SELECT add_retention_policy('mcp_traces', INTERVAL '90 days');
-- instead of `mcp-observatory db prune`, which knows native partitions only.

DO $timescale$
DECLARE
  make_views text[];
  drop_views text[];
  grants text[];
  statement text;
BEGIN
  IF EXISTS (SELECT FROM pg_available_extensions WHERE name = 'timescaledb') THEN
    CREATE EXTENSION IF NOT EXISTS timescaledb;
  END IF;
  IF NOT EXISTS (SELECT FROM pg_proc WHERE proname = 'create_hypertable') THEN
    RAISE NOTICE 'TimescaleDB is not on this server; nothing was changed';
    RETURN;
  END IF;
  IF (SELECT relkind FROM pg_class WHERE oid = 'mcp_traces'::regclass) <> 'p' THEN
    RAISE NOTICE 'mcp_traces has no native partitions any more; nothing was changed';
    RETURN;
  END IF;

  -- No writer may add to the old table once its rows are being copied.
  LOCK TABLE mcp_traces IN ACCESS EXCLUSIVE MODE;
  CREATE TABLE mcp_traces_hyper (LIKE mcp_traces INCLUDING ALL, PRIMARY KEY (trace_id, span_id, start_time));
  PERFORM create_hypertable('mcp_traces_hyper', 'start_time', chunk_time_interval => INTERVAL '1 day');
  INSERT INTO mcp_traces_hyper SELECT * FROM mcp_traces;

  -- Views follow a table by its identity, not its name: they are made anew, with what was granted on them.
  SELECT array_agg(format('CREATE VIEW %s AS %s', v.view, pg_get_viewdef(v.view)) ORDER BY v.view::oid),
    array_agg(format('DROP VIEW %s', v.view) ORDER BY v.view::oid DESC)
    INTO make_views, drop_views
    FROM (SELECT DISTINCT ev_class::regclass AS view FROM pg_depend JOIN pg_rewrite ON pg_rewrite.oid = objid
      WHERE classid = 'pg_rewrite'::regclass AND refobjid = 'mcp_traces'::regclass) v;
  SELECT array_agg(format('GRANT %s ON %s TO %s', privilege_type, pg_class.oid::regclass,
      CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END))
    INTO grants
    FROM pg_class, aclexplode(relacl)
    WHERE grantee <> relowner AND (pg_class.oid = 'mcp_traces'::regclass OR format('DROP VIEW %s', pg_class.oid::regclass) = ANY (drop_views));
  FOREACH statement IN ARRAY coalesce(drop_views, '{}') LOOP EXECUTE statement; END LOOP;
  DROP TABLE mcp_traces;
  ALTER TABLE mcp_traces_hyper RENAME TO mcp_traces;
  FOREACH statement IN ARRAY coalesce(make_views, '{}') || coalesce(grants, '{}') LOOP EXECUTE statement; END LOOP;

  -- Chunks are made by themselves.
  EXECUTE format('CREATE OR REPLACE FUNCTION mcp_traces_create_partitions(days_ahead integer DEFAULT 3) RETURNS integer
    LANGUAGE sql SET search_path = %I, pg_temp AS ''SELECT 0''', current_schema());

  ALTER TABLE mcp_traces SET (timescaledb.compress, timescaledb.compress_segmentby = 'service',
    timescaledb.compress_orderby = 'start_time DESC');
  PERFORM add_compression_policy('mcp_traces', INTERVAL '7 days');
END
$timescale$;
