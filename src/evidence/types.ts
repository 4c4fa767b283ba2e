import type { FindingKind, TraceInput } from './rules/index.ts';
import type { SupportFinding } from './support/index.ts';

/** What an answer can be held against. */
export interface EvidenceInput extends TraceInput {
  /** Documents that the answer should rest on. */
  readonly retrievedContext?: string | undefined;
}

/** Words of the answer that the evidence contradicts, or that it does not have. Places count code points. */
export interface EvidenceFinding extends Omit<SupportFinding, 'kind'> {
  readonly kind: FindingKind;
  /** Index of the tool call against it. */
  readonly step?: number;
}

export type EvidenceLevel = 'low' | 'medium' | 'high';

export interface EvidenceScores {
  /** How unlikely the answer is to be true to its evidence, 0 to 1. */
  readonly risk: number;
  /** `high`: contradicted; `medium`: concrete facts are in no evidence; absent where nothing could be checked. */
  readonly level?: EvidenceLevel;
  /** Share of the claims that could be checked which have no finding, 0 to 1. */
  readonly support?: number;
  readonly findings: readonly EvidenceFinding[];
  /** Share of the documents that was read, if not all was. */
  readonly sampled?: number;
}
