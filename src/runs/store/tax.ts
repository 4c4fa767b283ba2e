import type { Queryable } from '../../postgres/index.ts';
import { ask } from './run-row.ts';
import type { TimeRange } from './tools.ts';

/** What the definition of one tool cost of the model calls that offered it. */
export interface TaxedTool {
  /** The name the server gives itself; empty where it is not known, and for tools of the application. */
  readonly server: string;
  readonly tool: string;
  /** Model calls that offered the tool. */
  readonly offered: number;
  /** Calls of the tool in the same time. */
  readonly used: number;
  /** Input tokens that its definition took in all these calls. */
  readonly tokens: number;
  /** Of these tokens, in US dollars. */
  readonly costUsd: number;
}

/** The context tax of a range of time. */
export interface TaxReport {
  /** Model calls that offered tools. */
  readonly calls: number;
  /** Input tokens of these calls, and the part that definitions took. */
  readonly promptTokens: number;
  readonly tokens: number;
  readonly costUsd: number;
  /** Calls whose price is not known; they add nothing to the cost. */
  readonly unpriced: number;
  /** What the provider adds to the definitions, and definitions of tools that are not known. */
  readonly otherTokens: number;
  readonly otherCostUsd: number;
  /** Those that cost the most first, 5,000 at most. */
  readonly tools: readonly TaxedTool[];
}

/** Which calls a report is about. */
export interface TaxQuery extends TimeRange {
  /** Only calls of this model. */
  readonly model?: string | undefined;
}

/** What tool definitions cost of the model calls of a range, by server and tool. @throws the database's errors. */
export async function contextTax(db: Queryable, query: TaxQuery): Promise<TaxReport> {
  const values = [
    new Date(query.sinceMs).toISOString(),
    new Date(query.untilMs).toISOString(),
    query.model ?? null,
  ];
  const [totals] = await ask(db, TOTALS, values);
  const rows = (await ask(db, TOOLS, values)) as unknown as readonly TaxedTool[];
  const other = rows.find(isUnnamed);
  return {
    ...(totals as unknown as Omit<TaxReport, 'tools' | 'otherTokens' | 'otherCostUsd'>),
    otherTokens: other?.tokens ?? 0,
    otherCostUsd: other?.costUsd ?? 0,
    tools: rows.filter((row) => !isUnnamed(row)),
  };
}

const isUnnamed = ({ server, tool }: TaxedTool): boolean => server === '' && tool === '';

const IN_RANGE = `hour >= date_trunc('hour', $1::timestamptz) AND hour < $2::timestamptz`;

const TOTALS = `SELECT coalesce(sum(calls), 0)::float8 AS calls, coalesce(sum(prompt_tokens), 0)::float8 AS "promptTokens",
  coalesce(sum(tokens), 0)::float8 AS tokens, coalesce(sum(cost_usd), 0)::float8 AS "costUsd",
  coalesce(sum(unpriced), 0)::float8 AS unpriced
FROM mcp_tax_hourly WHERE ${IN_RANGE} AND ($3::text IS NULL OR model = $3::text)`;

/** Used by the name of the tool where one side does not know the server. A call that both sides recorded counts once. */
const TOOLS = `WITH taxed AS (
  SELECT server_name, tool_name, sum(calls) AS offered, sum(tokens) AS tokens, sum(cost_usd) AS cost_usd
  FROM mcp_tool_tax WHERE ${IN_RANGE} AND ($3::text IS NULL OR model = $3::text)
  GROUP BY server_name, tool_name
), kinds AS (
  SELECT server_name, tool_name, span_kind, sum(spans) AS calls FROM mcp_tools_hourly
  WHERE ${IN_RANGE} AND tool_name <> '' GROUP BY server_name, tool_name, span_kind
), used AS MATERIALIZED (
  -- Else it is counted again for each tool.
  SELECT server_name, tool_name, max(calls) AS calls FROM kinds GROUP BY server_name, tool_name
), servers AS (
  SELECT tool_name, count(*) FILTER (WHERE server_name <> '') AS named FROM taxed GROUP BY tool_name
)
SELECT t.server_name AS server, t.tool_name AS tool, t.offered::float8 AS offered,
  coalesce((
    SELECT max(u.calls) FROM used u WHERE u.tool_name = t.tool_name AND (u.server_name = t.server_name
      OR t.server_name = '' OR u.server_name = '' AND s.named = 1)
  ), 0)::float8 AS used, t.tokens::float8 AS tokens, t.cost_usd::float8 AS "costUsd"
FROM taxed t JOIN servers s USING (tool_name)
ORDER BY t.tokens DESC, server, tool LIMIT 5000`;
