import type { Attributes } from '@opentelemetry/api';
import {
  ATTR_GEN_AI_RESPONSE_FINISH_REASONS,
  ATTR_GEN_AI_RESPONSE_ID,
  ATTR_GEN_AI_RESPONSE_MODEL,
  ATTR_GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS,
  ATTR_GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS,
  ATTR_GEN_AI_USAGE_INPUT_TOKENS,
  ATTR_GEN_AI_USAGE_OUTPUT_TOKENS,
  ATTR_GEN_AI_USAGE_REASONING_OUTPUT_TOKENS,
} from '../semconv.ts';
import type { TokenUsage } from '../signals/index.ts';
import type { Completion } from './providers/index.ts';

const ATTR_TIME_TO_FIRST_CHUNK = 'gen_ai.response.time_to_first_chunk';
export const ATTR_RETRIES = 'observatory.retries';

/** What the span of a model call says of its answer. */
export function completionAttributes(completion: Completion): Attributes {
  const { model, responseId, rawFinishReason, finishReason, timeToFirstChunkMs, failedAttempts } = completion;
  return {
    ...usageAttributes(completion.usage),
    [ATTR_GEN_AI_RESPONSE_FINISH_REASONS]: [rawFinishReason ?? finishReason],
    ...(model === undefined ? {} : { [ATTR_GEN_AI_RESPONSE_MODEL]: model }),
    ...(responseId === undefined ? {} : { [ATTR_GEN_AI_RESPONSE_ID]: responseId }),
    ...(timeToFirstChunkMs === undefined ? {} : { [ATTR_TIME_TO_FIRST_CHUNK]: timeToFirstChunkMs / 1000 }),
    ...(failedAttempts.length === 0 ? {} : { [ATTR_RETRIES]: failedAttempts.length }),
  };
}

/** Token counts in the words of the semantic conventions; a count that is absent stays absent. */
export function usageAttributes(usage: TokenUsage | undefined): Attributes {
  const named: readonly (readonly [string, number | undefined])[] = [
    [ATTR_GEN_AI_USAGE_INPUT_TOKENS, usage?.inputTokens],
    [ATTR_GEN_AI_USAGE_OUTPUT_TOKENS, usage?.outputTokens],
    [ATTR_GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS, usage?.cacheReadTokens],
    [ATTR_GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS, usage?.cacheWriteTokens],
    [ATTR_GEN_AI_USAGE_REASONING_OUTPUT_TOKENS, usage?.reasoningTokens],
  ];
  const attributes: Attributes = {};
  for (const [name, count] of named) if (count !== undefined) attributes[name] = count;
  return attributes;
}
