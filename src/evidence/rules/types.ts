import type { ActClaim, Sentence } from '../answer/index.ts';
import type { ReadStep, TraceStep } from '../trace/index.ts';
import type { Known } from '../values/index.ts';
import type { Fact } from './facts.ts';

/** Kinds of *contradicted*: a result or a call speaks against the words. */
export type ClaimKind =
  | 'tool_failed_claimed_success'
  | 'tool_never_called'
  | 'empty_result_confident_answer'
  | 'wrong_value'
  | 'wrong_negation'
  | 'partial';
/** Kinds of *not found*: a figure or a name that is presented as found and that nothing has. */
export type NotFoundKind = 'unsupported_number' | 'unsupported_name';
export type FindingKind = ClaimKind | NotFoundKind;

/** An answer, and the calls that it is held against. */
export interface TraceInput {
  readonly prompt?: string | undefined;
  readonly answer: string;
  /** All tool calls of the run before the answer, in order; empty if there were none although tools were at hand. */
  readonly steps?: readonly TraceStep[] | undefined;
  /** More calls than `steps` may have been made: that one is missing then says nothing. */
  readonly stepsArePartial?: boolean | undefined;
}

/** Words of the answer that a rule found, in UTF-16 code units. */
export interface RuleFinding {
  readonly start: number;
  readonly end: number;
  /** Index of the step against them; absent where no call was made, or none has the words. */
  readonly step?: number | undefined;
}

/** An answer beside what it is held against, read once for all rules. */
export interface AnswerReading {
  /** What the user said, in lower case; its figures and names need no tool. */
  readonly prompt: string;
  readonly statements: readonly Sentence[];
  readonly claims: readonly ActClaim[];
  readonly steps: readonly ReadStep[];
  readonly known: Known;
  /** Figures, names, days and times of the claims. */
  readonly facts: readonly Fact[];
}

/** One way in which an answer can be wrong. What it must find and must leave alone is in `bench/rule-examples.jsonl`. */
export interface Rule {
  readonly name: string;
  /** In plain words. */
  readonly says: string;
  readonly kind: FindingKind;
  /** It holds only if no call is missing, nor the result of one. */
  readonly needsAllSteps: boolean;
  /** It may give another kind than its own where the same words are wrong in another way. */
  readonly apply: (reading: AnswerReading) => readonly (RuleFinding & { readonly kind?: FindingKind })[];
}
