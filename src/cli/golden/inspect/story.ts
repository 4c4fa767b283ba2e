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
  readonly modelMs: number;
  readonly toolMs: number;
}

/** Input of the model: instructions, the user's message, or a prompt of the orchestrator. */
export interface TextStep {
  readonly kind: 'system' | 'user' | 'notice';
  readonly text: string;
}

/** One request to the model and its answer. */
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
  readonly ms: number;
  readonly failure: string | undefined;
}

/** One tool call. */
export interface ToolStep {
  readonly kind: 'tool';
  readonly name: string;
  readonly arguments: unknown;
  /** Text or JSON. */
  readonly result: string;
  readonly ms: number | undefined;
  readonly failure: string | undefined;
  /** 0 for the first attempt. */
  readonly retry: number;
  readonly cached: boolean;
  /** The recovery action. */
  readonly recovery: string | undefined;
}

export type Step = TextStep | ModelStep | ToolStep;

/** A failure of the run. */
export interface FailurePoint {
  /** Number of the step, from 1; undefined if it belongs to no step. */
  readonly step: number | undefined;
  readonly what: string;
  readonly message: string;
  readonly recovery: string | undefined;
}

/** A story in its wire form, snake_case; arguments and results are never walked. */
export function storyToWire(story: Story): object {
  const { outcome, totals } = story;
  return {
    test_name: story.title,
    description: story.description,
    category: story.category,
    runner: story.runner,
    source: story.source,
    provider: story.provider,
    model: story.model,
    recorded_at: story.recordedAt,
    expires_at: story.expiresAt,
    problems: story.problems,
    outcome: {
      success: outcome.success ?? null,
      stop_reason: outcome.stopReason ?? null,
      answer: outcome.answer,
    },
    totals: {
      turns: totals.turns,
      tool_calls: totals.toolCalls,
      failed_tool_calls: totals.failedToolCalls,
      prompt_tokens: totals.promptTokens ?? null,
      completion_tokens: totals.completionTokens ?? null,
      cost_usd: totals.costUsd ?? null,
      model_ms: totals.modelMs,
      tool_ms: totals.toolMs,
    },
    steps: story.steps.map((step, index) => ({ step: index + 1, ...stepToWire(step) })),
    failures: story.failures.map(({ step, what, message, recovery }) => ({
      step: step ?? null,
      what,
      message,
      recovery: recovery ?? null,
    })),
  };
}

function stepToWire(step: Step): object {
  switch (step.kind) {
    case 'model':
      return {
        kind: step.kind,
        turn: step.turn,
        attempt: step.attempt,
        model: step.model ?? null,
        reasoning: step.reasoning,
        text: step.text,
        calls: step.calls,
        finish_reason: step.finishReason ?? null,
        refused: step.refused,
        prompt_tokens: step.usage?.inputTokens ?? null,
        completion_tokens: step.usage?.outputTokens ?? null,
        cost_usd: step.costUsd ?? null,
        duration_ms: step.ms,
        failure: step.failure ?? null,
      };
    case 'tool':
      return {
        kind: step.kind,
        tool_name: step.name,
        arguments: step.arguments ?? null,
        result: step.result,
        duration_ms: step.ms ?? null,
        failure: step.failure ?? null,
        retry_attempt: step.retry,
        cached: step.cached,
        recovery: step.recovery ?? null,
      };
    default:
      return { kind: step.kind, text: step.text };
  }
}
