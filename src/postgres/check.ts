/** What cannot be right in a store, by questions that only read. */
import { ObservatoryError } from '../base/index.ts';
import { toObservatoryError } from './database-error.ts';
import { refuseOtherTables } from './own-tables.ts';
import { type Database, nameOfDatabase } from './types.ts';

/** A kind of finding. */
interface Check {
  /** As `db check` names it. */
  readonly name: string;
  /** What the rows are, after their number. */
  readonly says: string;
  /** What to do about them. */
  readonly todo: string;
  /**
   * One SELECT of `rows`, `tokens` and `cost_usd`, with `detail` in words where there are several kinds. `$1` is the time
   * from which on rows count.
   */
  readonly sql: string;
}

/** Rows that cannot be right, or whose figures are not known. */
export interface StoreFinding {
  readonly name: string;
  readonly says: string;
  /** Which of them, such as the models without a price. */
  readonly detail: string | null;
  readonly rows: number;
  /** Tokens of these rows: input and output. */
  readonly tokens: number;
  /** What they cost, as far as it is known, in US dollars. */
  readonly costUsd: number;
  readonly todo: string;
  readonly sql: string;
}

/** Result of {@link checkStore}. */
export interface StoreCheck {
  readonly findings: readonly StoreFinding[];
  /** Names of the checks that were stopped, because they took too long. */
  readonly unanswered: readonly string[];
}

const SETTLE =
  'run: npx mcp-observatory db rollup. What stays was stored by an older version: UPDATE mcp_traces_settle_state SET next_xid = 0, and once more';
const REPRICE = 'npx mcp-observatory db reprice --prices FILE (docs/scores.md#prices)';

/** Costs that can be none, such as NaN, are left out of the sum. */
const SUMS = `count(*)::float8 AS rows, coalesce(sum(coalesce(t.prompt_tokens::bigint, 0) + coalesce(t.completion_tokens, 0)), 0)::float8 AS tokens,
  coalesce(sum(t.cost_usd) FILTER (WHERE abs(t.cost_usd) < 1e12), 0)::float8 AS cost_usd`;
const COUNTED = `t.start_time >= $1::timestamptz AND t.counted_on IS NULL`;
const HAS_USAGE = '(t.prompt_tokens IS NOT NULL OR t.completion_tokens IS NOT NULL)';
/** Two spans ran at the same time, or nearly: each has its own clock. */
const BESIDE = `o.start_time < mcp_traces_time(t.end_time) + interval '1 second' AND t.start_time < mcp_traces_time(o.end_time) + interval '1 second'`;
const REPEATS = `mcp_traces_repeats($1::timestamptz, 'infinity', 0, 9223372036854775807)`;

