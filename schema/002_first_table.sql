-- Takes over the table of the Python package mcp-observatory, which 001 has set aside as mcp_traces_first: its rows, its
-- columns and what was granted on it. Its times have no zone and are UTC. It stays as it was; drop it when you have looked.
--
-- That package may go on writing to mcp_traces: columns that only it has are added, a trigger gives its rows what it does
-- not name, and puts the values of these columns into attributes too, as observatory.<column>, where archives and the page
-- find them.

DO $first$
DECLARE
  ours constant text[] := ARRAY(SELECT attname FROM pg_attribute WHERE attrelid = 'mcp_traces'::regclass AND attnum > 0);
  item record;
  columns text;
BEGIN
  IF to_regclass(quote_ident(current_schema()) || '.mcp_traces_first') IS NULL THEN
    RETURN;
  END IF;
  SET LOCAL timezone = 'UTC';

  FOR item IN
    SELECT attname, format_type(atttypid, atttypmod) AS type FROM pg_attribute
    WHERE attrelid = 'mcp_traces_first'::regclass AND attnum > 0 AND NOT attisdropped AND attname <> ALL (ours)
  LOOP
    EXECUTE format('ALTER TABLE mcp_traces ADD COLUMN %I %s', item.attname, item.type);
  END LOOP;

  CREATE FUNCTION mcp_traces_complete() RETURNS trigger LANGUAGE plpgsql AS $function$
  DECLARE
    given constant jsonb := to_jsonb(NEW);
  BEGIN
    NEW.trace_id := coalesce(NEW.trace_id, gen_random_uuid());
    NEW.span_id := coalesce(NEW.span_id, gen_random_uuid());
    NEW.end_time := coalesce(NEW.end_time, NEW.start_time);
    NEW.span_name := coalesce(NEW.method, NEW.tool_name, NEW.model, 'unknown');
    NEW.span_kind := coalesce(NEW.span_kind, 'internal');
    NEW.status_code := coalesce(NEW.status_code, 'unset');
    NEW.attributes := coalesce(NEW.attributes, '{}') || jsonb_strip_nulls(coalesce(
      (SELECT jsonb_object_agg('observatory.' || name, given -> name) FROM unnest(TG_ARGV) AS name), '{}'));
    NEW.resource := coalesce(NEW.resource, '{}');
    NEW.events := coalesce(NEW.events, '[]');
    NEW.links := coalesce(NEW.links, '[]');
    RETURN NEW;
  END
  $function$;
  SELECT string_agg(quote_literal(attname), ', ') INTO columns FROM pg_attribute
    WHERE attrelid = 'mcp_traces'::regclass AND attnum > 0 AND attname <> ALL (ours);
  EXECUTE format('CREATE TRIGGER mcp_traces_complete BEFORE INSERT ON mcp_traces
    FOR EACH ROW WHEN (NEW.span_name IS NULL) EXECUTE FUNCTION mcp_traces_complete(%s)', columns);

  FOR item IN
    SELECT privilege_type, is_grantable, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END AS grantee
    FROM pg_class, aclexplode(relacl)
    WHERE pg_class.oid = 'mcp_traces_first'::regclass AND grantee <> relowner
  LOOP
    EXECUTE format('GRANT %s ON mcp_traces TO %s%s', item.privilege_type, item.grantee,
      CASE WHEN item.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END);
  END LOOP;

  -- The second row of one id gets another.
  SELECT string_agg(quote_ident(attname), ', ') INTO columns FROM pg_attribute
    WHERE attrelid = 'mcp_traces_first'::regclass AND attnum > 0 AND NOT attisdropped
      AND attname NOT IN ('span_id', 'start_time');
  EXECUTE format($sql$
    INSERT INTO mcp_traces (%1$s, span_id, start_time, attributes)
    SELECT %1$s, CASE WHEN turn = 1 THEN span_id END, coalesce(start_time, end_time, '1970-01-01'),
      CASE WHEN turn > 1 THEN jsonb_strip_nulls(jsonb_build_object('observatory.span_id_of_another_row', span_id)) END
    FROM (SELECT *, row_number() OVER (PARTITION BY trace_id, span_id) AS turn FROM mcp_traces_first) AS rows
  $sql$, columns);
END
$first$;
