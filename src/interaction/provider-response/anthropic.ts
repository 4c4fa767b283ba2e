import { countOf, isObject, listOf, objectOf, textOf } from '../../json/index.ts';
import type { TokenUsage } from '../../signals/index.ts';
import { includeCache } from '../usage.ts';
import type { ProviderResponse, ResponseReader } from './types.ts';

/** Anthropic's Messages API, also as Bedrock and Vertex serve it. */
export const anthropicReader: ResponseReader = {
  matches: (value) => value.type === 'message' && Array.isArray(value.content) && value.role === 'assistant',
  read: (value): ProviderResponse => {
    const blocks = listOf(value.content).filter(isObject);
    const texts = blocks.filter((b) => b.type === 'text').map((b) => textOf(b.text) ?? '');
    const stopReason = textOf(value.stop_reason);
    return {
      provider: 'anthropic',
      answer: texts.length === 0 ? undefined : texts.join(''),
      model: textOf(value.model),
      responseId: textOf(value.id),
      finishReasons: stopReason === undefined ? undefined : [stopReason],
      usage: readAnthropicUsage(value.usage),
      serviceTier: textOf(objectOf(value.usage).service_tier),
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
  if (!isObject(value)) return undefined;
  const inputTokens = countOf(value.input_tokens);
  const outputTokens = countOf(value.output_tokens);
  if (inputTokens === undefined && outputTokens === undefined) return undefined;
  return includeCache({
    inputTokens,
    outputTokens,
    cacheReadTokens: countOf(value.cache_read_input_tokens),
    cacheWriteTokens: countOf(value.cache_creation_input_tokens),
    cacheWrite1hTokens: countOf(objectOf(value.cache_creation).ephemeral_1h_input_tokens),
    reasoningTokens: countOf(objectOf(value.output_tokens_details).thinking_tokens),
  });
}
