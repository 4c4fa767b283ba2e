import type { Attributes } from '@opentelemetry/api';
import { semconv } from '../base/index.ts';
import type { TokenUsage } from '../signals/index.ts';
import type { ProviderResponse } from './provider-response.ts';

/** The given attributes without those that have no value. */
export function present(attributes: Readonly<Record<string, Attributes[string]>>): Attributes {
  const found: Attributes = {};
  for (const name in attributes) {
    const value = attributes[name];
    if (value !== undefined) found[name] = value;
  }
  return found;
}

/** A provider's response as standard attributes, without content. */
export function responseAttributes(
  response: Pick<ProviderResponse, 'responseId' | 'model' | 'finishReasons' | 'usage'>,
): Attributes {
  const { responseId, model, finishReasons, usage } = response;
  return {
    ...present({
      [semconv.ATTR_GEN_AI_RESPONSE_ID]: responseId,
      [semconv.ATTR_GEN_AI_RESPONSE_MODEL]: model,
      [semconv.ATTR_GEN_AI_RESPONSE_FINISH_REASONS]:
        finishReasons === undefined ? undefined : [...finishReasons],
    }),
    ...(usage === undefined ? {} : usageAttributes(usage)),
  };
}

/** Reported usage as standard attributes. */
export function usageAttributes(usage: TokenUsage): Attributes {
  return present({
    [semconv.ATTR_GEN_AI_USAGE_INPUT_TOKENS]: usage.inputTokens,
    [semconv.ATTR_GEN_AI_USAGE_OUTPUT_TOKENS]: usage.outputTokens,
    [semconv.ATTR_GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS]: usage.cacheReadTokens,
    [semconv.ATTR_GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS]: usage.cacheWriteTokens,
    [semconv.ATTR_GEN_AI_USAGE_REASONING_OUTPUT_TOKENS]: usage.reasoningTokens,
  });
}
