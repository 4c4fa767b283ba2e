import type { Queryable } from '../../postgres/index.ts';
import type { FilterProblem } from '../filter/index.ts';
import { ask, RUN_COLUMNS, type RunQuery, type RunRow, selection } from './runs.ts';

const MAX_SESSIONS = 30;
const RUNS_SHOWN = 4;

/** Runs of one session; of one client and user where no session is known. */
export interface SessionGroup {
  readonly key: string;
  /** The MCP session or the conversation; null where neither is known. */
  readonly session: string | null;
  readonly client: string | null;
  readonly user: string | null;
  readonly runs: number;
  readonly failed: number;
  /** Sum of the known costs in US dollars; null when no call has one. */
  readonly costUsd: number | null;
  /** The newest, at most four. */
  readonly newest: readonly RunRow[];
}

/** Sessions, the most recent first, and what of the filter was not understood. */
export interface SessionList {
  readonly sessions: readonly SessionGroup[];
  /** Sessions beyond those of the list. */
  readonly leftOut: number;
  readonly problems: readonly FilterProblem[];
}

const KEY = `coalesce('s' || r.session_id, 'c' || r.conversation_id,
  'u' || coalesce(r.client_name, r.service, '') || chr(31) || coalesce(r.user_id, ''))`;

/** The runs that a query selects, by session: the 30 most recent sessions. @throws the database's errors. */
export async function listSessions(db: Queryable, query: RunQuery = {}): Promise<SessionList> {
  const { where, problems } = selection(query);
  const heads = await ask(
    db,
    `SELECT ${KEY} AS key, min(coalesce(r.session_id, r.conversation_id)) AS session,
      max(coalesce(r.client_name, r.service)) AS client, max(r.user_id) AS user, count(*)::float8 AS runs,
      count(*) FILTER (WHERE r.failed_calls > 0 OR r.errors > 0)::float8 AS failed,
      CASE WHEN sum(r.priced) > 0 THEN sum(r.cost_usd) END AS "costUsd", (count(*) OVER ())::float8 AS all
    FROM mcp_runs r WHERE ${where.text} GROUP BY 1 ORDER BY max(r.started_at) DESC, 1 LIMIT ${MAX_SESSIONS}`,
    where.values,
  );
  const rows = await ask(
    db,
    `SELECT * FROM (
      SELECT ${KEY} AS key, row_number() OVER (PARTITION BY ${KEY} ORDER BY r.started_at DESC, r.trace_id) AS place, ${RUN_COLUMNS}
      FROM mcp_runs r WHERE ${where.text} AND ${KEY} = ANY ($${where.values.length + 1}::text[])
    ) AS ranked WHERE place <= ${RUNS_SHOWN} ORDER BY place`,
    [...where.values, heads.map(({ key }) => key)],
  );
  const newest = new Map<unknown, RunRow[]>();
  for (const { key, place: _, ...row } of rows) {
    const runs = newest.get(key) ?? [];
    runs.push(row as unknown as RunRow);
    newest.set(key, runs);
  }
  return {
    sessions: heads.map(({ all: _, ...head }) => ({
      ...(head as unknown as SessionGroup),
      newest: newest.get(head.key) ?? [],
    })),
    leftOut: Math.max(0, Number(heads[0]?.all ?? 0) - heads.length),
    problems,
  };
}
