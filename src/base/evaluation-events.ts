/**
 * Scores as `gen_ai.evaluation.result` span events (semconv 1.41.1), for back ends that do not know our attributes.
 * `gen_ai.evaluation.name` is the column name without `_score`.
 */
import type { Attributes } from '@opentelemetry/api';
import type { Column, FieldValues } from './fields.ts';
import {
  ATTR_GEN_AI_EVALUATION_EXPLANATION,
  ATTR_GEN_AI_EVALUATION_NAME,
  ATTR_GEN_AI_EVALUATION_SCORE_LABEL,
  ATTR_GEN_AI_EVALUATION_SCORE_VALUE,
  EVENT_GEN_AI_EVALUATION_RESULT,
} from './semconv.ts';

/** A recording span. */
export interface EventSpan {
  addEvent(name: string, attributes: Attributes): unknown;
}

/** Score columns by evaluation name. */
const COLUMN_OF = {
  hallucination_risk: 'hallucination_risk_score',
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
 * `hallucination_risk` has its level as label, `verifier` its objections as explanation, and `tool_claim_mismatch` is 1
 * or 0 with the label `mismatch` or `match`.
 */
export function addEvaluationEvents(span: EventSpan, values: FieldValues): void {
  if (!hasScore(values)) return;
  for (const key in COLUMN_OF) {
    const name = key as EvaluationName;
    const value = values[COLUMN_OF[name]];
    if (value === undefined) continue;
    const attributes: Attributes = {
      [ATTR_GEN_AI_EVALUATION_NAME]: name,
      [ATTR_GEN_AI_EVALUATION_SCORE_VALUE]: Number(value),
    };
    const label = labelOf(name, values);
    if (label !== undefined) attributes[ATTR_GEN_AI_EVALUATION_SCORE_LABEL] = label;
    if (name === 'verifier' && values.verifier_reason) {
      attributes[ATTR_GEN_AI_EVALUATION_EXPLANATION] = values.verifier_reason;
    }
    span.addEvent(EVENT_GEN_AI_EVALUATION_RESULT, attributes);
  }
}

const SCORES: ReadonlySet<string> = new Set(Object.values(COLUMN_OF));

/** Most spans have few values and no score: looking through the values is cheaper than probing every score. */
function hasScore(values: FieldValues): boolean {
  for (const column in values) if (SCORES.has(column)) return true;
  return false;
}

function labelOf(name: EvaluationName, values: FieldValues): string | undefined {
  if (name === 'hallucination_risk') return values.hallucination_risk_level;
  if (name !== 'tool_claim_mismatch') return undefined;
  return values.tool_claim_mismatch === true ? 'mismatch' : 'match';
}

/**
 * Whether an event only repeats a row's columns: it is one of ours, with the same value.
 * @param toldBy returns the row's value of a column.
 */
export function isToldByColumns(
  event: { readonly name: string; readonly attributes?: Readonly<Record<string, unknown>> | undefined },
  toldBy: (column: Column) => unknown,
): boolean {
  if (event.name !== EVENT_GEN_AI_EVALUATION_RESULT) return false;
  const name = event.attributes?.[ATTR_GEN_AI_EVALUATION_NAME];
  if (typeof name !== 'string' || !Object.hasOwn(COLUMN_OF, name)) return false;
  const told = toldBy(COLUMN_OF[name as EvaluationName]);
  if (told === null || told === undefined) return false;
  return Number(told) === event.attributes?.[ATTR_GEN_AI_EVALUATION_SCORE_VALUE];
}
