import {
  checkKinds,
  checkValue,
  having,
  invalidOption,
  kinds,
  type OptionKinds,
  required,
} from '../../base/index.ts';
import { type Queryable, textOrNull, toObservatoryError } from '../../postgres/index.ts';
import type {
  DriftQuery,
  DriftReport,
  DriftRule,
  DriftStatus,
  PromptDrift,
  TemplateChange,
} from './types.ts';

/**
 * Maximum number of reported services and tools, and of new templates, so that invented names cannot fill the memory.
 */
const MAX_GROUPS = 1000;

/** Prompts of both windows by hash, marking new ones; $1 to $3 are the three times, $4 and $5 the filters. */
const MARKED = `WITH counted AS (
  SELECT service, tool_name, prompt_template_id, normalized_prompt_hash AS hash, min(start_time) AS first_seen,
    count(*) FILTER (WHERE start_time >= $2::timestamptz) AS prompts,
    count(*) FILTER (WHERE start_time < $2::timestamptz) AS baseline_prompts
  FROM mcp_traces
  WHERE start_time >= $1::timestamptz AND start_time < $3::timestamptz
    AND normalized_prompt_hash IS NOT NULL AND is_shadow IS NOT TRUE
    AND ($4::text IS NULL OR service = $4::text) AND ($5::text IS NULL OR tool_name = $5::text)
  GROUP BY 1, 2, 3, 4
), marked AS (
  SELECT counted.*,
    sum(baseline_prompts) OVER (PARTITION BY service, tool_name, hash) = 0 AS is_new,
    prompt_template_id IS NOT NULL
      AND sum(baseline_prompts) OVER (PARTITION BY service, tool_name, prompt_template_id) = 0 AS is_new_template
  FROM counted
)`;

/** A hash that also occurs under an old template is not explained by the new one. */
const GROUPS = `${MARKED}, hashes AS (
  SELECT service, tool_name, hash, sum(prompts) AS prompts, sum(baseline_prompts) AS baseline_prompts, is_new,
    bool_and(is_new_template) AS is_explained
  FROM marked
  GROUP BY service, tool_name, hash, is_new
)
SELECT service, tool_name,
  sum(prompts)::float8 AS prompts,
  (count(*) FILTER (WHERE prompts > 0))::float8 AS hashes,
  sum(baseline_prompts)::float8 AS baseline_prompts,
  (count(*) FILTER (WHERE baseline_prompts > 0))::float8 AS baseline_hashes,
  (count(*) FILTER (WHERE is_new))::float8 AS new_hashes,
  coalesce(sum(prompts) FILTER (WHERE is_new), 0)::float8 AS new_prompts,
  (count(*) FILTER (WHERE is_new AND NOT is_explained))::float8 AS unexplained_hashes,
  coalesce(sum(prompts) FILTER (WHERE is_new AND NOT is_explained), 0)::float8 AS unexplained_prompts
FROM hashes
GROUP BY service, tool_name
HAVING sum(prompts) > 0
ORDER BY unexplained_prompts DESC, service NULLS LAST, tool_name NULLS LAST
LIMIT ${MAX_GROUPS}`;

const TEMPLATES = `${MARKED}
SELECT service, tool_name, prompt_template_id,
  to_char(min(first_seen) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS first_seen,
  sum(prompts)::float8 AS prompts,
  count(*)::float8 AS hashes,
  (count(*) FILTER (WHERE is_new))::float8 AS new_hashes
FROM marked
WHERE is_new_template
GROUP BY service, tool_name, prompt_template_id
ORDER BY min(first_seen), prompt_template_id
LIMIT ${MAX_GROUPS}`;

const QUERY: OptionKinds<DriftQuery> = {
  sinceMs: required(kinds.number),
  baselineMs: kinds.number,
  service: kinds.string,
  toolName: kinds.string,
  until: kinds.date,
};

/**
 * Compares the prompts of a window with those of the baseline before it, by service and tool, and rates their spread.
 * Read-only. Reports at most the 1,000 services and tools with the most unexplained prompts.
 *
 * @throws ObservatoryError `INVALID_OPTION` for a length or limit that cannot be used, `DATABASE_UNREACHABLE`,
 * `DATABASE_SCHEMA_MISSING` or `DATABASE_REFUSED`.
 */
