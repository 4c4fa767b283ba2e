import type { FieldValues } from '../base/index.ts';
import { type EvidenceFinding, type EvidenceInput, scoreEvidence } from './evidence.ts';

/** The `evidence_*` fields of an answer, none without evidence. */
export function evidenceFields(input: EvidenceInput): FieldValues {
  const scores = scoreEvidence(input);
  if (scores === undefined) return {};
  return {
    evidence_risk_score: scores.risk,
    evidence_risk_level: scores.level,
    ...(scores.support !== undefined && { evidence_support: scores.support }),
    evidence_findings: JSON.stringify(scores.findings.map(findingRecord)),
    ...(scores.sampled !== undefined && { evidence_sampled: scores.sampled }),
    ...(input.stepsArePartial === true && { evidence_partial: true }),
  };
}

/** A finding as it is stored and printed. */
const findingRecord = ({ startContext, endContext, ...finding }: EvidenceFinding) => ({
  ...finding,
  ...(startContext !== undefined && { start_context: startContext, end_context: endContext }),
});

/** The kinds in stored findings, each once, joined by commas; `ok` when there are none. */
export function findingKinds(findings: string | undefined): string {
  const kinds = [...(findings ?? '').matchAll(/"kind":"([a-z_]{1,40})"/g)].map((match) => match[1] as string);
  return kinds.length === 0 ? 'ok' : [...new Set(kinds)].join(',');
}
