import type { TokenUsage } from '../../signals/index.ts';
import { countOf, isRecord, listOf, recordOf, textOf } from '../json.ts';
import { includeCache } from '../usage.ts';
import type { ProviderResponse, ResponseReader } from './types.ts';

/** Anthropic's Messages API, also as Bedrock and Vertex serve it. */
export const anthropicMessages: ResponseReader = {
  matches: (value) => value.type === 'message' && Array.isArray(value.content) && value.role === 'assistant',
  read: (value): ProviderResponse => {
    const blocks = listOf(value.content).filter(isRecord);
    const texts = blocks.filter((b) => b.type === 'text').map((b) => textOf(b.text) ?? '');
    const stopReason = textOf(value.stop_reason);
    return {
      provider: 'anthropic',
      answer: texts.length === 0 ? undefined : texts.join(''),
      model: textOf(value.model),
      responseId: textOf(value.id),
      finishReasons: stopReason === undefined ? undefined : [stopReason],
      usage: readAnthropicUsage(value.usage),
      serviceTier: textOf(recordOf(value.usage).service_tier),
      toolCalls: blocks
        .filter((block) => block.type === 'tool_use')
        .map((block) => ({ id: textOf(block.id), name: textOf(block.name), arguments: block.input })),
    };
  },
};

/**
 * Anthropic's `input_tokens` leaves the cache out: input = input_tokens + cache_read_input_tokens +
 * cache_creation_input_tokens. `output_tokens` includes thinking.
 */
export function readAnthropicUsage(value: unknown): TokenUsage | undefined {
  if (!isRecord(value)) return undefined;
  const inputTokens = countOf(value.input_tokens);
  const outputTokens = countOf(value.output_tokens);
  if (inputTokens === undefined && outputTokens === undefined) return undefined;
  return includeCache({
    inputTokens,
    outputTokens,
    cacheReadTokens: countOf(value.cache_read_input_tokens),
    cacheWriteTokens: countOf(value.cache_creation_input_tokens),
    cacheWrite1hTokens: countOf(recordOf(value.cache_creation).ephemeral_1h_input_tokens),
    reasoningTokens: countOf(recordOf(value.output_tokens_details).thinking_tokens),
  });
}