export async function driftReport(
  db: Queryable,
  query: DriftQuery,
  rule: DriftRule = {},
): Promise<DriftReport> {
  checkValue('the database of driftReport()', db, having('an object with a method query()', 'query'));
  checkKinds(query, QUERY, 'driftReport()');
  checkRule(rule);
  const { sinceMs, baselineMs = sinceMs, service, toolName, until = new Date() } = query;
  const from = before(until, 'sinceMs', sinceMs);
  const baselineFrom = before(from, 'baselineMs', baselineMs);
  const values = [baselineFrom, from, until].map((time) => time.toISOString());
  const filters = [service ?? null, toolName ?? null];
  try {
    const groups = await db.query(GROUPS, [...values, ...filters]);
    const templates = await db.query(TEMPLATES, [...values, ...filters]);
    const changes = byGroup(templates.rows);
    const judged = groups.rows.map((row) => judgedGroup(row, changes.get(toKey(row)) ?? [], rule));
    judged.sort(worstFirst);
    const isAlert = judged.some(({ status }) => status === 'drift');
    return { baselineFrom, from, until, isAlert, groups: judged };
  } catch (error) {
    throw toObservatoryError(error, undefined);
  }
}

type Row = Readonly<Record<string, unknown>>;

function judgedGroup(row: Row, templates: readonly Row[], rule: DriftRule): PromptDrift {
  const [prompts, baselineHashes] = [Number(row.prompts), Number(row.baseline_hashes)];
  const hashes = Number(row.hashes);
  const newPrompts = Number(row.new_prompts);
  const unexplainedPrompts = Number(row.unexplained_prompts);
  const group = {
    service: textOrNull(row.service),
    toolName: textOrNull(row.tool_name),
    prompts,
    hashes,
    baselinePrompts: Number(row.baseline_prompts),
    baselineHashes,
    newHashes: Number(row.new_hashes),
    newPrompts,
    unexplainedHashes: Number(row.unexplained_hashes),
    unexplainedPrompts,
    newShare: newPrompts / prompts,
    driftShare: unexplainedPrompts / prompts,
    growth: baselineHashes === 0 ? null : hashes / baselineHashes,
    templateChanges: templates.map(templateChange),
  };
  return { ...group, status: rateDrift(group, rule) };
}

function byGroup(rows: readonly Row[]): ReadonlyMap<string, readonly Row[]> {
  const groups = new Map<string, Row[]>(rows.map((row) => [toKey(row), []]));
  for (const row of rows) groups.get(toKey(row))?.push(row);
  return groups;
}

function toKey(row: Row): string {
  return JSON.stringify([row.service, row.tool_name]);
}

function templateChange(row: Row): TemplateChange {
  return {
    promptTemplateId: String(row.prompt_template_id),
    firstSeen: String(row.first_seen),
    prompts: Number(row.prompts),
    hashes: Number(row.hashes),
    newHashes: Number(row.new_hashes),
  };
}

function worstFirst(a: PromptDrift, b: PromptDrift): number {
  const drifts = (group: PromptDrift) => (group.status === 'drift' ? 1 : 0);
  return drifts(b) - drifts(a) || b.driftShare - a.driftShare;
}

function before(time: Date, name: string, ms: number): Date {
  const earlier = new Date(time.getTime() - ms);
  if (ms > 0 && !Number.isNaN(earlier.getTime())) return earlier;
  throw invalidOption(`\`${name}\``, 'milliseconds above 0', ms);
}

/** @throws ObservatoryError `INVALID_OPTION` for an invalid limit. */
export function checkRule(rule: DriftRule): DriftRule {
  check('failOver', rule.failOver, 1);
  check('failOverGrowth', rule.failOverGrowth);
  check('minPrompts', rule.minPrompts);
  return rule;
}

function rateDrift(group: Omit<PromptDrift, 'status'>, rule: DriftRule): DriftStatus {
  if (group.baselinePrompts === 0) return 'no_baseline';
  if (group.prompts < (rule.minPrompts ?? 20)) return 'few';
  const share = rule.countTemplateChanges === true ? group.newShare : group.driftShare;
  if (rule.failOver !== undefined && share > rule.failOver) return 'drift';
  const { growth } = group;
  return rule.failOverGrowth !== undefined && growth !== null && growth > rule.failOverGrowth
    ? 'drift'
    : 'ok';
}

function check(name: string, value: unknown, most = Number.MAX_VALUE): void {
  if (value === undefined || (typeof value === 'number' && value >= 0 && value <= most)) return;
  throw invalidOption(`\`${name}\``, `a number ${most === 1 ? 'from 0 to 1' : 'from 0 up'}`, value);
}
