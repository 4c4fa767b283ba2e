import { meaningOfFinding } from '../evidence/index.ts';
import { isObject, type JsonObject, readList } from '../json/index.ts';
import type { Paint } from './terminal/index.ts';

/** Where a finding is, in code points. */
interface FindingPlace {
  readonly kind: string;
  readonly start: number;
  readonly end: number;
}

interface Finding extends FindingPlace {
  readonly step: number | undefined;
}

/**
 * A scored answer for people: its risk, the answer with the contradicted and the unsupported parts in numbered
 * brackets, and why, line by line. Texts are not escaped: `Output` does that.
 *
 * @param input the scored line, with the columns that `score` computed.
 */
export function explainScore(input: JsonObject, row: JsonObject, paint: Paint): string {
  const answer = String(input.answer);
  const name = input.id === undefined ? '' : `${JSON.stringify(input.id)}: `;
  const { evidence_risk_score: risk, evidence_support: support, evidence_sampled: sampled } = row;
  if (typeof risk !== 'number')
    return `${paint('bold', `${name}no evidence: neither steps nor retrieved_context`)}\n\n${answer}\n`;
  const facts = [
    `${name}evidence risk ${risk.toFixed(2)} (${String(row.evidence_risk_level)})`,
    ...(typeof support === 'number' ? [`${Math.round(support * 100)} % of the checked claims found`] : []),
    ...(typeof sampled === 'number' ? [`${Math.round(sampled * 100)} % of the context read`] : []),
  ];
  const findings = readFindings(row);
  const why = findings.map((finding, i) => `  [${i + 1}] ${toReason(finding, input)}\n`);
  return `${paint('bold', facts.join(', '))}\n\n${marked(answer, findings, paint)}\n${why.length > 0 ? '\n' : ''}${why.join('')}`;
}

function readFindings(row: JsonObject): readonly Finding[] {
  return readList(row.evidence_findings)
    .filter(isObject)
    .map(({ kind, start, end, step }) => ({
      kind: String(kind),
      start: Number(start),
      end: Number(end),
      step: typeof step === 'number' ? step : undefined,
    }));
}

/** In plain words, with those of the answer and of the call: "says …, but send_payment failed: card_declined". */
function toReason({ kind, start, end, step }: Finding, input: JsonObject): string {
  const called = step === undefined ? undefined : readList(input.steps)[step];
  const words = [...String(input.answer)].slice(start, end).join('');
  const said = `"${shortened(words, MAX_WORDS)}"`;
  if (!isObject(called)) return `${said} ${meaningOfFinding(kind)} (${kind})`;
  const text = typeof called.result === 'string' ? called.result : (JSON.stringify(called.result) ?? '');
  const result = text === '' ? '' : `: ${shortened(text, MAX_RESULT)}`;
  return `says ${said}, but ${String(called.tool)} ${meaningOfFinding(kind, 'call')}${result} (${kind}, call ${(step as number) + 1})`;
}

const MAX_WORDS = 80;
const MAX_RESULT = 120;
const shortened = (text: string, most: number): string => {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
};

/**
 * A scored line without what it says, to report a wrong mark with: kinds and places of the findings, the shape of the
 * calls, and the marked words with letters and digits replaced (`Order W1` is `Xxxxx X0`).
 */
export function redactedRow(input: JsonObject, row: JsonObject): JsonObject {
  const answer = String(input.answer);
  return {
    answer: hidden(answer),
    prompt: hidden(String(input.prompt)),
    steps: readList(input.steps)
      .filter(isObject)
      .map(({ tool, arguments: args, result, is_error: isError }) => ({
        tool: String(tool),
        arguments: hiddenValue(args, 0),
        result: hiddenValue(result, 0),
        ...(isError !== undefined && { is_error: isError }),
      })),
    evidence_risk_level: row.evidence_risk_level ?? null,
    evidence_findings: row.evidence_findings ?? null,
  };
}

const MAX_DEPTH = 12;
const MAX_HIDDEN = 20_000;
/** Letters by letters and digits by digits: what stays is the form. */
const hidden = (text: string): string =>
  text
    .slice(0, MAX_HIDDEN)
    .replace(/\p{Lu}/gu, 'X')
    .replace(/\p{Ll}/gu, 'x')
    .replace(/\p{Lo}/gu, '字')
    .replace(/\p{N}/gu, '0');

function hiddenValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return hidden(value);
  if (typeof value === 'number') return Number(String(value).replace(/[1-9]/g, '1'));
  if (typeof value !== 'object' || value === null) return value;
  if (depth > MAX_DEPTH) return null;
  if (Array.isArray(value)) return value.map((member) => hiddenValue(member, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, hiddenValue(member, depth + 1)]),
  );
}

/** The answer with `[[words]](number)` at each finding. Findings of the trace are red, others yellow. */
function marked(answer: string, findings: readonly Finding[], paint: Paint): string {
  const style = (index: number) => (findings[index]?.kind.startsWith('unsupported_') ? 'yellow' : 'red');
  const close = (index: number) => paint(style(index), `]](${index + 1})`);
  let text = '';
  let open: readonly number[] = [];
  for (const segment of markAnswer(answer, findings)) {
    text += open
      .filter((index) => !segment.findings.includes(index))
      .map(close)
      .join('');
    const begun = segment.findings.filter((index) => !open.includes(index));
    text += begun.map((index) => paint(style(index), '[[')).join('') + segment.text;
    open = segment.findings;
  }
  return text + open.map(close).join('');
}

/** A part of an answer, with the indices of the findings that lie on it, ascending. */
interface AnswerSegment {
  readonly text: string;
  readonly findings: readonly number[];
}

/** The answer in parts, together all of it, split where findings begin and end. */
export function markAnswer(answer: string, findings: readonly FindingPlace[]): readonly AnswerSegment[] {
  const points = [...answer];
  const within = (place: number) => Math.min(points.length, Math.max(0, Math.floor(place) || 0));
  const places = findings.map(({ start, end }) => [within(start), within(end)] as const);
  const bounds = [...new Set([0, points.length, ...places.flat()])].sort((a, b) => a - b);
  return bounds.slice(0, -1).map((start, i) => {
    const end = bounds[i + 1] as number;
    return {
      text: points.slice(start, end).join(''),
      findings: places.flatMap(([from, to], index) => (from <= start && end <= to ? [index] : [])),
    };
  });
}
