-- Spreads mcp_traces over the workers of a Citus cluster: psql "$DATABASE_URL" -f schema/citus.sql
--
-- Run it once on the coordinator, after `mcp-observatory db migrate`, by the owner of the table. On a server without
-- Citus it says so and changes nothing. It may be applied again.
--
-- The table is distributed by trace_id: it is in the primary key of each partition, which a distributed table demands, it is
-- uniform, and all spans of a trace are on one worker, so a trace is read from one. The day partitions stay, each with its shards, and
-- `mcp-observatory db prune` drops them as before. Roll-ups stay on the coordinator: they are small.

DO $citus$
BEGIN
  IF EXISTS (SELECT FROM pg_available_extensions WHERE name = 'citus') THEN
    CREATE EXTENSION IF NOT EXISTS citus;
  END IF;
  IF NOT EXISTS (SELECT FROM pg_proc WHERE proname = 'create_distributed_table') THEN
    RAISE NOTICE 'Citus is not on this server; nothing was changed';
    RETURN;
  END IF;
  IF EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = 'mcp_traces'::regclass) THEN
    RAISE NOTICE 'mcp_traces is distributed already; nothing was changed';
    RETURN;
  END IF;
  PERFORM create_distributed_table('mcp_traces', 'trace_id');
END
$citus$;
