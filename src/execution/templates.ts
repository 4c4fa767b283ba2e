import {
  checkOptions,
  checkValue,
  having,
  invalidOption,
  kinds,
  type OptionKinds,
  required,
} from '../base/index.ts';
import {
  IS_MODEL_CALL,
  IS_UNTEMPLATED,
  type Queryable,
  textOrNull,
  toObservatoryError,
} from '../postgres/index.ts';

/** Most groups of calls that are reported. */
const MAX_GROUPS = 1000;

/** Which calls `templateReport` looks at. */
export interface TemplateQuery {
  /** Length of the window, in milliseconds. */
  readonly sinceMs: number;
  /** End of the window. @defaultValue now */
  readonly until?: Date | undefined;
  /** Only calls of this service. */
  readonly service?: string | undefined;
}

/** The model calls of one service, tool and model. */
export interface TemplateGroup {
  readonly service: string | null;
  readonly toolName: string | null;
  readonly model: string | null;
  readonly calls: number;
  /** Calls without `prompt_template_id`. */
  readonly untemplated: number;
  /** Distinct prompts of these, by `normalized_prompt_hash`. */
  readonly prompts: number;
  /** Start of the last of these, ISO 8601 UTC. */
  readonly lastSeen: string | null;
}

/** Model calls without a prompt template. */
export interface TemplateReport {
  readonly from: Date;
  readonly until: Date;
  readonly calls: number;
  readonly untemplated: number;
  /** Share of the calls that have no template (0..1); 0 without calls. */
  readonly untemplatedShare: number;
  /** Services, tools and models with such calls; most first, 1,000 at most. */
  readonly groups: readonly TemplateGroup[];
}

const GROUPS = `WITH counted AS (
  SELECT service, tool_name, model, count(*) AS calls, count(*) FILTER (WHERE ${IS_UNTEMPLATED}) AS untemplated,
    count(DISTINCT normalized_prompt_hash) FILTER (WHERE ${IS_UNTEMPLATED}) AS prompts,
    max(start_time) FILTER (WHERE ${IS_UNTEMPLATED}) AS last_seen
  FROM mcp_traces
  WHERE start_time >= $1::timestamptz AND start_time < $2::timestamptz
    AND ($3::text IS NULL OR service = $3::text) AND ${IS_MODEL_CALL}
  GROUP BY 1, 2, 3
)
SELECT service, tool_name, model, calls::float8, untemplated::float8, prompts::float8,
  to_char(last_seen AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS last_seen,
  sum(calls) OVER ()::float8 AS all_calls, sum(untemplated) OVER ()::float8 AS all_untemplated
FROM counted
ORDER BY untemplated DESC, service NULLS LAST, tool_name NULLS LAST, model NULLS LAST
LIMIT ${MAX_GROUPS}`;

const QUERY: OptionKinds<TemplateQuery> = {
  sinceMs: required(kinds.number),
  until: kinds.date,
  service: kinds.string,
};

/**
 * Counts the model calls of a window that name no `prompt_template_id`, by service, tool and model. Read-only.
 *
 * @throws ObservatoryError `INVALID_OPTION` for a length that cannot be used, `DATABASE_UNREACHABLE`,
 * `DATABASE_SCHEMA_MISSING` or `DATABASE_REFUSED`.
 */
export async function templateReport(db: Queryable, query: TemplateQuery): Promise<TemplateReport> {
  checkValue('the database of templateReport()', db, having('an object with a method query()', 'query'));
  checkOptions(query, QUERY, 'templateReport()');
  const { sinceMs, until = new Date(), service } = query;
  const from = new Date(until.getTime() - sinceMs);
  if (!(sinceMs > 0) || Number.isNaN(from.getTime()))
    throw invalidOption('`sinceMs`', 'milliseconds above 0', sinceMs);
  try {
    const { rows } = await db.query(GROUPS, [from.toISOString(), until.toISOString(), service ?? null]);
    const calls = Number(rows[0]?.all_calls ?? 0);
    const untemplated = Number(rows[0]?.all_untemplated ?? 0);
    const groups = rows.map(readGroup).filter((group) => group.untemplated > 0);
    return {
      from,
      until,
      calls,
      untemplated,
      untemplatedShare: calls === 0 ? 0 : untemplated / calls,
      groups,
    };
  } catch (error) {
    throw toObservatoryError(error, undefined);
  }
}

function readGroup(row: Readonly<Record<string, unknown>>): TemplateGroup {
  return {
    service: textOrNull(row.service),
    toolName: textOrNull(row.tool_name),
    model: textOrNull(row.model),
    calls: Number(row.calls),
    untemplated: Number(row.untemplated),
    prompts: Number(row.prompts),
    lastSeen: textOrNull(row.last_seen),
  };
}
