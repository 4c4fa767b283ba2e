import { listActClaims, listStatements, type Sentence } from '../answer/index.ts';
import { readSteps } from '../trace/index.ts';
import { Known } from '../values/index.ts';
import { ACT_RULES } from './acts.ts';
import { checkFacts } from './facts.ts';
import { unwrittenFile } from './files.ts';
import { otherCount } from './members.ts';
import { NOT_FOUND_RULES } from './not-found.ts';
import { OUTCOME_RULES } from './outcomes.ts';
import { otherPayment } from './payments.ts';
import { SOURCE_RULES } from './sources.ts';
import type { AnswerReading, FindingKind, Rule, RuleFinding, TraceInput } from './types.ts';
import { VALUE_RULES } from './values.ts';

/** All rules. Where two find the same words, the first one counts. */
export const RULES: readonly Rule[] = [
  ...ACT_RULES,
  unwrittenFile,
  ...OUTCOME_RULES,
  ...VALUE_RULES,
  otherPayment,
  otherCount,
  ...SOURCE_RULES,
  ...NOT_FOUND_RULES,
];

export interface TraceFinding extends RuleFinding {
  readonly kind: FindingKind;
  readonly rule: string;
}

export interface TraceReading {
  readonly findings: readonly TraceFinding[];
  /** How many claims could be checked, and how many of them were found. */
  readonly checked: number;
  readonly found: number;
}

/** Whether a result or a call speaks against the words. */
export const isContradiction = (kind: FindingKind): boolean => !kind.startsWith('unsupported_');

/**
 * Holds an answer against the tool calls of its run. Deterministic, in time linear in its input, which is read up to
 * 16,384 characters of the answer and the last 100 steps. The same words are found once.
 */
export function checkAnswer(
  { prompt = '', answer, steps = [], stepsArePartial }: TraceInput,
  rules: readonly Rule[] = RULES,
): TraceReading {
  const statements = listStatements(answer);
  const read = readSteps(steps);
  const known = new Known(prompt, read, read.length < steps.length);
  const reading: AnswerReading = {
    prompt: known.prompt,
    statements,
    claims: listActClaims(statements),
    steps: read,
    known,
    facts: read.length === 0 ? [] : checkFacts(statements, known),
  };
  const isPartial = stepsArePartial === true || read.some(({ isOpaque }) => isOpaque);
  const findings: TraceFinding[] = [];
  for (const rule of rules) {
    if (isPartial && rule.needsAllSteps) continue;
    for (const { kind = rule.kind, ...place } of rule.apply(reading)) {
      const isKnown = findings.some((one) => one.start < place.end && place.start < one.end);
      if (!isKnown) findings.push({ ...place, kind, rule: rule.name });
    }
  }
  return { findings, ...toCounts(reading, findings) };
}

/** Claims with a fact that can be looked up, claims of acts, and what has a finding. */
function toCounts({ claims, facts, statements }: AnswerReading, findings: readonly TraceFinding[]) {
  const hasFinding = (one: Sentence) => findings.some(({ start, end }) => start < one.end && one.start < end);
  const checked = new Set([
    ...facts.filter(({ isStated }) => isStated).map(({ statement }) => statement),
    ...claims.filter(({ kind }) => kind === 'act').map(({ statement }) => statement),
    ...statements.filter(hasFinding),
  ]);
  return { checked: checked.size, found: [...checked].filter((one) => !hasFinding(one)).length };
}
