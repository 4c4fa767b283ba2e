import { type ClaimKind, findClaims, type TraceStep } from './claims/index.ts';
import { JoinedSources, supportOf } from './support/index.ts';
import type { EvidenceInput, EvidenceScores } from './types.ts';

/**
 * Bounds of the levels and the risks of the trace, calibrated on labelled sets that count equally; `docs/scores.md` has
 * the precision and recall of each.
 */
const HIGH = 0.7;
const MEDIUM = 0.35;
/** Precision of a finding of the trace. */
const CONTRADICTED = 0.97;
/** Share of contradicted answers among those without a finding. */
const NOT_CONTRADICTED = 0.1;

/** The first ones are of the trace. */
const MAX_FINDINGS = 32;

/** A result that is a document rather than data: its words can support an answer. */
const MIN_DOCUMENT_CHARS = 400;

/** Findings that hold only if no call is missing. */
const NEEDS_ALL_STEPS: ReadonlySet<ClaimKind> = new Set<ClaimKind>([
  'tool_never_called',
  'empty_result_confident_answer',
  'wrong_value',
]);

/** Holds an answer against the trace and its documents. `undefined` without evidence. */
export function scoreAnswer(input: EvidenceInput): EvidenceScores | undefined {
  const { prompt = '', answer, steps, retrievedContext } = input;
  const sources = [
    ...(retrievedContext === undefined ? [] : [retrievedContext]),
    ...documentsOf(steps ?? []),
  ];
  const claims = (steps === undefined ? [] : findClaims({ prompt, answer, steps })).filter(
    ({ kind }) => input.stepsArePartial !== true || !NEEDS_ALL_STEPS.has(kind),
  );
  const support = sources.length === 0 ? undefined : supportOf({ prompt, answer, sources });
  if (steps === undefined && support === undefined) return undefined;

  const risk = Math.max(
    claims.length > 0 ? CONTRADICTED : 0,
    support?.risk ?? 0,
    steps === undefined ? 0 : NOT_CONTRADICTED,
  );
  const contextPoint = codePointsOf(
    new JoinedSources(sources),
    support?.findings.map(({ endContext = 0 }) => endContext) ?? [],
  );
  const passages = (support?.findings ?? []).map(({ startContext, endContext, ...finding }) => ({
    ...finding,
    // Both or none.
    ...(startContext !== undefined &&
      endContext !== undefined &&
      endContext <= MAX_COUNTED_UNITS && {
        startContext: contextPoint(startContext),
        endContext: contextPoint(endContext),
      }),
  }));
  const findings = [...claims, ...passages].slice(0, MAX_FINDINGS);
  const codePoint = codePointsOf(
    answer,
    findings.map(({ end }) => end),
  );
  return {
    risk,
    level: risk >= HIGH ? 'high' : risk >= MEDIUM ? 'medium' : 'low',
    ...(support !== undefined && { support: support.support }),
    findings: findings.map(({ start, end, ...finding }) => ({
      ...finding,
      start: codePoint(start),
      end: codePoint(end),
    })),
    ...(support !== undefined && support.sampled < 1 && { sampled: support.sampled }),
  };
}

function documentsOf(steps: readonly TraceStep[]): readonly string[] {
  return steps.flatMap(({ result, isError }) =>
    isError !== true &&
    typeof result === 'string' &&
    result.length >= MIN_DOCUMENT_CHARS &&
    !/^\s{0,8}[[{<]/.test(result)
      ? [result]
      : [],
  );
}

const SURROGATE = /[\uD800-\uDBFF]/;

/** Passages that end further into the sources have no place: counting code points reads all the text before them. */
const MAX_COUNTED_UNITS = 1_048_576;

/**
 * Converts places in UTF-16 code units to code points. Ascending places are cheap.
 * @param places the largest of them bounds what is asked for.
 */
function codePointsOf(whole: string | JoinedSources, places: readonly number[]): (offset: number) => number {
  const furthest = places.reduce((most, place) => Math.max(most, place), 0);
  const text = whole.slice(0, Math.min(furthest, MAX_COUNTED_UNITS));
  if (!SURROGATE.test(text)) return (offset) => offset;
  let [unit, point] = [0, 0];
  return (offset) => {
    if (offset < unit) [unit, point] = [0, 0];
    while (unit < offset) {
      unit += (text.codePointAt(unit) as number) > 0xffff ? 2 : 1;
      point++;
    }
    return point;
  };
}
