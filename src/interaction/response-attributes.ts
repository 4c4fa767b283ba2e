import type { Attributes } from '@opentelemetry/api';
import { semconv, toAttribute } from '../base/index.ts';
import { type TokenUsage, writeUsageUnits } from '../signals/index.ts';
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
  return addResponse({}, response);
}

/** Adds them to attributes. */
export function addResponse(
  attributes: Attributes,
  response: Pick<ProviderResponse, 'responseId' | 'model' | 'finishReasons' | 'usage'>,
): Attributes {
  const { responseId, model, finishReasons, usage } = response;
  if (responseId !== undefined) attributes[semconv.ATTR_GEN_AI_RESPONSE_ID] = responseId;
  if (model !== undefined) attributes[semconv.ATTR_GEN_AI_RESPONSE_MODEL] = model;
  if (finishReasons !== undefined)
    attributes[semconv.ATTR_GEN_AI_RESPONSE_FINISH_REASONS] = [...finishReasons];
  return usage === undefined ? attributes : addUsage(attributes, usage);
}

export function usageAttributes(usage: TokenUsage): Attributes {
  return addUsage({}, usage);
}

function addUsage(attributes: Attributes, usage: TokenUsage): Attributes {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = usage;
  if (inputTokens !== undefined) attributes[semconv.ATTR_GEN_AI_USAGE_INPUT_TOKENS] = inputTokens;
  if (outputTokens !== undefined) attributes[semconv.ATTR_GEN_AI_USAGE_OUTPUT_TOKENS] = outputTokens;
  if (cacheReadTokens !== undefined)
    attributes[semconv.ATTR_GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS] = cacheReadTokens;
  if (cacheWriteTokens !== undefined)
    attributes[semconv.ATTR_GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS] = cacheWriteTokens;
  if (reasoningTokens !== undefined)
    attributes[semconv.ATTR_GEN_AI_USAGE_REASONING_OUTPUT_TOKENS] = reasoningTokens;
  if (usage.cacheWrite1hTokens !== undefined)
    attributes[semconv.ATTR_ANTHROPIC_CACHE_WRITE_1H] = usage.cacheWrite1hTokens;
  const units = writeUsageUnits({ ...usage, cacheWrite1hTokens: undefined });
  if (units !== undefined) attributes[toAttribute('usage_units')] = units;
  if (usage.disagrees === true) attributes[toAttribute('tokens_disagree')] = true;
  return attributes;
}
