import { ObservatoryError } from '../../base/index.ts';
import type { Database } from '../../postgres/index.ts';

const HOW = { timeoutMs: 5000, isForeign: true };
/** The embedded database must be opened again after it has ended a question, so those that will take too long are not begun. */
const MAX_EMBEDDED_COST = 500_000;
const MAX_ROW_CHARS = 4000;
const MAX_TEXT_CHARS = 8000;

/** What the questions may read; reviews hold tokens of those who decide. */
const READABLE = /^mcp_(?!reviews|approvals|observatory)/u;

/**
 * What may stand before a parenthesis: functions that only compute from their arguments, types, and words of SQL. None
 * joins the texts of many rows, which may be more than the memory of the embedded database.
 */
const CALLABLE: ReadonlySet<string> = new Set(
  `abs all any array_length array_position array_to_string as avg bool_and bool_or btrim by cardinality ceil
  ceiling char_length coalesce concat concat_ws corr count cube cume_dist date date_bin date_part date_trunc decimal
  dense_rank distinct div every except exists extract exp filter first_value floor from greatest group grouping having
  in initcap intersect interval is join json_build_object jsonb_array_elements
  jsonb_array_elements_text jsonb_array_length jsonb_build_object jsonb_each jsonb_each_text jsonb_extract_path
  jsonb_extract_path_text jsonb_object_keys jsonb_path_exists jsonb_path_query_first jsonb_strip_nulls
  jsonb_typeof lag last_value lateral lead least left length like limit ln log lower ltrim make_interval max min mod
  mode not now nth_value ntile nullif numeric octet_length offset on or and order over partition percent_rank
  percentile_cont percentile_disc position power rank regr_r2 regr_slope replace reverse right rollup round row
  row_number row_to_json rtrim select sets sign some split_part sqrt starts_with stddev stddev_pop stddev_samp
  strpos substr substring sum text time timestamp timestamptz to_char to_date to_json to_jsonb to_number
  to_timestamp trim trunc unnest union using uuid values var_pop var_samp varchar variance when then else where width_bucket
  window with within`.split(/\s+/u),
);

const SPACE = /\s+/uy;
const NAME = /[\p{L}_][\p{L}\p{N}_]*/uy;
const QUOTED = /"(?:[^"]|"")*"/uy;
const STRING = /'(?:[^']|'')*'/uy;
const OPENING = /\s*\(/uy;

/** Rows as JSON, each cut after 4,000 characters. */
export interface SqlRows {
  readonly rows: readonly string[];
  /** Whether there are more rows than were asked for. */
  readonly hasMore: boolean;
}

/**
 * Answers one SELECT that somebody else wrote, over the traces and their sums alone: in a transaction that may only read,
 * bounded in time and rows, with functions that have no effect.
 *
 * @throws ObservatoryError `INVALID_INPUT` for another statement, function or table, or one that is too expensive, and
 *   for what the database does not understand; `DATABASE_REFUSED` when the time is over.
 */
export async function answerSql(db: Database, text: string, maxRows: number): Promise<SqlRows> {
  const query = checkedSql(text);
  const statement = `SELECT left(row_to_json(answer)::text, ${MAX_ROW_CHARS}) AS row FROM (\n${query}\n) AS answer LIMIT ${maxRows + 1}`;
  try {
    const [plan] = await db.readOnly([{ text: `EXPLAIN (FORMAT JSON) ${statement}` }], HOW);
    checkPlan(plan?.rows[0]?.['QUERY PLAN'], db.kind === 'pglite' ? query : undefined);
    const [found] = await db.readOnly([{ text: statement }], HOW);
    const rows = (found?.rows ?? []).map(({ row }) => String(row));
    return { rows: rows.slice(0, maxRows), hasMore: rows.length > maxRows };
  } catch (error) {
    if (ObservatoryError.isInstance(error)) throw error;
    // The database's words: the column that does not exist, the place of a mistake.
    const { message, hint } = error as { message?: string; hint?: string };
    throw refused(`${message ?? String(error)}${hint === undefined ? '' : ` (${hint})`}`, error);
  }
}

/** @throws ObservatoryError `INVALID_INPUT` unless the text can only be a query that has no effect. */
function checkedSql(text: string): string {
  const query = text.trim().replace(/;$/u, '');
  if (query.length > MAX_TEXT_CHARS) throw refused(`The SQL has more than ${MAX_TEXT_CHARS} characters`);
  if (!/^(?:select|with|values)\b/iu.test(query)) throw refused('The SQL must begin with SELECT or WITH');
  let depth = 0;
  for (let at = 0; at < query.length; ) {
    const length = lengthAt(SPACE, query, at) || lengthAt(STRING, query, at);
    const name = lengthAt(NAME, query, at) || lengthAt(QUOTED, query, at);
    if (length > 0) at += length;
    else if (name > 0) {
      checkName(query.slice(at, at + name), query.slice(at + name));
      at += name;
    } else {
      const sign = query[at] as string;
      if (sign === '(') depth += 1;
      if (sign === ')') depth -= 1;
      const pair = query.slice(at, at + 2);
      if (depth < 0) throw refused('The SQL closes a parenthesis that it did not open');
      if (`;$\\"'`.includes(sign) || pair === '--' || pair === '/*')
        throw refused(
          `The SQL contains ${pair === '--' || pair === '/*' ? pair : sign}, which is not allowed`,
        );
      at += 1;
    }
  }
  if (depth !== 0) throw refused('The SQL does not close a parenthesis');
  return query;
}

function checkName(written: string, rest: string): void {
  const name = written.replaceAll('"', '').toLowerCase();
  // Prefixes of other kinds of strings and names, whose escapes would hide what they say.
  if (/^(?:'|&["'])/u.test(rest) && !written.startsWith('"')) throw refused(`${written}' is not allowed`);
  if (name.startsWith('pg_') || name === 'information_schema') throw refused(`${name} is not allowed`);
  if (name === 'recursive') throw refused('RECURSIVE is not allowed');
  if (lengthAt(OPENING, rest, 0) > 0 && !CALLABLE.has(name))
    throw refused(`The function ${name} is not allowed`);
}

