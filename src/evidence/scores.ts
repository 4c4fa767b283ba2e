import { checkAnswer, isContradiction, type TraceFinding, type TraceReading } from './rules/index.ts';
import { computeSupport, type Support } from './support/index.ts';
import type { EvidenceFinding, EvidenceInput, EvidenceLevel, EvidenceScores } from './types.ts';

/** Risks of the levels of the trace: the share of answers with such a finding that are wrong. */
const CONTRADICTED = 0.97;
const NOT_FOUND = 0.5;
const NO_FINDING = 0.1;

/** Contradicted ones come first. */
const MAX_FINDINGS = 32;

/** Holds an answer against the trace and its documents. `undefined` without evidence. */
export function scoreAnswer(input: EvidenceInput): EvidenceScores | undefined {
  const { prompt = '', answer, steps, retrievedContext } = input;
  const trace: TraceReading =
    steps === undefined ? { findings: [], checked: 0, found: 0 } : checkAnswer(input);
  const support =
    retrievedContext === undefined ? undefined : computeSupport(prompt, answer, retrievedContext);
  if (steps === undefined && support === undefined) return undefined;

  const contradicted = trace.findings.filter(({ kind }) => isContradiction(kind));
  const missing = trace.findings.filter(({ kind }) => !isContradiction(kind));
  const findings = [
    ...contradicted,
    // What the documents have need not be in a result.
    ...(support === undefined ? missing : listPassages(support, retrievedContext ?? '')),
  ].slice(0, MAX_FINDINGS);
  const checked = trace.checked + (support?.checked ?? 0);
  const level: EvidenceLevel = contradicted.length > 0 ? 'high' : findings.length > 0 ? 'medium' : 'low';
  const ofTrace = contradicted.length > 0 ? CONTRADICTED : findings.length > 0 ? NOT_FOUND : NO_FINDING;
  return {
    risk: Math.max(
      support?.risk ?? 0,
      steps === undefined ? 0 : support === undefined || contradicted.length > 0 ? ofTrace : NO_FINDING,
    ),
    ...(checked > 0 && { level, support: (trace.found + (support?.found ?? 0)) / checked }),
    findings: inCodePoints(answer, findings),
    ...(support !== undefined && support.sampled < 1 && { sampled: support.sampled }),
  };
}

/** The findings of the documents, with their places there, both or none. */
function listPassages({ findings }: Support, source: string): readonly EvidenceFinding[] {
  const point = toCodePointOffsets(source, Math.max(0, ...findings.map(({ endContext = 0 }) => endContext)));
  return findings.map(({ startContext = 0, endContext = Number.POSITIVE_INFINITY, ...finding }) => ({
    ...finding,
    ...(endContext <= MAX_COUNTED_UNITS && {
      startContext: point(startContext),
      endContext: point(endContext),
    }),
  }));
}

function inCodePoints(
  answer: string,
  findings: readonly (EvidenceFinding | TraceFinding)[],
): readonly EvidenceFinding[] {
  const point = toCodePointOffsets(answer, Math.max(0, ...findings.map(({ end }) => end)));
  return findings.map(({ step, start, end, ...rest }) => {
    const { rule: _, ...finding } = { rule: '', ...rest };
    return { ...finding, ...(step !== undefined && { step }), start: point(start), end: point(end) };
  });
}

const SURROGATE = /[\uD800-\uDBFF]/;

/** Passages that end further into the sources have no place: counting code points reads all the text before them. */
const MAX_COUNTED_UNITS = 1_048_576;

/** Converts places in UTF-16 code units, up to the furthest, to code points. Ascending places are cheap. */
function toCodePointOffsets(whole: string, furthest: number): (offset: number) => number {
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
