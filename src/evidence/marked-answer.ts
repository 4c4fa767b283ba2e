/** What each kind of finding means, as one reads it after its words. */
const MEANINGS: Readonly<Record<string, string>> = {
  tool_failed_claimed_success: 'claims an act whose call failed',
  tool_never_called: 'claims what no call did',
  partial: 'claims all where a part failed',
  empty_result_confident_answer: 'states what the empty results cannot give',
  wrong_value: 'differs from the results',
  wrong_negation: 'denies what succeeded',
  unsupported_statement: 'no passage has half of these words',
  unsupported_number: 'is in no source',
  unsupported_name: 'is in no source',
  unsupported_negation: 'its passage is not negated',
};

/** Why a finding of this kind stands against the answer, in a few words. */
export const meaningOfFinding = (kind: string): string => MEANINGS[kind] ?? 'not as the evidence has it';

/** Where a finding is, in code points. */
export interface FindingPlace {
  readonly kind: string;
  readonly start: number;
  readonly end: number;
}

/** A part of an answer, with the findings that lie on it. */
export interface AnswerSegment {
  readonly text: string;
  /** `contradicted` by the trace, else `unsupported` by the documents; absent where nothing was found. */
  readonly mark?: 'contradicted' | 'unsupported';
  /** Indices of the findings, ascending. */
  readonly findings: readonly number[];
}

/** The answer in parts, together all of it, split where findings begin and end: for any view that shows them. */
export function markAnswer(answer: string, findings: readonly FindingPlace[]): readonly AnswerSegment[] {
  const points = [...answer];
  const within = (place: number) => Math.min(points.length, Math.max(0, Math.floor(place) || 0));
  const starts = new Map<number, number[]>();
  const ends = new Map<number, number[]>();
  const put = (map: Map<number, number[]>, place: number, index: number) => {
    const known = map.get(place);
    if (known === undefined) map.set(place, [index]);
    else known.push(index);
  };
  for (const [index, { start, end }] of findings.entries()) {
    if (within(end) <= within(start)) continue;
    put(starts, within(start), index);
    put(ends, within(end), index);
  }
  const bounds = [...new Set([0, points.length, ...starts.keys(), ...ends.keys()])].sort((a, b) => a - b);
  const open = new Set<number>();
  return bounds.slice(0, -1).map((start, i) => {
    for (const index of ends.get(start) ?? []) open.delete(index);
    for (const index of starts.get(start) ?? []) open.add(index);
    const found = [...open].sort((a, b) => a - b);
    const isContradicted = found.some((index) => findings[index]?.kind.startsWith('unsupported_') === false);
    return {
      text: points.slice(start, bounds[i + 1]).join(''),
      ...(found.length > 0 && {
        mark: isContradicted ? ('contradicted' as const) : ('unsupported' as const),
      }),
      findings: found,
    };
  });
}
