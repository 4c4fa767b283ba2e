import type { TokenUsage } from '../../signals/index.ts';
import type { StoredTurn } from './stored-run.ts';
import { callsOf, textOf } from './turn-parts.ts';

/** A turn as Chat Completions streams it, usage at the end. */
export function openAiEvents(turn: StoredTurn, index: number): string[] {
  const base = {
    id: turn.responseId ?? `chatcmpl-trace-${index}`,
    object: 'chat.completion.chunk',
    created: 0,
    model: turn.model,
  };
  const chunk = (delta: object, finish: string | null = null): object => ({
    ...base,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  });
  const calls = callsOf(turn).map((call, at) => ({
    index: at,
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: call.argumentsText },
  }));
  const events: object[] = [chunk({ role: 'assistant', content: textOf(turn) })];
  if (calls.length > 0) events.push(chunk({ tool_calls: calls }));
  events.push(chunk({}, turn.finishReason ?? 'stop'));
  if (turn.usage !== undefined) events.push({ ...base, choices: [], usage: usageOf(turn.usage) });
  return [...events.map((event) => `data: ${JSON.stringify(event)}\n\n`), 'data: [DONE]\n\n'];
}

function usageOf({
  inputTokens = 0,
  outputTokens = 0,
  cacheReadTokens,
  reasoningTokens,
}: TokenUsage): object {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    ...(cacheReadTokens === undefined ? {} : { prompt_tokens_details: { cached_tokens: cacheReadTokens } }),
    ...(reasoningTokens === undefined
      ? {}
      : { completion_tokens_details: { reasoning_tokens: reasoningTokens } }),
  };
}