const CHECKS: readonly Check[] = [
  {
    name: 'aggregates_counted',
    says: 'spans repeat the tokens and cost of the calls below them, and are counted beside these',
    todo: SETTLE,
    sql: `SELECT ${SUMS} FROM ${REPEATS} AS r JOIN mcp_traces AS t USING (trace_id, span_id) WHERE r.counted_on = 'children'`,
  },
  {
    name: 'calls_counted_twice',
    says: 'spans are of a call that another span of their trace counts too',
    todo: SETTLE,
    sql: `SELECT ${SUMS} FROM ${REPEATS} AS r JOIN mcp_traces AS t USING (trace_id, span_id) WHERE r.counted_on <> 'children'`,
  },
  {
    name: 'responses_counted_twice',
    says: 'spans have the response id of a span in another trace, at the same time, by another instrumentation or process',
    todo: 'let one of the two instrumentations record the call, or send both to one collector, which counts a response once',
    sql: `WITH told AS MATERIALIZED (
      SELECT t.*, concat_ws(' ', service, resource ->> 'service.instance.id', resource ->> 'host.name', resource ->> 'process.pid') AS process
      FROM mcp_traces AS t WHERE ${COUNTED} AND ${HAS_USAGE} AND response_id IS NOT NULL
    )
    SELECT ${SUMS} FROM told AS t WHERE EXISTS (
      SELECT FROM told AS o WHERE o.response_id = t.response_id AND o.trace_id <> t.trace_id
        AND (o.scope IS DISTINCT FROM t.scope OR o.process <> t.process)
        AND NOT (o.process = t.process AND o.scope LIKE 'mcp-observatory%' AND t.scope LIKE 'mcp-observatory%')
        AND ${BESIDE}
        AND (o.start_time, o.span_id) < (t.start_time, t.span_id))`,
  },
  {
    name: 'traces_too_large',
    says: 'spans are in traces with more than 10,000 that have tokens, in which nobody looks for calls that are counted twice',
    todo: 'begin a trace for each request or run, not one for the life of a process',
    sql: `SELECT ${SUMS} FROM mcp_traces AS t WHERE ${COUNTED} AND ${HAS_USAGE} AND trace_id IN (
      SELECT trace_id FROM mcp_traces AS t WHERE ${COUNTED} AND ${HAS_USAGE} GROUP BY trace_id HAVING count(*) > 10000)`,
  },
  {
    name: 'tokens_disagree',
    says: 'calls have counts that do not add up to the total that was reported with them',
    todo: 'look at them: SELECT * FROM mcp_traces WHERE tokens_disagree. Their counts are stored as they came, without a cost',
    sql: `SELECT ${SUMS} FROM mcp_traces AS t WHERE ${COUNTED} AND t.tokens_disagree`,
  },
  {
    name: 'calls_without_usage',
    says: 'calls of models ended well and say no tokens, so that they cost nothing here',
    todo: 'switch usage on where the call is made (for streams of OpenAI: stream_options.include_usage), or in its instrumentation',
    sql: `SELECT ${SUMS} FROM mcp_traces AS t WHERE ${COUNTED} AND t.status_code <> 'error' AND t.model IS NOT NULL
      AND t.prompt_tokens IS NULL AND t.completion_tokens IS NULL AND t.cost_usd IS NULL AND t.gate_blocked IS NOT TRUE
      AND mcp_traces_kind(t.method, t.operation, t.attributes) = 'model'
      -- Several instrumentations may record a call, each by its clock; one of them may have its usage.
      AND NOT EXISTS (SELECT FROM mcp_traces AS o WHERE o.trace_id = t.trace_id AND o.span_id <> t.span_id
        AND (o.prompt_tokens IS NOT NULL OR o.completion_tokens IS NOT NULL)
        AND ${BESIDE})`,
  },
  {
    name: 'unpriced',
    says: 'calls have no cost',
    todo: `give prices of your own: ${REPRICE}`,
    sql: `SELECT ${SUMS}, CASE WHEN cost_source = 'unknown'
        THEN 'no price for ' || coalesce(array_to_string((array_agg(DISTINCT left(coalesce(model, '(no model)'), 80)))[1:5], ', '), '')
        ELSE cost_source END AS detail
      FROM mcp_traces AS t WHERE ${COUNTED} AND mcp_traces_is_unpriced(cost_source) GROUP BY cost_source ORDER BY 1 DESC LIMIT 20`,
  },
  {
    name: 'cache_untold',
    says: 'calls send a long conversation again, and their instrumentation never tells of cached tokens: the cost may be too high',
    todo: 'let an instrumentation that tells them record these calls, such as ours',
    sql: `SELECT ${SUMS}, t.scope AS detail FROM (
        SELECT *, count(cached_prompt_tokens) OVER (PARTITION BY scope) AS told, lag(prompt_tokens + completion_tokens
          - coalesce(reasoning_tokens, 0)) OVER (PARTITION BY trace_id, scope, model ORDER BY start_time, prompt_tokens) AS before
        FROM mcp_traces AS t WHERE ${COUNTED} AND ${HAS_USAGE}) AS t
      WHERE told = 0 AND before BETWEEN 1024 AND prompt_tokens AND cost_source = 'genai-prices'
        AND coalesce(provider, 'openai') ~ '^(openai|anthropic|aws|azure|gcp|deepseek|x_ai|moonshot)' AND scope NOT LIKE 'mcp-observatory%'
      GROUP BY scope ORDER BY 1 DESC LIMIT 20`,
  },
  {
    name: 'runs_without_root',
    says: 'runs lack their outer span, so that one run may be shown as several or without its name',
    todo: 'send the spans of all services of a run to this store, sample whole traces, and let programs end their spans (docs/collector.md)',
    sql: `SELECT ${SUMS.replace('count(*)', 'count(DISTINCT t.trace_id)')} FROM (
        SELECT trace_id FROM mcp_traces WHERE start_time >= $1::timestamptz GROUP BY trace_id
        HAVING bool_and(parent_span_id IS NOT NULL) AND max(end_time) < now() - interval '10 minutes'
      ) AS r JOIN mcp_traces AS t USING (trace_id)
      WHERE NOT EXISTS (SELECT FROM mcp_traces AS root WHERE root.trace_id = r.trace_id AND root.parent_span_id IS NULL)`,
  },
  {
    name: 'hashes_of_wrappers',
    says: 'calls have a hash of the JSON around the answer or prompt, so that equal texts never match',
    todo: 'please report the instrumentation (column scope): its form is not known. Answers and prompts in other forms are not affected',
    sql: `SELECT ${SUMS}, left(string_agg(DISTINCT t.scope, ', '), 200) AS detail FROM mcp_traces AS t WHERE ${COUNTED}
      AND (t.answer_hash IS NOT NULL OR t.prompt_hash IS NOT NULL) AND EXISTS (
        SELECT FROM jsonb_each_text(CASE jsonb_typeof(t.attributes) WHEN 'object' THEN t.attributes END) AS told (name, value)
        WHERE length(value) BETWEEN 2 AND 100000 AND left(ltrim(value), 1) IN ('{', '[')
          AND left(value, 4000) ~ '"(choices|generations|messages|candidates|role)"\\s*:'
          AND encode(sha256(convert_to(value, 'UTF8')), 'hex') IN (t.answer_hash, t.prompt_hash))
      HAVING count(*) > 0`,
  },
];

