import { createHash } from 'node:crypto';
import { semconv, sliced } from '../../base/index.ts';
import { readOfferedTools } from '../../interaction/index.ts';
import { canonicalJson } from '../../json/index.ts';
import { BARRED_AS, BARRED_TOOL } from '../../policy/index.ts';
import type { Queryable } from '../../postgres/index.ts';
import { ask } from './run-row.ts';
import type { TimeRange } from './tools.ts';

/** One definition that a tool had. */
export interface DefinitionVersion {
  /** SHA-256, hex: of the whole definition where a policy gate saw it, else of what models were offered. */
  readonly hash: string;
  /** First and last seen in the hours of the range; where models were offered it, to the hour. */
  readonly firstMs: number;
  readonly lastMs: number;
  /** Calls that a gate decided, or model calls that offered it. */
  readonly calls: number;
  /** Description and schema, where content was captured; the first {@link textChars} are all of it, or 20,000. */
  readonly text: string | null;
  readonly textChars: number;
  /** Why a gate barred it when it was last seen; null where it let calls through, or no gate saw it. */
  readonly barred: string | null;
  /** Whether a gate ever barred it in the range. */
  readonly wasBarred: boolean;
}

/** A tool whose definition changed, or is barred. */
export interface ChangedTool {
  /** Empty where it is not known. */
  readonly server: string;
  readonly tool: string;
  /** Who saw it: a policy gate as the server listed it, or models as they were offered it. */
  readonly seenBy: 'gate' | 'models';
  /** Oldest first. */
  readonly versions: readonly DefinitionVersion[];
}

const MAX_TOOLS = 100;
const MAX_VERSIONS = 20;
/** Sets of tools that are read, the newest first, and the longest of them. */
const MAX_SETS = 40;
const MAX_SET_CHARS = 262_144;
const MAX_TEXT_CHARS = 20_000;

const formatMs = (time: string, name: string) => `(extract(epoch FROM ${time}) * 1000)::float8 AS "${name}"`;

const BARRING = `('${Object.keys(BARRED_AS).join("', '")}')`;
const BARRED_IN_RANGE = `policy_reason IN ${BARRING} AND start_time >= $1::timestamptz AND start_time < $2::timestamptz`;
const COLUMNS = `mcp_traces_short(server_name) AS server, mcp_traces_short(coalesce(tool_name, attributes ->> '${BARRED_TOOL}')) AS tool,
      mcp_traces_short(tool_hash) AS hash, start_time, policy_reason`;

/** Calls are in a roll-up; what gates barred, and calls of it, are few, and each has an index. */
const GATED = `WITH called AS (
    SELECT server_name AS server, tool_name AS tool, tool_hash AS hash, min(first_time) AS first, max(last_time) AS last,
      sum(calls) AS calls
    FROM mcp_definitions_hourly
    WHERE hour >= date_trunc('hour', $1::timestamptz) AND hour < $2::timestamptz AND tool_name <> ''
    GROUP BY server_name, tool_name, tool_hash
  ), gated AS (
    SELECT ${COLUMNS} FROM mcp_traces WHERE tool_hash IS NOT NULL AND tool_name IS NULL AND ${BARRED_IN_RANGE}
    UNION ALL
    SELECT ${COLUMNS} FROM mcp_traces
    WHERE gate_blocked AND (tool_hash IS NULL OR tool_name IS NOT NULL) AND ${BARRED_IN_RANGE}
  ), barred AS (
    SELECT server, tool, hash, min(start_time) AS first, max(start_time) AS last, max(policy_reason) AS reason
    FROM gated GROUP BY server, tool, hash
  ), seen AS (
    SELECT server, tool, hash, least(c.first, b.first) AS first, greatest(c.last, b.last) AS last,
      coalesce(calls, 0) AS calls, reason, b.last AS barred_at, c.last AS let_at
    FROM called c FULL JOIN barred b USING (server, tool, hash)
  ), counted AS (
    SELECT *, count(*) OVER (PARTITION BY server, tool) AS versions FROM seen
  )
  SELECT server, tool, hash, ${formatMs('first', 'firstMs')}, ${formatMs('last', 'lastMs')}, calls::float8 AS calls,
    CASE WHEN let_at IS NULL OR let_at <= barred_at THEN reason END AS barred, reason IS NOT NULL AS "wasBarred"
  FROM counted WHERE versions > 1 OR reason IS NOT NULL ORDER BY last DESC LIMIT ${MAX_TOOLS * MAX_VERSIONS}`;

