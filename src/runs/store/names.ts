import { ownTurn, printableLine } from '../../base/index.ts';
import type { Queryable } from '../../postgres/index.ts';
import { type Failure, SPAN_MESSAGE } from '../status.ts';
import { MAY_SPEAK } from './condition.ts';
import { ask, type RunRow } from './run-row.ts';
import { readTexts } from './said.ts';

/** Spans of a run in which the first words of its user are looked for. */
const MAX_SPANS = 3;
/** Longer attributes, as stored, are not read for a name. */
const MAX_BYTES = 200_000;
/** Runs of one statement: an embedded database holds the event loop while it works on one. */
const PART_RUNS = 25;
const MAX_NAME_CHARS = 120;
const MAX_WHY_CHARS = 120;
const MAX_TOOLS = 3;

/** Ordered by an expression: by the column alone the planner walks through the spans of all runs. */
const FIRST_SPANS = `SELECT t.span_name AS name, t.scope, t.events, t.parent_span_id IS NULL AS "isRoot",
    t.span_kind = 'internal' AND t.operation IS NULL AND t.method IS NULL AS "isNamed",
    CASE WHEN pg_column_size(t.attributes) < ${MAX_BYTES} THEN t.attributes END AS attributes
  FROM mcp_traces t WHERE t.trace_id = wanted.id::uuid AND ${MAY_SPEAK}
  ORDER BY date_part('epoch', t.start_time), t.span_id LIMIT ${MAX_SPANS}`;

/** A tool tells more than a model, and both more than what is above them; of several the last. */
const FAILURE = `SELECT coalesce(t.tool_name, t.span_name) AS what,
    left(${SPAN_MESSAGE}, ${4 * MAX_WHY_CHARS}) AS why
  FROM mcp_traces t WHERE t.trace_id = wanted.id::uuid AND t.status_code = 'error'
    AND mcp_traces_status(t.status_code, t.policy_decision, t.gate_blocked) = 'failed'
  ORDER BY t.tool_name IS NULL, t.parent_span_id IS NULL, t.end_time DESC LIMIT 1`;

type FirstSpan = Readonly<Record<string, unknown>>;

/**
 * Gives runs the names that people know them by: the first words of the user where they are stored, else service and tools
 * where the root has no name of its own; and what failed in its own words. @throws the database's errors.
 */
export async function nameRuns(db: Queryable, runs: readonly RunRow[]): Promise<RunRow[]> {
  const named: RunRow[] = [];
  for (let i = 0; i < runs.length; i += PART_RUNS) {
    const part = runs.slice(i, i + PART_RUNS);
    const rows = await ask(
      db,
      `SELECT wanted.id, (SELECT json_agg(s) FROM (${FIRST_SPANS}) AS s) AS spans,
        CASE WHEN wanted.fails THEN (SELECT row_to_json(f) FROM (${FAILURE}) AS f) END AS failure
      FROM unnest($1::text[], $2::boolean[]) AS wanted (id, fails)`,
      [part.map(({ id }) => id), part.map(({ errors }) => errors > 0)],
    );
    const found = new Map(rows.map((row) => [row.id, row]));
    for (const run of part) {
      const { spans, failure } = found.get(run.id) ?? {};
      named.push({
        ...run,
        // A name that turns the reading direction would pose as another.
        name: printableLine(pickName(run, (spans ?? []) as readonly FirstSpan[])),
        failure: readFailure(failure),
      });
    }
    await ownTurn();
  }
  return named;
}

function pickName(run: RunRow, spans: readonly FirstSpan[]): string {
  for (const span of spans) {
    const words = span.attributes === null ? undefined : readTexts(span).prompt;
    if (words !== undefined && words.trim() !== '') return toLine(words, MAX_NAME_CHARS);
  }
  const { name, service, tools } = run;
  const isOwn = spans.some(({ isRoot, isNamed }) => isRoot === true && isNamed === true);
  if (isOwn || tools.length === 0) return name;
  const more = tools.length > MAX_TOOLS ? ` and ${tools.length - MAX_TOOLS} more` : '';
  const list = `${tools.slice(0, MAX_TOOLS).join(', ')}${more}`;
  return service === null ? list : `${service}: ${list}`;
}

function readFailure(value: unknown): Failure | null {
  if (value === null || value === undefined) return null;
  const { what, why } = value as Failure;
  return { what, why: why === null ? null : toLine(why, MAX_WHY_CHARS) };
}

/** The beginning of a text in one line. */
function toLine(text: string, max: number): string {
  const line = text
    .slice(0, 4 * max)
    .replace(/\s+/gu, ' ')
    .trim();
  const points = [...line];
  return points.length > max ? `${points.slice(0, max - 1).join('')}…` : line;
}