interface Plan {
  readonly 'Node Type'?: unknown;
  readonly 'Relation Name'?: unknown;
  readonly 'Plan Rows'?: unknown;
  readonly 'Total Cost'?: unknown;
  readonly Plans?: readonly Plan[];
}

/**
 * @param embedded the SQL, where the embedded database is to answer it.
 * @throws ObservatoryError `INVALID_INPUT` for a table that is not readable, or a cost that is too high.
 */
function checkPlan(plan: unknown, embedded: string | undefined): void {
  const tree = (typeof plan === 'string' ? JSON.parse(plan) : plan) as unknown;
  const root = (Array.isArray(tree) ? tree[0] : undefined) as { Plan?: Plan } | undefined;
  if (root?.Plan === undefined) throw refused('The database did not say what the SQL reads');
  const nodes = [root.Plan];
  for (const node of nodes) {
    const { 'Relation Name': relation, Plans: parts } = node;
    if (relation !== undefined && !READABLE.test(String(relation)))
      throw refused(`The table ${String(relation)} is not one of the traces`);
    if (Array.isArray(parts)) nodes.push(...parts);
  }
  if (embedded === undefined) return;
  const elements = embedded.split(',').length;
  const more = nodes.reduce((product, node) => product * moreRows(node, elements), 1);
  const cost = Number(root.Plan['Total Cost']) * more;
  if (!(cost <= MAX_EMBEDDED_COST))
    throw refused(
      `The SQL is too expensive for the embedded database (${Math.round(cost)} of ${MAX_EMBEDDED_COST} units). Select a shorter range of start_time, or use mcp_runs or the hourly tables`,
    );
}

/**
 * How many times as many rows a function may give as Postgres expects: 100 of most that return sets, also of a list with
 * thousands of elements that the SQL itself has.
 */
function moreRows(
  { 'Node Type': type, 'Plan Rows': rows, Plans: parts = [] }: Plan,
  elements: number,
): number {
  if (type === 'Function Scan') return Math.max(1, elements / Number(rows));
  if (type !== 'ProjectSet') return 1;
  return Math.max(1, (elements * Number(parts[0]?.['Plan Rows'] ?? 1)) / Number(rows));
}

function lengthAt(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0].length ?? 0;
}

function refused(message: string, cause?: unknown): ObservatoryError {
  return new ObservatoryError('INVALID_INPUT', message, cause === undefined ? undefined : { cause });
}
