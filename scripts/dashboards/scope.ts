import type { Variable } from './panel.ts';

/** Shown for an absent value, in variables and legends. */
const NONE = '-';

/** A column as text that is never null. */
export function named(column: string): string {
  return `coalesce(${column}, '${NONE}')`;
}

function choice(name: string, label: string, column: string): Variable {
  return {
    name,
    label,
    sql: `SELECT DISTINCT ${named(column)} FROM mcp_traces WHERE $__timeFilter(start_time) ORDER BY 1`,
  };
}

/** The variables of every dashboard. */
export const CHOICES: readonly Variable[] = [
  choice('service', 'Service', 'service'),
  choice('model', 'Model', 'model'),
  choice('tool', 'Tool', 'tool_name'),
];

/** The SQL condition for the time range and variables. */
export const CHOSEN = `$__timeFilter(start_time)
  AND ${named('service')} IN (\${service:sqlstring})
  AND ${named('model')} IN (\${model:sqlstring})
  AND ${named('tool_name')} IN (\${tool:sqlstring})`;

/** Duration of a span in milliseconds. */
export const DURATION_MS = 'extract(epoch FROM end_time - start_time) * 1000';

/** An id as hex, as OpenTelemetry writes it. */
export const TRACE_HEX = `replace(trace_id::text, '-', '')`;

/** Link of a cell with a trace id. */
export const TRACE_LINK = {
  column: 'trace',
  title: 'Spans of the trace',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana fills it in.
  url: '/d/mcp-trace?var-trace=${__value.raw}',
} as const;

/** A count over time, one series per value of `column`. */
export function countOverTime(column: string, condition = 'true'): string {
  return valueOverTime('count(*)', column, condition);
}

/** An aggregate over time, one series per value of `column`. */
export function valueOverTime(aggregate: string, column: string, condition = 'true'): string {
  return `SELECT $__timeGroupAlias(start_time, $__interval), ${named(column)} AS metric, ${aggregate} AS value
FROM mcp_traces
WHERE ${CHOSEN}
  AND ${condition}
GROUP BY 1, 2
ORDER BY 1`;
}

/** An aggregate per value of `column`, highest first. */
export function valueBy(aggregate: string, alias: string, column: string, condition = 'true'): string {
  return `SELECT ${named(column)} AS "${column}", ${aggregate} AS "${alias}"
FROM mcp_traces
WHERE ${CHOSEN}
  AND ${condition}
GROUP BY 1
ORDER BY 2 DESC
LIMIT 20`;
}

/** One number for the whole time range. */
export function total(aggregate: string, alias: string, condition = 'true'): string {
  return `SELECT ${aggregate} AS "${alias}"
FROM mcp_traces
WHERE ${CHOSEN}
  AND ${condition}`;
}
