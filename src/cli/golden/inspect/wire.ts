import type { Step, Story } from './story.ts';

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