/** How a store is checked. */
export interface CheckOptions {
  /** Rows that started earlier are not looked at. */
  readonly since: Date;
  /** How long each check may take, in milliseconds. */
  readonly timeoutMs: number;
  /** Whether others go first, as in `ReadOnlyOptions`; then the first check that takes too long ends it. @defaultValue false */
  readonly isForeign?: boolean | undefined;
}

/**
 * Looks for what cannot be right in a store. It changes nothing.
 * @throws ObservatoryError `DATABASE_UNREACHABLE`, `DATABASE_SCHEMA_MISSING` or `DATABASE_REFUSED`, for instance because
 *   tables of another program are called alike.
 */
export async function checkStore(db: Database, options: CheckOptions): Promise<StoreCheck> {
  const { since, timeoutMs, isForeign } = options;
  await refuseOtherTables(db);
  const findings: StoreFinding[] = [];
  const unanswered: string[] = [];
  for (const { sql, ...check } of CHECKS) {
    const values = [since.toISOString()];
    try {
      const [answer] = await db.readOnly([{ text: sql, values }], { timeoutMs, isForeign });
      for (const { rows, tokens, cost_usd: cost, detail } of answer?.rows ?? []) {
        if (Number(rows) === 0) continue;
        findings.push({
          ...check,
          detail: detail === null || detail === undefined ? null : String(detail),
          rows: Number(rows),
          tokens: Number(tokens),
          costUsd: Number(cost),
          sql: sql.replaceAll('$1', `'${since.toISOString()}'`),
        });
      }
    } catch (error) {
      // As readOnly says that a question took too long; what the server refuses is an error of the driver.
      const isEnded = ObservatoryError.isInstance(error) && error.code === 'DATABASE_REFUSED';
      if (!isEnded) throw toObservatoryError(error, nameOfDatabase(db));
      unanswered.push(check.name);
      if (isForeign === true) break;
    }
  }
  return { findings, unanswered };
}
