-- Figures over runs by the hour, for the strip above a list of runs: a day of 250,000 runs is read as some 2,000 rows.
-- Triggers keep them what a sum over mcp_runs gives: runs change while their spans arrive, and go when they are pruned.

CREATE TABLE mcp_runs_hourly (
  hour timestamptz NOT NULL,
  duration_class smallint NOT NULL,
  runs bigint NOT NULL,
  spans bigint NOT NULL,
  failed bigint NOT NULL,
  contradicted bigint NOT NULL,
  unsupported bigint NOT NULL,
  held bigint NOT NULL,
  cost_usd double precision NOT NULL,
  unpriced bigint NOT NULL,
  PRIMARY KEY (hour, duration_class)
);
COMMENT ON TABLE mcp_runs_hourly IS 'Runs of mcp_runs by the hour they started in (UTC) and how long they took';
COMMENT ON COLUMN mcp_runs_hourly.duration_class IS '0: at most 1 ms; n: at most 1.1 ^ n ms, and longer than n - 1';
COMMENT ON COLUMN mcp_runs_hourly.unsupported IS 'Runs with a claim that no source supports, and none that the trace contradicts';

CREATE FUNCTION mcp_runs_duration_class(started_at timestamptz, ended_at timestamptz) RETURNS smallint
LANGUAGE sql STABLE PARALLEL SAFE AS $function$
  SELECT ceil(ln(least(greatest(date_part('epoch', ended_at - started_at) * 1000, 1), 1e12)) / ln(1.1::double precision))::smallint
$function$;

-- Adds runs to mcp_runs_hourly, and takes away what they were before.
CREATE FUNCTION mcp_runs_count_hourly() RETURNS trigger
LANGUAGE plpgsql SET timezone = 'UTC' AS $function$
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    DELETE FROM mcp_runs_hourly;
    RETURN NULL;
  END IF;
  EXECUTE format($sql$
    INSERT INTO mcp_runs_hourly AS old
    SELECT date_trunc('hour', started_at) AS hour, mcp_runs_duration_class(started_at, ended_at) AS duration_class,
      sum(sign), sum(sign * spans), coalesce(sum(sign) FILTER (WHERE failed_calls > 0 OR errors > 0), 0),
      coalesce(sum(sign) FILTER (WHERE contradicted), 0), coalesce(sum(sign) FILTER (WHERE unsupported AND NOT contradicted), 0),
      coalesce(sum(sign) FILTER (WHERE held > 0), 0), sum(sign * cost_usd), sum(sign * unpriced)
    FROM (%s) AS changed
    GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (hour, duration_class) DO UPDATE SET
      runs = old.runs + excluded.runs,
      spans = old.spans + excluded.spans,
      failed = old.failed + excluded.failed,
      contradicted = old.contradicted + excluded.contradicted,
      unsupported = old.unsupported + excluded.unsupported,
      held = old.held + excluded.held,
      cost_usd = old.cost_usd + excluded.cost_usd,
      unpriced = old.unpriced + excluded.unpriced
  $sql$, CASE TG_OP
    WHEN 'INSERT' THEN 'SELECT 1 AS sign, * FROM added'
    WHEN 'DELETE' THEN 'SELECT -1 AS sign, * FROM removed'
    ELSE 'SELECT 1 AS sign, * FROM added UNION ALL SELECT -1, * FROM removed' END);
  IF TG_OP = 'DELETE' THEN
    DELETE FROM mcp_runs_hourly WHERE runs = 0;
  END IF;
  RETURN NULL;
END
$function$;

CREATE TRIGGER mcp_runs_added AFTER INSERT ON mcp_runs
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION mcp_runs_count_hourly();
CREATE TRIGGER mcp_runs_changed AFTER UPDATE ON mcp_runs
  REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION mcp_runs_count_hourly();
CREATE TRIGGER mcp_runs_emptied AFTER TRUNCATE ON mcp_runs
  FOR EACH STATEMENT EXECUTE FUNCTION mcp_runs_count_hourly();
CREATE TRIGGER mcp_runs_removed AFTER DELETE ON mcp_runs
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION mcp_runs_count_hourly();

-- The runs of before.
INSERT INTO mcp_runs_hourly
SELECT date_trunc('hour', started_at, 'UTC'), mcp_runs_duration_class(started_at, ended_at), count(*), sum(spans),
  count(*) FILTER (WHERE failed_calls > 0 OR errors > 0), count(*) FILTER (WHERE contradicted),
  count(*) FILTER (WHERE unsupported AND NOT contradicted), count(*) FILTER (WHERE held > 0), sum(cost_usd), sum(unpriced)
FROM mcp_runs GROUP BY 1, 2;
