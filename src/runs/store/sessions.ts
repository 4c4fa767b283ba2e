import type { Queryable } from '../../postgres/index.ts';
import type { Condition } from './condition.ts';
import { nameRuns } from './names.ts';
import { ask, RUN_COLUMNS, type RunRow } from './run-row.ts';
import { type RunList, type RunQuery, selectRuns } from './runs.ts';

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
export interface SessionList extends Pick<RunList, 'problems' | 'lookedMs'> {
  readonly sessions: readonly SessionGroup[];
  /** Older sessions beyond those of the list; null where there are some, and they are not counted. */
  readonly leftOut: number | null;
}

const KEY = `coalesce('s' || r.session_id, 'c' || r.conversation_id,
  'u' || coalesce(r.client_name, r.service, '') || chr(31) || coalesce(r.user_id, ''))`;

/** Runs among which sessions are looked for, then ten times as many, and so on. */
const NEWEST_RUNS = 2000;

/** The runs that a query selects, by session: the 30 most recent sessions. @throws the database's errors. */
export async function listSessions(db: Queryable, query: RunQuery = {}): Promise<SessionList> {
  const { where, problems, lookedMs } = await selectRuns(db, query);
  const { keys, others } = await newestKeys(db, where);
  // Runs of a session have an index; those of other keys do not.
  const sessions = keys.filter((key) => key.startsWith('s')).map((key) => key.slice(1));
  const ofSessions = `r.session_id = ANY ($${where.values.length + 2}::text[])`;
  const chosen = `${KEY} = ANY ($${where.values.length + 1}::text[]) AND ${
    sessions.length === keys.length ? ofSessions : `(r.session_id IS NULL OR ${ofSessions})`
  }`;
  const values = [...where.values, keys, sessions];
  const heads = await ask(
    db,
    `SELECT ${KEY} AS key, min(coalesce(r.session_id, r.conversation_id)) AS session,
      max(coalesce(r.client_name, r.service)) AS client, max(r.user_id) AS user, count(*)::float8 AS runs,
      count(*) FILTER (WHERE r.is_failed)::float8 AS failed,
      CASE WHEN sum(r.priced) > 0 THEN sum(r.cost_usd) END AS "costUsd"
    FROM mcp_runs r WHERE ${where.text} AND ${chosen} GROUP BY 1 ORDER BY max(r.started_at) DESC, 1`,
    values,
  );
  const rows = await ask(
    db,
    `SELECT * FROM (
      SELECT ${KEY} AS key, row_number() OVER (PARTITION BY ${KEY} ORDER BY r.started_at DESC, r.trace_id) AS place, ${RUN_COLUMNS}
      FROM mcp_runs r WHERE ${where.text} AND ${chosen}
    ) AS ranked WHERE place <= ${RUNS_SHOWN} ORDER BY place`,
    values,
  );
  const newest = new Map<unknown, RunRow[]>();
  const named = await nameRuns(db, rows as unknown as readonly RunRow[]);
  for (const { key, place: _, ...run } of named as readonly (RunRow &
    Partial<Record<'key' | 'place', unknown>>)[]) {
    newest.set(key, [...(newest.get(key) ?? []), run]);
  }
  return {
    sessions: heads.map((head) => ({
      ...(head as unknown as SessionGroup),
      newest: newest.get(head.key) ?? [],
    })),
    leftOut: others,
    problems,
    lookedMs,
  };
}

/** The keys of the most recent sessions, and how many others there are: null where not all runs were read. */
async function newestKeys(
  db: Queryable,
  { text, values }: Condition,
): Promise<{ readonly keys: readonly string[]; readonly others: number | null }> {
  for (let most = NEWEST_RUNS; ; most *= 10) {
    const rows = await ask(
      db,
      `SELECT key, (sum(runs) OVER ())::float8 AS runs, (count(*) OVER ())::float8 AS keys FROM (
        SELECT key, count(*) AS runs, max(started_at) AS newest FROM (
          SELECT ${KEY} AS key, r.started_at FROM mcp_runs r WHERE ${text} ORDER BY r.started_at DESC LIMIT ${most}
        ) AS newest_runs GROUP BY key
      ) AS found ORDER BY newest DESC, key LIMIT ${MAX_SESSIONS}`,
      values,
    );
    const isAll = Number(rows[0]?.runs ?? 0) < most;
    if (!isAll && rows.length < MAX_SESSIONS) continue;
    const keys = rows.map(({ key }) => String(key));
    return { keys, others: isAll ? Number(rows[0]?.keys ?? 0) - keys.length : null };
  }
}
