/** What each kind of finding says after the words of the answer, and what the call against it did, after its tool. */
const KINDS: Readonly<Record<string, readonly [means: string, end?: string]>> = {
  tool_failed_claimed_success: ['is said to be done or so, but its call failed', 'failed'],
  tool_never_called: ['is said to be done, but no call did it', 'did not do it'],
  partial: ['is said of all, but a part failed', 'failed, or did only a part'],
  empty_result_confident_answer: ['is stated, but the calls found nothing', 'found nothing'],
  wrong_value: ['is not what the results have', 'gave something else'],
  wrong_negation: ['is said to have failed, but its call went well', 'went well'],
  unsupported_number: ['is in no result, document or request'],
  unsupported_name: ['is in no result, document or request'],
};

/** Why a finding of this kind stands against the answer, in plain words. */
export const meaningOfFinding = (kind: string): string => KINDS[kind]?.[0] ?? 'is not as the evidence has it';

/** The call that a finding is about. */
export interface CallInWords {
  readonly tool: string;
  readonly result?: unknown;
}

const MAX_WORDS = 80;
const MAX_RESULT = 120;
const shortened = (text: string, most: number): string => {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
};

/** What a finding says, with the words of the answer and of the call: "says …, but send_payment failed: card_declined". */
export function explainFinding(kind: string, words: string, call?: CallInWords): string {
  const said = `"${shortened(words, MAX_WORDS)}"`;
  if (call === undefined) return `${said} ${meaningOfFinding(kind)}`;
  const text = typeof call.result === 'string' ? call.result : (JSON.stringify(call.result) ?? '');
  const result = text === '' ? '' : `: ${shortened(text, MAX_RESULT)}`;
  return `says ${said}, but ${call.tool} ${KINDS[kind]?.[1] ?? 'says otherwise'}${result}`;
}

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
  const places = findings.map(({ start, end }) => [within(start), within(end)] as const);
  const bounds = [...new Set([0, points.length, ...places.flat()])].sort((a, b) => a - b);
  return bounds.slice(0, -1).map((start, i) => {
    const end = bounds[i + 1] as number;
    const found = places.flatMap(([from, to], index) => (from <= start && end <= to ? [index] : []));
    const isContradicted = found.some((index) => findings[index]?.kind.startsWith('unsupported_') === false);
    return {
      text: points.slice(start, end).join(''),
      ...(found.length > 0 && {
        mark: isContradicted ? ('contradicted' as const) : ('unsupported' as const),
      }),
      findings: found,
    };
  });
}
