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
} from '../base/index.ts';
import type { TokenUsage } from '../signals/index.ts';
import type { ProviderResponse } from './provider-response.ts';

/** A provider's response as standard attributes, without content. */
export function responseAttributes(
  response: Pick<ProviderResponse, 'responseId' | 'model' | 'finishReasons' | 'usage'>,
): Attributes {
  const { responseId, model, finishReasons, usage } = response;
  return {
    ...(responseId === undefined ? {} : { [ATTR_GEN_AI_RESPONSE_ID]: responseId }),
    ...(model === undefined ? {} : { [ATTR_GEN_AI_RESPONSE_MODEL]: model }),
    ...(finishReasons === undefined ? {} : { [ATTR_GEN_AI_RESPONSE_FINISH_REASONS]: [...finishReasons] }),
    ...(usage === undefined ? {} : usageAttributes(usage)),
  };
}

/** Adds reported usage to the given attributes. */
export function usageAttributes(usage: TokenUsage, attributes: Attributes = {}): Attributes {
  setCount(attributes, ATTR_GEN_AI_USAGE_INPUT_TOKENS, usage.inputTokens);
  setCount(attributes, ATTR_GEN_AI_USAGE_OUTPUT_TOKENS, usage.outputTokens);
  setCount(attributes, ATTR_GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS, usage.cacheReadTokens);
  setCount(attributes, ATTR_GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS, usage.cacheWriteTokens);
  setCount(attributes, ATTR_GEN_AI_USAGE_REASONING_OUTPUT_TOKENS, usage.reasoningTokens);
  return attributes;
}

function setCount(attributes: Attributes, name: string, count: number | undefined): void {
  if (count !== undefined) attributes[name] = count;
}
