-- How far prompts spread: distinct normalized prompts by service and tool, over time and after a change of template.
-- A prompt is known by normalized_prompt_hash; shadow runs are left out, since they try other prompts on purpose. Both
-- views read all rows that are kept; `mcp-observatory drift` asks for two windows of time instead.

-- One row for each day (UTC), service and tool. new_hashes were never seen before that day, new_prompts is how many
-- prompts had one of them.
CREATE VIEW mcp_prompt_drift AS
WITH counted AS (
  SELECT (start_time AT TIME ZONE 'UTC')::date AS day, service, tool_name, prompt_template_id, normalized_prompt_hash,
    count(*) AS prompts
  FROM mcp_traces
  WHERE normalized_prompt_hash IS NOT NULL AND is_shadow IS NOT TRUE
  GROUP BY 1, 2, 3, 4, 5
), aged AS (
  SELECT counted.*, min(day) OVER (PARTITION BY service, tool_name, normalized_prompt_hash) AS first_day
  FROM counted
)
SELECT
  day,
  service,
  tool_name,
  sum(prompts)::bigint AS prompts,
  count(DISTINCT normalized_prompt_hash) AS hashes,
  count(DISTINCT normalized_prompt_hash) FILTER (WHERE first_day = day) AS new_hashes,
  coalesce(sum(prompts) FILTER (WHERE first_day = day), 0)::bigint AS new_prompts,
  count(DISTINCT prompt_template_id) AS templates
FROM aged
GROUP BY day, service, tool_name;

-- One row for each template of a service and tool, with the one that came before it. new_hashes were not seen before
-- the template was: what its change brought.
CREATE VIEW mcp_prompt_template_changes AS
WITH counted AS (
  SELECT service, tool_name, prompt_template_id, normalized_prompt_hash, count(*) AS prompts,
    min(start_time) AS first_seen, max(start_time) AS last_seen
  FROM mcp_traces
  WHERE normalized_prompt_hash IS NOT NULL AND is_shadow IS NOT TRUE
  GROUP BY 1, 2, 3, 4
), aged AS (
  SELECT counted.*,
    min(first_seen) OVER (PARTITION BY service, tool_name, normalized_prompt_hash) AS hash_first_seen,
    min(first_seen) OVER (PARTITION BY service, tool_name, prompt_template_id) AS template_first_seen
  FROM counted
), templates AS (
  SELECT service, tool_name, prompt_template_id, min(first_seen) AS first_seen, max(last_seen) AS last_seen,
    sum(prompts)::bigint AS prompts,
    count(*) AS hashes,
    count(*) FILTER (WHERE hash_first_seen >= template_first_seen) AS new_hashes
  FROM aged
  WHERE prompt_template_id IS NOT NULL
  GROUP BY 1, 2, 3
)
SELECT
  service,
  tool_name,
  prompt_template_id,
  lag(prompt_template_id) OVER (PARTITION BY service, tool_name ORDER BY first_seen, prompt_template_id)
    AS previous_template_id,
  first_seen,
  last_seen,
  prompts,
  hashes,
  new_hashes
FROM templates;

COMMENT ON VIEW mcp_prompt_drift IS 'Distinct and new normalized prompts by day, service and tool';
COMMENT ON VIEW mcp_prompt_template_changes IS 'New normalized prompts since each prompt template was first seen';
