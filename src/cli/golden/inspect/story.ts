import { snakeKeys } from '../../../base/index.ts';
import type { GoldenProblem } from '../../../golden/index.ts';
import type { TokenUsage } from '../../../signals/index.ts';

/** A golden prepared for display: its steps, cost and failures. */

export interface Story {
  readonly title: string;
  readonly description: string;
  readonly category: string;
  readonly runner: string;
  readonly source: 'recorded' | 'scripted';
  readonly provider: string;
  readonly model: string;
  readonly recordedAt: string | null;
  readonly expiresAt: string | null;
  /** Whether it was edited by hand or has expired. */
  readonly problems: readonly GoldenProblem[];
  readonly outcome: Outcome;
  readonly totals: Totals;
  readonly steps: readonly Step[];
  readonly failures: readonly FailurePoint[];
}

export interface Outcome {
  /** Undefined for runners without it. */
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
  /** In US dollars at the list prices on the day of the recording; undefined if a price or count is unknown. */
  readonly costUsd: number | undefined;
  /** Undefined if the duration of an answer is not known. */
  readonly modelMs: number | undefined;
  /** From the first request to the last, if their dates are kept. */
  readonly elapsedMs: number | undefined;
  readonly toolMs: number;
}

/** Input of the model: instructions, the user's message, or a prompt of the orchestrator. */
export interface TextStep {
  readonly kind: 'system' | 'user' | 'notice';
  readonly text: string;
}

export interface ModelStep {
  readonly kind: 'model';
  readonly turn: number;
  /** From 1; 2 for the first retry of a turn. */
  readonly attempt: number;
  readonly model: string | undefined;
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly arguments: unknown }[];
  readonly finishReason: string | undefined;
  readonly refused: boolean;
  readonly usage: TokenUsage | undefined;
  readonly costUsd: number | undefined;
  readonly ms: number | undefined;
  readonly failure: string | undefined;
}

export interface ToolStep {
  readonly kind: 'tool';
  readonly name: string;
  readonly arguments: unknown;
  readonly result: string;
  readonly ms: number | undefined;
  readonly failure: string | undefined;
  /** 0 for the first attempt. */
  readonly retry: number;
  readonly cached: boolean;
  readonly recovery: string | undefined;
}

export type Step = TextStep | ModelStep | ToolStep;

export interface FailurePoint {
  /** Number of the step, from 1; undefined if it belongs to no step. */
  readonly step?: number | undefined;
  readonly what: string;
  readonly message: string;
  readonly recovery?: string | undefined;
}

/** A story in its wire form, snake_case; arguments and results are never walked. */
export function storyToWire({ title, outcome, totals, steps, failures, ...facts }: Story): object {
  return {
    test_name: title,
    ...named(facts),
    outcome: named(outcome),
    totals: named(totals),
    steps: steps.map((step, index) => ({ step: index + 1, ...stepToWire(step) })),
    failures: failures.map(({ step, what, message, recovery }) => named({ step, what, message, recovery })),
  };
}

function stepToWire(step: Step): object {
  if (step.kind === 'model') {
    const { usage, ms, ...facts } = step;
    const { inputTokens: promptTokens, outputTokens: completionTokens } = usage ?? {};
    return named({ ...facts, promptTokens, completionTokens, durationMs: ms });
  }
  if (step.kind === 'tool') {
    const { name, ms, retry, ...facts } = step;
    return named({ toolName: name, ...facts, durationMs: ms, retryAttempt: retry });
  }
  return step;
}

/** Fields under their names on the wire; one without a value is null. */
function named(fields: object): object {
  const entries = Object.entries(snakeKeys(fields));
  return Object.fromEntries(entries.map(([name, value]) => [name, value ?? null]));
}
