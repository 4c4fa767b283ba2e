/**
 * How calls and runs end, decided here and, in the schema, by `mcp_traces_status()` and the column `mcp_runs.is_failed`
 * (`schema/011_failed_runs.sql`) alone: lists, filters, the page, the sentence, `/mcp` and the command line read it.
 */
import { semconv } from '../base/index.ts';

/**
 * How a span ended: `denied` was not let through, `held` waits for an approval, `withheld` was let through but its result
 * was not, `failed` has an error that is no gate's doing.
 */
export type SpanStatus = 'ok' | 'failed' | 'denied' | 'withheld' | 'held';

/**
 * How a run ended: as the weightiest of its spans, or not at all. A call that failed is a result like any other to the model
 * that reads it: the run has failed only if its root span did, or if no model answered after what failed, or the answer claims
 * that it went well. Otherwise it has `recovered` from what failed. One whose root span has not come is `running` at first,
 * then `incomplete`.
 */
export type RunStatus = SpanStatus | 'running' | 'incomplete' | 'recovered';

/** The status of a row of `mcp_traces`, in SQL. */
export const SPAN_STATUS = 'mcp_traces_status(status_code, policy_decision, gate_blocked)';

/**
 * What a row of `mcp_traces` says of its failure, in SQL: the description of its status without the stack of Python behind it,
 * else the message of the exception that it recorded, else the
 * type of its error.
 */
export const SPAN_MESSAGE = `coalesce(nullif(rtrim(split_part(status_message, 'Traceback (most recent call last)', 1)), ''),
  CASE WHEN status_code = 'error' THEN coalesce(jsonb_path_query_first(events,
    '$[*] ? (@.name == "exception").attributes."exception.message"') #>> '{}', nullif(status_message, ''),
    attributes->>'${semconv.ATTR_ERROR_TYPE}') END, nullif(status_message, ''))`;

/** A run whose root span is missing for longer than this ends without it: it may never come. */
const MISSING_ROOT = `interval '15 minutes'`;

/** Whether a call of a run (`mcp_runs r`) waits for a person now, in SQL: its gate may not have ended its span yet. */
export const WAITS_NOW = `r.trace_id IN (SELECT w.trace_id FROM mcp_reviews w WHERE w.status IN ('pending', 'claimed')
  AND w.expires_at > now() AND w.trace_id IS NOT NULL AND w.fallback_reason = 'approval_required')`;

/** Conditions on `mcp_runs r`, the weightiest first. A run can meet several, and is `ok` if it meets none. */
const CONDITIONS: Readonly<Record<Exclude<RunStatus, 'ok'>, string>> = {
  failed: 'r.is_failed',
  denied: 'r.denied > 0',
  withheld: 'r.withheld > 0',
  held: `(r.held > 0 OR ${WAITS_NOW})`,
  running: `(NOT r.has_root AND r.ended_at > now() - ${MISSING_ROOT})`,
  incomplete: `(NOT r.has_root AND r.ended_at <= now() - ${MISSING_ROOT})`,
  recovered:
    '(NOT r.is_failed AND (r.failed_calls > 0 OR r.errors > 0 AND r.denied + r.withheld + r.held = 0))',
};

/** Words of `status:` in a filter. */
export const RUN_STATUSES: readonly RunStatus[] = ['ok', ...(Object.keys(CONDITIONS) as RunStatus[])];

/** The status of a row of `mcp_runs r`, in SQL. */
export const RUN_STATUS = `CASE ${Object.entries(CONDITIONS)
  .map(([status, condition]) => `WHEN ${condition} THEN '${status}'`)
  .join(' ')} ELSE 'ok' END`;

/** The condition that a run (`mcp_runs r`) has a span of this status, or is as a word for runs alone says. */
export function conditionOfStatus(status: RunStatus): string {
  return status === 'ok' ? `${RUN_STATUS} = 'ok'` : CONDITIONS[status];
}

/** The failure of a run that tells most, in its own words. */
export interface Failure {
  /** The tool, or the name of the span. */
  readonly what: string;
  /** Its message, else the type of its error; null where neither is stored. */
  readonly why: string | null;
}

/** What of a run stands out, and how often or which. */
export interface Highlight {
  readonly kind: Exclude<RunStatus, 'ok'> | 'contradicted' | 'unsupported' | 'shadow';
  /** In words, with the figure where it is more than one. */
  readonly text: string;
}

/** What highlights are read from: the figures of a run. */
interface Figures {
  readonly status: RunStatus;
  readonly failedCalls: number;
  readonly failedTools: readonly string[];
  readonly failure: Failure | null;
  readonly denied: number;
  readonly withheld: number;
  readonly held: number;
  readonly waits: boolean;
  readonly contradicted: boolean;
  readonly unsupported: boolean;
  readonly isShadow: boolean;
}

/** What stands out of a run, the weightiest first: what waits for a person, what is untrue, what went wrong. */
export function listHighlights(run: Figures): readonly Highlight[] {
  const { status, denied, withheld, held, waits } = run;
  const counted = (count: number, text: string) => (count > 1 ? `${count} ${text}` : text);
  const found: readonly (readonly [boolean, Highlight['kind'], string])[] = [
    [waits, 'held', 'waits for you'],
    [held > 0 && !waits, 'held', counted(held, 'held for approval')],
    [run.contradicted, 'contradicted', 'answer contradicted'],
    [run.unsupported && !run.contradicted, 'unsupported', 'answer unsupported'],
    [status === 'failed', 'failed', formatFailure(run, 'failed')],
    [denied > 0, 'denied', counted(denied, 'denied')],
    [withheld > 0, 'withheld', counted(withheld, 'withheld')],
    [status === 'running', 'running', 'running'],
    [status === 'incomplete', 'incomplete', 'root span missing'],
    [status === 'recovered', 'recovered', formatFailure(run, 'recovered')],
    [run.isShadow, 'shadow', 'shadow'],
  ];
  return found.flatMap(([isTrue, kind, text]) => (isTrue ? [{ kind, text }] : []));
}

/** `failed send_payment: card_declined`, and how often where a call failed more than once. */
function formatFailure({ failure, failedCalls, failedTools }: Figures, word: string): string {
  const what = failure?.what ?? failedTools.slice(0, 3).join(', ');
  const why = failure?.why == null ? '' : `: ${failure.why}`;
  const more = failedCalls > 1 ? ` (${failedCalls} calls)` : '';
  return `${word === 'failed' ? word : `${word}:`} ${what}${why}${more}`.trimEnd();
}