/** A span with the definitions of each set of tools: the one from which its tools were learned. */
const OFFERED = `WITH sets AS (
    SELECT offered_tools_hash AS hash, min(hour) AS first, max(hour) AS last, sum(calls) AS calls, array_agg(DISTINCT model) AS models
    FROM mcp_tax_hourly WHERE hour >= date_trunc('hour', $1::timestamptz) AND hour < $2::timestamptz
    GROUP BY offered_tools_hash ORDER BY last DESC LIMIT ${MAX_SETS}
  ), learned AS (
    SELECT s.*, (SELECT max(last_time) FROM mcp_tool_sets t WHERE t.offered_tools_hash = s.hash) AS at FROM sets s
  )
  SELECT ${formatMs('first', 'firstMs')}, ${formatMs('last', 'lastMs')}, calls::float8 AS calls, (
    SELECT CASE WHEN length(m.attributes ->> '${semconv.ATTR_GEN_AI_TOOL_DEFINITIONS}') <= ${MAX_SET_CHARS}
      THEN m.attributes ->> '${semconv.ATTR_GEN_AI_TOOL_DEFINITIONS}' END
    FROM mcp_traces m WHERE m.start_time = l.at AND m.model = ANY (l.models) AND m.offered_tools_hash = l.hash LIMIT 1
  ) AS definitions, (
    SELECT json_object_agg(t.tool_name, t.server_name) FROM mcp_tool_sets t WHERE t.offered_tools_hash = l.hash
  )::text AS servers
  FROM learned l WHERE (SELECT count(*) FROM sets) > 1 ORDER BY first`;

/**
 * Tools that had more than one definition in a range: by the hashes that policy gates recorded with calls, and by what
 * models were offered where content was captured. @throws the database's errors.
 */
export async function changedTools(db: Queryable, range: TimeRange): Promise<readonly ChangedTool[]> {
  const seen = await seenDefinitions(db, range);
  return seen
    .filter(({ versions }) => versions.filter(({ hash }) => hash !== '').length > 1)
    .slice(0, MAX_TOOLS);
}

/** As {@link changedTools}, with the tools that a gate barred. @throws the database's errors. */
export async function seenDefinitions(db: Queryable, range: TimeRange): Promise<readonly ChangedTool[]> {
  const values = [new Date(range.sinceMs).toISOString(), new Date(range.untilMs).toISOString()];
  const [gated, offered] = [await ask(db, GATED, values), await ask(db, OFFERED, values)];
  const versions = gated.map((row) => ({ ...(row as unknown as Seen), text: null, textChars: 0 }));
  const texts = grouped(await offeredVersions(offered), 'models');
  return [...grouped(versions, 'gate'), ...texts.filter((tool) => tool.versions.length > 1)];
}

type Seen = DefinitionVersion & Pick<ChangedTool, 'server' | 'tool'>;

function grouped(all: readonly Seen[], seenBy: ChangedTool['seenBy']): readonly ChangedTool[] {
  const tools = new Map<string, { server: string; tool: string; versions: DefinitionVersion[] }>();
  for (const { server, tool, ...version } of all) {
    const key = JSON.stringify([server, tool]);
    const found = tools.get(key) ?? { server, tool, versions: [] };
    found.versions.push(version);
    tools.set(key, found);
  }
  return [...tools.values()].map((tool) => ({
    ...tool,
    seenBy,
    versions: tool.versions.sort((a, b) => a.firstMs - b.firstMs).slice(-MAX_VERSIONS),
  }));
}

/** Each definition of each tool once, with the time and calls of all the sets that hold it. */
async function offeredVersions(rows: readonly Record<string, unknown>[]): Promise<readonly Seen[]> {
  const versions = new Map<string, Seen>();
  const turn = sliced();
  for (const row of rows) {
    if (typeof row.definitions !== 'string') continue;
    const servers = new Map(
      Object.entries(JSON.parse(String(row.servers ?? '{}')) as Record<string, string>),
    );
    for (const { name, definition } of readOfferedTools(row.definitions)) {
      await turn();
      if (definition === undefined) continue;
      const text = toText(definition.description, definition.schema);
      const hash = createHash('sha256').update(text).digest('hex');
      const key = `${name}\0${hash}`;
      const before = versions.get(key);
      const [firstMs, lastMs] = [Number(row.firstMs), Number(row.lastMs)];
      versions.set(key, {
        server: before?.server || (servers.get(name) ?? ''),
        tool: name,
        hash,
        firstMs: Math.min(firstMs, before?.firstMs ?? firstMs),
        lastMs: Math.max(lastMs, before?.lastMs ?? lastMs),
        calls: Number(row.calls) + (before?.calls ?? 0),
        text: text.slice(0, MAX_TEXT_CHARS),
        textChars: text.length,
        barred: null,
        wasBarred: false,
      });
    }
  }
  return [...versions.values()];
}

/** The same definition gives the same text, in whatever order its members came, and whatever SDK passed it on. */
function toText(description: string, schema: unknown): string {
  const sorted = schema === undefined ? undefined : (JSON.parse(canonicalJson(schema)) as unknown);
  const schemas = sorted === undefined ? [] : [JSON.stringify(sorted, withoutStrictness, 2)];
  return [description, ...schemas].join('\n\n');
}

/** Frameworks add to the schema of a server which draft it is of, and that nothing else may be given. */
function withoutStrictness(key: string, value: unknown): unknown {
  const isAdded =
    (key === '$schema' && typeof value === 'string') || (key === 'additionalProperties' && value === false);
  return isAdded ? undefined : value;
}
