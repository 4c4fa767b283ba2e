import { nameOfDatabase, type Queryable, toObservatoryError } from '../../postgres/index.ts';
import { type Failure, RUN_STATUS, type RunStatus, WAITS_NOW } from '../status.ts';

/**
 * One line of a list of runs. Times are milliseconds since 1970. Added up in SQL as spans arrive; what `factsOf` reads from
 * all spans of one run differs where that tells more: see there.
 */
export interface RunRow {
  /** Trace id, 32 hex digits. */
  readonly id: string;
  /** The first words of the user where they are stored, else service and tools, or the name of the root span. */
  readonly name: string;
  readonly status: RunStatus;
  readonly startMs: number;
  readonly endMs: number;
  readonly service: string | null;
  readonly client: string | null;
  readonly user: string | null;
  readonly session: string | null;
  readonly conversation: string | null;
  readonly models: readonly string[];
  readonly tools: readonly string[];
  readonly servers: readonly string[];
  readonly failedTools: readonly string[];
  /** What failed, in its own words; null where nothing did. */
  readonly failure: Failure | null;
  readonly spans: number;
  readonly errors: number;
  readonly modelCalls: number;
  readonly toolCalls: number;
  readonly failedCalls: number;
  readonly denied: number;
  readonly withheld: number;
  readonly held: number;
  /** Whether one of its calls waits for a person now. */
  readonly waits: boolean;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
  /** Sum of the known costs in US dollars; null when no call has one. */
  readonly costUsd: number | null;
  readonly unpriced: number;
  /** Highest risk of an answer. */
  readonly risk: 'none' | 'low' | 'medium' | 'high';
  readonly contradicted: boolean;
  readonly unsupported: boolean;
  readonly isShadow: boolean;
  /** What people wrote on it. */
  readonly labels: readonly string[];
  readonly note: string | null;
  readonly notedBy: string | null;
  /** False while the root span has not arrived. */
  readonly hasRoot: boolean;
}

/** A run as a row: the columns of {@link RunRow}, of `mcp_runs r`. */
export const RUN_COLUMNS = `replace(r.trace_id::text, '-', '') AS id, r.name, ${RUN_STATUS} AS status, (extract(epoch FROM r.started_at) * 1000)::float8 AS "startMs",
  (extract(epoch FROM r.ended_at) * 1000)::float8 AS "endMs", r.service, r.client_name AS client, r.user_id AS user,
  r.session_id AS session, r.conversation_id AS conversation, r.models, r.tools, r.servers,
  r.failed_tools AS "failedTools", r.spans::float8 AS spans, r.errors::float8 AS errors,
  r.model_calls::float8 AS "modelCalls", r.tool_calls::float8 AS "toolCalls", r.failed_calls::float8 AS "failedCalls",
  r.denied::float8 AS denied, r.withheld::float8 AS withheld, r.held::float8 AS held, ${WAITS_NOW} AS waits,
  r.prompt_tokens::float8 AS "promptTokens",
  r.completion_tokens::float8 AS "completionTokens", r.cached_prompt_tokens::float8 AS "cachedTokens",
  CASE WHEN r.priced > 0 THEN r.cost_usd END AS "costUsd", r.unpriced::float8 AS unpriced,
  (ARRAY['none', 'low', 'medium', 'high'])[r.risk + 1] AS risk, r.contradicted, r.unsupported,
  r.is_shadow AS "isShadow", r.has_root AS "hasRoot",
  r.labels, r.note, r.noted_by AS "notedBy"`;

/** Runs one statement. @throws ObservatoryError instead of the driver's error. */
export async function ask(
  db: Queryable,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly Record<string, unknown>[]> {
  try {
    return (await db.query(text, values)).rows;
  } catch (error) {
    throw toObservatoryError(error, nameOfDatabase(db));
  }
}
