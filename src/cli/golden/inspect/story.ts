/** A golden as something to read: who said what, in which order, at what price, and where it went wrong. */

import type { GoldenProblem } from '../../../golden/index.ts';
import type { TokenUsage } from '../../../signals/index.ts';

export interface Story {
  readonly title: string;
  readonly description: string;
  readonly category: string;
  readonly runner: string;
  /** `scripted` is said wherever the golden is shown. */
  readonly source: 'recorded' | 'scripted';
  readonly provider: string;
  readonly model: string;
  readonly recordedAt: string | null;
  readonly expiresAt: string | null;
  /** Edited by hand, or past its date. */
  readonly problems: readonly GoldenProblem[];
  readonly outcome: Outcome;
  readonly totals: Totals;
  readonly steps: readonly Step[];
  readonly failures: readonly FailurePoint[];
}

export interface Outcome {
  /** Undefined where the runner keeps none. */
  readonly success: boolean | undefined;
  readonly stopReason: string | undefined;
  readonly answer: string;
}

export interface Totals {
  readonly turns: number;
  readonly toolCalls: number;
  readonly failedToolCalls: number;
  readonly promptTokens: number | undefined;
  readonly completionTokens: number | undefined;
  /** In US dollars at the list prices of the day of the recording; undefined when a price or a count is unknown. */
  readonly costUsd: number | undefined;
  readonly modelMs: number;
  readonly toolMs: number;
}

/** What the model was told: its instructions, the user's words, or a word of the orchestrator in between. */
export interface TextStep {
  readonly kind: 'system' | 'user' | 'notice';
  readonly text: string;
}

/** One request to the model and its answer. */
export interface ModelStep {
  readonly kind: 'model';
  readonly turn: number;
  /** From 1; a second try of the same turn has 2. */
  readonly attempt: number;
  readonly model: string | undefined;
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly arguments: unknown }[];
  readonly finishReason: string | undefined;
  readonly refused: boolean;
  readonly usage: TokenUsage | undefined;
  readonly costUsd: number | undefined;
  readonly ms: number;
  readonly failure: string | undefined;
}

/** One tool call as it was made. */
export interface ToolStep {
  readonly kind: 'tool';
  readonly name: string;
  readonly arguments: unknown;
  /** Text, or JSON written out. */
  readonly result: string;
  readonly ms: number | undefined;
  readonly failure: string | undefined;
  /** 0 is the first try. */
  readonly retry: number;
  readonly cached: boolean;
  /** What was done about the failure. */
  readonly recovery: string | undefined;
}

export type Step = TextStep | ModelStep | ToolStep;

/** Where the run went wrong. */
export interface FailurePoint {
  /** Number of the step, from 1; undefined for what belongs to none. */
  readonly step: number | undefined;
  readonly what: string;
  readonly message: string;
  readonly recovery: string | undefined;
}
