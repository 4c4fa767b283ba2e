import { invalidOption } from '../../base/index.ts';
import { nameOfDatabase, type Queryable, toObservatoryError } from '../../postgres/index.ts';
import { type FilterProblem, parseFilter } from '../filter/index.ts';
import { RUN_STATUS, type RunStatus, WAITS_NOW } from '../status.ts';
import { type Condition, toCondition } from './condition.ts';

const MAX_LIMIT = 500;
const HEX_ID = /^[0-9a-f]{32}$/u;

/** Which runs to read. */
export interface RunQuery {
  /** A filter; see {@link parseFilter}. @defaultValue none */
  readonly filter?: string | undefined;
  /** Start of the range, milliseconds since 1970. @defaultValue 24 hours before `untilMs` */
  readonly sinceMs?: number | undefined;
  /** End of the range. @defaultValue now, and runs of clocks that are up to a day ahead */
  readonly untilMs?: number | undefined;
}

/** A page of a list of runs. */
export interface RunPage extends RunQuery {
  /** @defaultValue 50, at most 500 */
  readonly limit?: number | undefined;
  /** Continues after the run that `next` of the page before names. */
  readonly after?: string | undefined;
}

/**
 * One line of a list of runs. Times are milliseconds since 1970. Added up in SQL as spans arrive; what `factsOf` reads from
 * all spans of one run differs where that tells more: see there.
 */
export interface RunRow {
  /** Trace id, 32 hex digits. */
  readonly id: string;
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
  /** False while the root span has not arrived. */
  readonly hasRoot: boolean;
}

/** Runs, newest first, and what of the filter was not understood. */
export interface RunList {
  readonly runs: readonly RunRow[];
  /** For `after` of the next page; null on the last. */
  readonly next: string | null;
  readonly problems: readonly FilterProblem[];
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
  r.is_shadow AS "isShadow", r.has_root AS "hasRoot"`;

/**
 * The runs that a query selects, newest first.
 * @throws ObservatoryError `INVALID_OPTION` for a limit or a cursor out of range; the database's errors.
 */
export async function listRuns(db: Queryable, page: RunPage = {}): Promise<RunList> {
  const limit = page.limit ?? 50;
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT) {
    throw invalidOption('limit', `a whole number from 1 to ${MAX_LIMIT}`, limit);
  }
  const { where, problems } = selection(page);
  const values = [...where.values];
  let cursor = '';
  if (page.after !== undefined) {
    const [micros = '', id = ''] = page.after.split('-');
    if (!/^\d{1,17}$/u.test(micros) || !HEX_ID.test(id)) {
      throw invalidOption('after', "the 'next' of an earlier page", page.after);
    }
    values.push(micros, id);
    cursor = ` AND (r.started_at, r.trace_id) < (timestamptz 'epoch' + $${values.length - 1}::bigint * interval '1 microsecond', $${values.length}::uuid)`;
  }
  const rows = await ask(
    db,
    `SELECT ${RUN_COLUMNS}, (extract(epoch FROM r.started_at) * 1000000)::bigint::text AS micros
      FROM mcp_runs r WHERE ${where.text}${cursor}
      ORDER BY r.started_at DESC, r.trace_id DESC LIMIT ${limit + 1}`,
    values,
  );
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return {
    runs: rows.slice(0, limit).map(({ micros: _, ...row }) => row as unknown as RunRow),
    next: last === undefined ? null : `${last.micros}-${last.id}`,
    problems,
  };
}

/** One run by its trace id, or by a beginning that no other run has. @throws the database's errors. */
export async function findRun(db: Queryable, id: string): Promise<RunRow | undefined> {
  const hex = id.replaceAll('-', '').toLowerCase();
  if (!/^[0-9a-f]{1,32}$/u.test(hex)) return undefined;
  // Ids that begin alike are neighbors in the index.
  const bounds = [hex.padEnd(32, '0'), hex.padEnd(32, 'f')];
  const rows = await ask(
    db,
    `SELECT ${RUN_COLUMNS} FROM mcp_runs r WHERE r.trace_id BETWEEN $1::uuid AND $2::uuid LIMIT 2`,
    bounds,
  );
  return rows.length === 1 ? (rows[0] as unknown as RunRow) : undefined;
}

const DAY_MS = 86_400_000;

/** The condition of a query, and its range. */
export function selection(query: RunQuery): {
  where: Condition;
  problems: readonly FilterProblem[];
  sinceMs: number;
  untilMs: number;
  /** Whether nothing but the range selects. */
  isAll: boolean;
} {
  const nowMs = Date.now();
  const untilMs = query.untilMs ?? nowMs;
  const sinceMs = query.sinceMs ?? untilMs - DAY_MS;
  if (!(sinceMs < untilMs)) throw invalidOption('sinceMs', 'a time before untilMs', sinceMs);
  const { terms, problems } = parseFilter(query.filter ?? '');
  const range = [new Date(sinceMs).toISOString(), new Date(untilMs).toISOString()];
  const { text, values } = toCondition(terms, nowMs, range);
  // The end is open while it is now: a run that starts meanwhile belongs to the list. One dated days ahead has a wrong
  // clock, and would stay on top until then.
  const until =
    query.untilMs === undefined
      ? `r.started_at < $2::timestamptz + interval '1 day'`
      : 'r.started_at < $2::timestamptz';
  return {
    where: { text: `r.started_at >= $1::timestamptz AND ${until} AND ${text}`, values },
    problems,
    sinceMs,
    untilMs,
    isAll: terms.length === 0,
  };
}

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
