import { countOf, isObject, objectOf } from '../../json/index.ts';
import type { TokenUsage } from '../../signals/index.ts';
import { includeCache } from '../contract/index.ts';

/**
 * Usage of OpenAI's APIs and of those that imitate them. Chat says `prompt_tokens` and `completion_tokens`, Responses
 * `input_tokens` and `output_tokens`; input includes cached tokens, output includes reasoning. An imitator whose
 * cached tokens exceed its input tokens counts them apart, so they are added.
 */
export function readOpenAiUsage(value: unknown): TokenUsage | undefined {
  if (!isObject(value)) return undefined;
  const inputDetails = objectOf(value.prompt_tokens_details ?? value.input_tokens_details);
  const outputDetails = objectOf(value.completion_tokens_details ?? value.output_tokens_details);
  const usage: TokenUsage = {
    inputTokens: countOf(value.prompt_tokens ?? value.input_tokens),
    outputTokens: countOf(value.completion_tokens ?? value.output_tokens),
    // DeepSeek says `prompt_cache_hit_tokens`.
    cacheReadTokens: countOf(inputDetails.cached_tokens ?? value.prompt_cache_hit_tokens),
    cacheWriteTokens: countOf(inputDetails.cache_write_tokens),
    reasoningTokens: countOf(outputDetails.reasoning_tokens),
  };
  if (usage.inputTokens === undefined && usage.outputTokens === undefined) return undefined;
  const cached = (usage.cacheReadTokens ?? 0) + (usage.cacheWriteTokens ?? 0);
  return cached > (usage.inputTokens ?? 0) ? includeCache(usage) : usage;
}

/** OpenRouter reports what a call cost, in US dollars, as `usage.cost`. */
export function readReportedCost(usage: unknown): number | undefined {
  const { cost } = objectOf(usage);
  return typeof cost === 'number' && Number.isFinite(cost) && cost >= 0 ? cost : undefined;
}

/** Usage in OpenAI's words, for Chat (`prompt`, `completion`) or Responses (`input`, `output`). */
export function writeOpenAiUsage(
  { inputTokens = 0, outputTokens = 0, cacheReadTokens, reasoningTokens }: TokenUsage,
  [input, output]: readonly ['prompt', 'completion'] | readonly ['input', 'output'],
): object {
  return {
    [`${input}_tokens`]: inputTokens,
    [`${output}_tokens`]: outputTokens,
    total_tokens: inputTokens + outputTokens,
    ...(cacheReadTokens === undefined
      ? {}
      : { [`${input}_tokens_details`]: { cached_tokens: cacheReadTokens } }),
    ...(reasoningTokens === undefined
      ? {}
      : { [`${output}_tokens_details`]: { reasoning_tokens: reasoningTokens } }),
  };
}
