import type { FindingKind } from './rules/index.ts';
import type { TraceStep } from './trace/index.ts';

/** What an answer can be held against. */
export interface EvidenceInput {
  readonly prompt?: string | undefined;
  readonly answer: string;
  /** Documents that the answer should rest on. */
  readonly retrievedContext?: string | undefined;
  /** All tool calls of the run before the answer, in order; empty if there were none although tools were at hand. */
  readonly steps?: readonly TraceStep[] | undefined;
  /** More calls than `steps` may have been made: that one is missing then says nothing. */
  readonly stepsArePartial?: boolean | undefined;
}

/** Words of the answer that the evidence contradicts, or that it does not have. Places count code points. */
export interface EvidenceFinding {
  readonly kind: FindingKind;
  readonly start: number;
  readonly end: number;
  /** Index of the tool call against it. */
  readonly step?: number;
  /** Place of the best passage in the retrieved context, if it is among the first million UTF-16 units. */
  readonly startContext?: number;
  readonly endContext?: number;
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
