/**
 * Scores as `gen_ai.evaluation.result` span events (semconv 1.41.1), for back ends that do not know our attributes.
 * `gen_ai.evaluation.name` is the column name without `_score`.
 */
import type { Attributes, HrTime } from '@opentelemetry/api';
import type { Column, FieldValues } from './fields.ts';
import * as semconv from './semconv.ts';

/** A recording span. */
export interface EventSpan {
  addEvent(name: string, attributes: Attributes, time?: HrTime): unknown;
}

/** Score columns by evaluation name. */
const COLUMN_OF = {
  hallucination_risk: 'hallucination_risk_score',
  evidence_risk: 'evidence_risk_score',
  verifier: 'verifier_score',
  tool_claim_mismatch: 'tool_claim_mismatch',
  grounding: 'grounding_score',
  self_consistency: 'self_consistency_score',
  numeric_variance: 'numeric_variance_score',
  shadow_disagreement: 'shadow_disagreement_score',
  shadow_numeric_variance: 'shadow_numeric_variance',
} as const satisfies Readonly<Record<string, keyof FieldValues>>;

type EvaluationName = keyof typeof COLUMN_OF;

/**
 * Adds one event per score. Call it while the span is recording, in `onEnding` at the latest.
 *
 * `hallucination_risk` and `evidence_risk` have their level as label, `verifier` its objections as explanation, and `tool_claim_mismatch` is 1
 * or 0 with the label `mismatch` or `match`.
 *
 * @param time when the events happened. @defaultValue now
 */
export function addEvaluationEvents(span: EventSpan, values: FieldValues, time?: HrTime): void {
  if (!hasScore(values)) return;
  for (const [name, column] of EVALUATIONS) {
    const value = values[column];
    if (value === undefined) continue;
    const attributes: Attributes = {
      [semconv.ATTR_GEN_AI_EVALUATION_NAME]: name,
      [semconv.ATTR_GEN_AI_EVALUATION_SCORE_VALUE]: Number(value),
    };
    const label = findLabel(name, values);
    if (label !== undefined) attributes[semconv.ATTR_GEN_AI_EVALUATION_SCORE_LABEL] = label;
    if (name === 'verifier' && values.verifier_reason) {
      attributes[semconv.ATTR_GEN_AI_EVALUATION_EXPLANATION] = values.verifier_reason;
    }
    span.addEvent(semconv.EVENT_GEN_AI_EVALUATION_RESULT, attributes, time);
  }
}

const EVALUATIONS = Object.entries(COLUMN_OF) as [EvaluationName, (typeof COLUMN_OF)[EvaluationName]][];

const SCORES: ReadonlySet<string> = new Set(Object.values(COLUMN_OF));

/** Most spans have few values and no score: looking through the values is cheaper than probing every score. */
function hasScore(values: FieldValues): boolean {
  for (const column in values) if (SCORES.has(column)) return true;
  return false;
}

function findLabel(name: EvaluationName, values: FieldValues): string | undefined {
  if (name === 'hallucination_risk') return values.hallucination_risk_level;
  if (name === 'evidence_risk') return values.evidence_risk_level;
  if (name !== 'tool_claim_mismatch') return undefined;
  return values.tool_claim_mismatch === true ? 'mismatch' : 'match';
}

/**
 * Names of evaluations by other tools that have a column, in lower case without separators. A `hallucination` is a risk
 * (1: made up), as in Phoenix, DeepEval and Langfuse; faithfulness and groundedness are the opposite.
 */
const COLUMN_OF_OTHERS: ReadonlyMap<string, Column> = new Map([
  ['hallucination', 'hallucination_risk_score'],
  ['hallucinations', 'hallucination_risk_score'],
  ['hallucinationscore', 'hallucination_risk_score'],
  ['faithfulness', 'grounding_score'],
  ['faithfulnessscore', 'grounding_score'],
  ['groundedness', 'grounding_score'],
  ['groundednessscore', 'grounding_score'],
]);
const MAX_NAME_CHARS = 64;

/** The column and the value that an event tells, if it is an evaluation with a score from 0 to 1. */
export function evaluationIn(event: {
  readonly name: string;
  readonly attributes?: Readonly<Record<string, unknown>> | undefined;
}): { readonly column: Column; readonly value: number } | undefined {
  if (event.name !== semconv.EVENT_GEN_AI_EVALUATION_RESULT) return undefined;
  const name = event.attributes?.[semconv.ATTR_GEN_AI_EVALUATION_NAME];
  const value = event.attributes?.[semconv.ATTR_GEN_AI_EVALUATION_SCORE_VALUE];
  if (typeof name !== 'string' || name.length > MAX_NAME_CHARS) return undefined;
  if (typeof value !== 'number' || !(value >= 0 && value <= 1)) return undefined;
  const column = COLUMN_OF_OTHERS.get(name.toLowerCase().replace(/[^a-z]/g, ''));
  return column === undefined ? undefined : { column, value };
}

/**
 * Whether an event only repeats a row's columns: it is one of ours, with the same value.
 * @param toldBy returns the row's value of a column.
 */
export function isToldByColumns(
  event: { readonly name: string; readonly attributes?: Readonly<Record<string, unknown>> | undefined },
  toldBy: (column: Column) => unknown,
): boolean {
  if (event.name !== semconv.EVENT_GEN_AI_EVALUATION_RESULT) return false;
  const name = event.attributes?.[semconv.ATTR_GEN_AI_EVALUATION_NAME];
  if (typeof name !== 'string' || !Object.hasOwn(COLUMN_OF, name)) return false;
  const told = toldBy(COLUMN_OF[name as EvaluationName]);
  if (told === null || told === undefined) return false;
  return Number(told) === event.attributes?.[semconv.ATTR_GEN_AI_EVALUATION_SCORE_VALUE];
}
