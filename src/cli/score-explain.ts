import { type FindingPlace, markAnswer, meaningOfFinding } from '../evidence/index.ts';
import { isObject, type JsonObject, listOf } from '../json/index.ts';
import type { Paint } from './terminal/index.ts';

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
    ...(typeof support === 'number' ? [`${Math.round(support * 100)} % of the words supported`] : []),
    ...(typeof sampled === 'number' ? [`${Math.round(sampled * 100)} % of the context read`] : []),
  ];
  const findings = findingsOf(row);
  const why = findings.map((finding, i) => `  [${i + 1}] ${reasonOf(finding, input)}\n`);
  return `${paint('bold', facts.join(', '))}\n\n${marked(answer, findings, paint)}\n${why.length > 0 ? '\n' : ''}${why.join('')}`;
}

function findingsOf(row: JsonObject): readonly Finding[] {
  return listOf(row.evidence_findings)
    .filter(isObject)
    .map(({ kind, start, end, step }) => ({
      kind: String(kind),
      start: Number(start),
      end: Number(end),
      step: typeof step === 'number' ? step : undefined,
    }));
}

function reasonOf({ kind, step }: Finding, input: JsonObject): string {
  const called = step === undefined ? undefined : listOf(input.steps)[step];
  const tool = isObject(called) ? String(called.tool) : undefined;
  const place = tool === undefined ? '' : `, see call ${(step as number) + 1} (${JSON.stringify(tool)})`;
  return `${kind}: ${meaningOfFinding(kind)}${place}`;
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
