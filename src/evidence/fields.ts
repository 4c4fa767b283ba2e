import type { FieldValues } from '../base/index.ts';
import { reportVerifierError, type SignalConfig } from '../signals/index.ts';
import { scoreEvidence } from './scorer.ts';
import type { EvidenceFinding, EvidenceInput } from './types.ts';

/** An answer, and what it may be held against. */
export interface AnswerInput extends Omit<EvidenceInput, 'answer'> {
  readonly answer?: string | undefined;
  /** The part of `retrievedContext` that is made of the results of `steps`: data rather than documents. */
  readonly stepContext?: string | undefined;
}

/**
 * The `evidence_*` fields, none without an answer and evidence, or if they are switched off. Of long texts they take as
 * long as all other fields.
 * @returns `'failed'` when they could not be computed, which is reported.
 */
export function computeEvidence(input: AnswerInput, config: SignalConfig): FieldValues | 'failed' {
  const { prompt, answer, steps, stepsArePartial, retrievedContext, stepContext } = input;
  if (!config.enableEvidence || answer === undefined) return {};
  if (steps === undefined && retrievedContext === undefined) return {};
  try {
    const documents = documentsIn(retrievedContext, stepContext);
    const scores = scoreEvidence({ prompt, answer, steps, stepsArePartial, retrievedContext: documents });
    if (scores === undefined) return {};
    return {
      evidence_risk_score: scores.risk,
      ...(scores.level !== undefined && { evidence_risk_level: scores.level }),
      ...(scores.support !== undefined && { evidence_support: scores.support }),
      evidence_findings: JSON.stringify(scores.findings.map((finding) => findingRecord(finding, steps))),
      ...(scores.sampled !== undefined && { evidence_sampled: scores.sampled }),
      ...(stepsArePartial === true && { evidence_partial: true }),
    };
  } catch (error) {
    reportVerifierError(error, config);
    return 'failed';
  }
}

/** The context without what the tool calls gave, which comes first. */
function documentsIn(context: string | undefined, stepContext: string | undefined): string | undefined {
  if (context === undefined || stepContext === undefined) return context;
  if (!context.startsWith(stepContext)) return context;
  const rest = context.slice(stepContext.length).trimStart();
  return rest === '' ? undefined : rest;
}

/** A finding as it is stored and printed. */
const findingRecord = (
  { startContext, endContext, ...finding }: EvidenceFinding,
  steps: AnswerInput['steps'] = [],
) => ({
  ...finding,
  ...(finding.step !== undefined && { tool: steps[finding.step]?.tool }),
  ...(startContext !== undefined && { start_context: startContext, end_context: endContext }),
});

/** Why a finding of a kind stands against the answer: after the words of the answer, and after the tool of a call. */
const MEANINGS: Readonly<Record<string, readonly [words: string, call?: string]>> = {
  tool_failed_claimed_success: ['is said to be done, but its call failed', 'failed'],
  tool_never_called: ['is said to be done, but no call did it', 'did not do it'],
  partial: ['is said of all, but a part failed', 'failed, or did only a part'],
  empty_result_confident_answer: ['is stated, but the calls found nothing', 'found nothing'],
  wrong_value: ['is not what the results have', 'gave something else'],
  wrong_negation: ['is said to have failed, but its call went well', 'went well'],
  unsupported_number: ['is in no result, document or request'],
  unsupported_name: ['is in no result, document or request'],
};

/** @param of The words of the answer, or the tool of the call against them. */
export function meaningOfFinding(kind: string, of: 'words' | 'call' = 'words'): string {
  const [words = 'is not as the evidence has it', call = 'says otherwise'] = MEANINGS[kind] ?? [];
  return of === 'words' ? words : call;
}
